"""Every parameter of a list or a watch, as data; the server's query string out."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from kinform.api._field_selectors import FieldSelector
from kinform.api._label_selectors import LabelSelector
from kinform.errors import SelectorError

ResourceVersionMatch = Literal["", "Exact", "NotOlderThan"]


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to list or watch, and how. Empty and ``None`` mean: leave it to the server.

    An illegal selector is refused here, with a SelectorError, before it travels.

    Attributes:
        label_selector: Only objects whose labels match.
        field_selector: Only objects whose fields match.
        resource_version: On a list the version to answer from; on a watch the one to start after.
        resource_version_match: How ``resource_version`` binds a list: Exact or NotOlderThan.
        limit: At most this many objects a page.
        continue_token: Where the last page ended.
        timeout_seconds: How long the server may keep the request open.
        allow_watch_bookmarks: Ask for BOOKMARK events.
        send_initial_events: Ask a watch for all existing objects first (a streaming list).
        shard_selector: Only the objects of a hash range; servers without the feature ignore it.
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
        """A copy with some options changed."""
        return msgspec.structs.replace(self, **changes)

    def to_query(self) -> dict[str, str]:
        """The query parameters that say this; ``watch`` itself is the verb's to add."""
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
