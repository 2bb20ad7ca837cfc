"""Watch events and lists, before they are encoded and sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class EventEncoding(Protocol):
    """The encoding of the events of one watch."""

    def event(self, type: bytes, json: bytes) -> bytes:
        """Encode an event with this object."""
        ...

    def frame(self, content: bytes) -> bytes:
        """Frame any content in place of an event, so that the next event is still found."""
        ...


@dataclass(frozen=True, slots=True)
class WatchFrame:
    """One event of a watch, before it is sent.

    Attributes:
        type: ``ADDED MODIFIED DELETED BOOKMARK ERROR``.
        object: The object's JSON, without a newline, for any format of the watch.
        final: Whether the stream ends after it, as it does after an ``ERROR``.
    """

    type: str
    object: bytes = field(repr=False)
    final: bool = False

    def encode(self, encoding: EventEncoding) -> bytes:
        return encoding.event(self.type.encode(), self.object)


FrameFilter = Callable[[WatchFrame], Iterable[WatchFrame]]


@dataclass(frozen=True, slots=True)
class ListResponse:
    """A list, before it is sent.

    Attributes:
        kind: ``PodList``, ``PartialObjectMetadataList``, …
        api_version: The API version of the list.
        metadata: ``resourceVersion``; with more pages ``continue`` and ``remainingItemCount``.
        items: The JSON of the items, produced one by one while sending, for any format.
    """

    kind: str
    api_version: str
    metadata: Mapping[str, Any]
    items: Iterable[bytes] = field(repr=False)
