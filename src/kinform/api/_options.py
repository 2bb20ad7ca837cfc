"""The options of list and watch requests, and their query parameters."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from kinform.api._field_selectors import FieldSelector
from kinform.api._label_selectors import LabelSelector
from kinform.errors import SelectorError

ResourceVersionMatch = Literal["", "Exact", "NotOlderThan"]
"""How a list relates to its ``resource_version``; empty for the default of the server."""


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a list or watch request. Empty and ``None`` select the server's default.

    An invalid selector raises SelectorError here, before a request is sent.

    Attributes:
        label_selector: Select objects by label.
        field_selector: Select objects by field.
        resource_version: For a list, the version to read; for a watch, the version to start after.
        resource_version_match: How a list uses ``resource_version``: Exact or NotOlderThan.
        limit: The maximum number of objects per page.
        continue_token: The token of the previous page.
        timeout_seconds: How long the server may keep the request open.
        allow_watch_bookmarks: Request BOOKMARK events.
        send_initial_events: Make a watch start with all existing objects (a streaming list).
        shard_selector: Select objects by hash range; servers without the feature ignore it.
    """

    label_selector: LabelSelector | str = ""
    field_selector: FieldSelector | str = ""
    resource_version: str = ""
    resource_version_match: ResourceVersionMatch = ""
    limit: int | None = None
    continue_token: str = ""
    timeout_seconds: int | None = None
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None
    shard_selector: str = ""

    def __post_init__(self) -> None:
        _check_selector("label_selector", self.label_selector, LabelSelector)
        _check_selector("field_selector", self.field_selector, FieldSelector)

    def replace(self, **changes: Any) -> ListOptions:
        """Return a copy with some options changed."""
        return msgspec.structs.replace(self, **changes)

    def to_query(self) -> dict[str, str]:
        """Return the query parameters, without ``watch``, which the verb adds."""
        flags = {True: "true", False: "false", None: ""}
        query = {
            "labelSelector": str(self.label_selector),
            "fieldSelector": str(self.field_selector),
            "resourceVersion": self.resource_version,
            "resourceVersionMatch": self.resource_version_match,
            "continue": self.continue_token,
            "shardSelector": self.shard_selector,
            "limit": str(self.limit) if self.limit else "",
            "timeoutSeconds": "" if self.timeout_seconds is None else str(self.timeout_seconds),
            "allowWatchBookmarks": "true" if self.allow_watch_bookmarks else "",
            "sendInitialEvents": flags[self.send_initial_events],
        }
        return {name: value for name, value in query.items() if value}


def _check_selector(
    option: str, selector: object, form: type[LabelSelector] | type[FieldSelector]
) -> None:
    if isinstance(selector, str):
        form.parse(selector)
    elif not isinstance(selector, form):
        builder = "from_labels" if form is LabelSelector else "from_fields"
        raise SelectorError(
            f"{option} {selector!r} is neither text nor a {form.__name__}; "
            f"make one of a dict with {form.__name__}.{builder}()"
        )
