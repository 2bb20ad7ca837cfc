"""The form of events in both APIs: ``events.k8s.io/v1`` and ``v1``."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Protocol

from kinform.api import GVR, ApiResource
from kinform.controllers.recorder._entry import EventSnapshot

EventApi = Literal["events.k8s.io/v1", "v1"]
"""The API in which events are written."""


class EventForm(Protocol):
    """Writes events in the form of one API."""

    @property
    def api(self) -> EventApi: ...

    @property
    def resource(self) -> ApiResource: ...

    @property
    def forget_after(self) -> float:
        """Seconds without an occurrence after which the next one is another event."""
        ...

    @property
    def refresh_after(self) -> float:
        """Seconds after which the count of a continuing event is written again."""
        ...

    @property
    def updates_at_once(self) -> bool:
        """Whether counts above two are written at once, as far as the spam filter allows."""
        ...

    def body(self, event: EventSnapshot, controller: str, instance: str) -> dict[str, Any]:
        """Return the event to create."""
        ...

    def patch(self, event: EventSnapshot) -> dict[str, Any]:
        """Return the merge patch with the count."""
        ...


class SeriesForm:
    """Events of ``events.k8s.io/v1``: repeated ones have a series."""

    api: EventApi = "events.k8s.io/v1"
    resource = ApiResource(GVR("events.k8s.io", "v1", "events"), "Event", True)
    forget_after = 360.0
    refresh_after = 1800.0
    updates_at_once = False

    def body(self, event: EventSnapshot, controller: str, instance: str) -> dict[str, Any]:
        said = event.occurrence
        body = {
            **_common(event, self.resource),
            "eventTime": _micro_time(event.first_at),
            "reportingController": controller,
            "reportingInstance": instance,
            "action": said.action,
            "regarding": said.regarding.to_dict(),
            "note": event.message,
        }
        return body if event.count == 1 else {**body, **self.patch(event)}

    def patch(self, event: EventSnapshot) -> dict[str, Any]:
        # Everything else in such an event is immutable.
        last = _micro_time(event.last_at)
        return {"series": {"count": event.count, "lastObservedTime": last}}


class CoreForm:
    """Events of ``v1``: repeated ones have a count."""

    api: EventApi = "v1"
    resource = ApiResource(GVR("", "v1", "events"), "Event", True)
    # A server removes events an hour after their last update.
    forget_after = 3600.0
    refresh_after = 0.0
    updates_at_once = True

    def body(self, event: EventSnapshot, controller: str, instance: str) -> dict[str, Any]:
        said = event.occurrence
        return {
            **_common(event, self.resource),
            "involvedObject": said.regarding.to_dict(),
            "action": said.action,
            "source": {"component": controller},
            "reportingComponent": controller,
            "reportingInstance": instance,
            "firstTimestamp": _time(event.first_at),
            **self.patch(event),
        }

    def patch(self, event: EventSnapshot) -> dict[str, Any]:
        last = _time(event.last_at)
        return {"count": event.count, "lastTimestamp": last, "message": event.message}


SERIES_FORM: EventForm = SeriesForm()
CORE_FORM: EventForm = CoreForm()


def _common(event: EventSnapshot, resource: ApiResource) -> dict[str, Any]:
    said = event.occurrence
    metadata: dict[str, Any] = {"name": event.name, "namespace": said.regarding.home}
    if said.annotations:
        metadata["annotations"] = dict(said.annotations)
    body = {
        "apiVersion": resource.gvr.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "type": said.type,
        "reason": said.reason,
    }
    return body if said.related is None else {**body, "related": said.related.to_dict()}


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
