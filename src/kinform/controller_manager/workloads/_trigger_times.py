"""When the change happened that a controller reacts to, for measuring its delay."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from kinform.models.core.v1 import Pod, Service

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class _Seen(msgspec.Struct, frozen=True):
    service: datetime
    pods: dict[str, datetime]


class TriggerTimes:
    """Remembers the last changes of Services and of their pods' readiness."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], _Seen] = {}

    def forget(self, namespace: str, name: str) -> None:
        """Forget a Service that is gone."""
        self._seen.pop((namespace, name), None)

    def of(self, service: Service, pods: Iterable[Pod]) -> datetime | None:
        """Return the time of the first change since the last call; ``None`` if there is none."""
        key = (service.namespace, service.name)
        created = service.metadata.creation_timestamp or _LONG_AGO
        times = {pod.name: at for pod in pods if (at := _ready_change(pod)) is not None}
        before = self._seen.get(key)
        self._seen[key] = _Seen(created, times)
        if before is None:
            return created
        changed = [at for name, at in times.items() if at > before.pods.get(name, _LONG_AGO)]
        if created > before.service:
            changed.append(created)
        return min(changed, default=None)


def _ready_change(pod: Pod) -> datetime | None:
    for each in pod.status.conditions:
        if each.type == "Ready":
            return each.last_transition_time
    return None
