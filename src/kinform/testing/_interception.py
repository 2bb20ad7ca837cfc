"""Where something may stand between the server and its client: requests, bytes, events, lists.

The server asks its ``Interference`` for one ``Exchange`` per request, and calls that at each
of these places; ``NoInterference`` lets everything pass. Fault injection and the request log
are built on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kinform.api import GVR


@dataclass(frozen=True, slots=True)
class Call:
    """What the server understood of a request, before it does anything about it.

    Attributes:
        method: The HTTP method.
        path: The path, decoded, without the query.
        query: The query parameters; of a repeated one the first.
        headers: The request's headers; look-ups ignore case.
        verb: ``get list watch create update patch delete deletecollection``, or empty
            for a path that is no resource (``/version``).
        gvr: The resource, or ``None`` for a path that is no resource.
        namespace: The namespace in the path, or empty.
        name: The object's name in the path, or empty.
        subresource: ``status``, ``scale``, … or empty.
        custom: Whether it is a custom resource.
        body: The request's body.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    verb: str = ""
    gvr: GVR | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    custom: bool = False
    body: bytes = field(default=b"", repr=False)


class Sink(Protocol):
    """Where an answer goes: once ``start``, any number of ``write``, then ``finish`` or ``abort``.

    ``write`` returns when the network has room again, and that is all the back-pressure there is.
    """

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head. A ``Content-Length`` fixes the length; without one the body is chunked."""
        ...

    async def write(self, data: bytes) -> None: ...

    async def finish(self) -> None:
        """End the answer cleanly."""
        ...

    def abort(self) -> None:
        """Cut the connection now, mid-answer; what was just written may be lost. Idempotent."""
        ...

    def cut(self) -> None:
        """Cut the connection mid-answer, once what was written has left. Idempotent."""
        ...

    def reset(self) -> None:
        """Cut the connection with a TCP reset. Idempotent."""
        ...


class EventEncoding(Protocol):
    """How one watch writes its events."""

    def event(self, type: bytes, json: bytes) -> bytes:
        """An event with this object, ready to be sent."""
        ...

    def frame(self, content: bytes) -> bytes:
        """Anything in place of an event, so that the next event can be told from it."""
        ...


@dataclass(frozen=True, slots=True)
class WatchFrame:
    """One event of a watch, as it will go out.

    Attributes:
        type: ``ADDED MODIFIED DELETED BOOKMARK ERROR``.
        object: The object's JSON, without a newline, whatever the watch sends.
        final: Whether the stream ends after it, as it does after an ``ERROR``.
    """

    type: str
    object: bytes = field(repr=False)
    final: bool = False

    def encode(self, encoding: EventEncoding) -> bytes:
        return encoding.event(self.type.encode(), self.object)


FrameFilter = Callable[[WatchFrame], Iterable[WatchFrame]]


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """A list, as it will go out.

    Attributes:
        kind: ``PodList``, ``PartialObjectMetadataList``, …
        api_version: Of the list.
        metadata: ``resourceVersion``, and if there is more ``continue`` and ``remainingItemCount``.
        items: The items' JSON, made one by one as they are sent, whatever form is sent.
    """

    kind: str
    api_version: str
    metadata: Mapping[str, Any]
    items: Iterable[bytes] = field(repr=False)


class Exchange(Protocol):
    """What may happen to one request and its answer on the way."""

    @property
    def call(self) -> Call:
        """The call to go on with: the one that came, or one with other parameters or headers."""
        ...

    def sink(self, sink: Sink) -> Sink:
        """The sink that the answer goes to: the given one, or one around it. Asked for first."""
        ...

    async def before(self, sink: Sink) -> bool:
        """Answer in the server's place, or wait, or do nothing. True if an answer was given."""
        ...

    def authenticated(self, user: str) -> None:
        """The server knows who is asking. Not called if it refuses to know."""
        ...

    def frames(self) -> FrameFilter | None:
        """What each event of this watch goes through, or ``None``, which is faster."""
        ...

    def listing(self, answer: ListAnswer) -> ListAnswer:
        """The list that is sent instead."""
        ...

    def end(self) -> None:
        """The exchange is over, however it ended. Always called, once."""
        ...


class Interference(Protocol):
    """Who may stand in the way of requests."""

    def begin(self, call: Call) -> Exchange:
        """Called once per request, as soon as it is understood and before anything is done."""
        ...


class UntouchedExchange:
    """Everything passes as it is."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def sink(self, sink: Sink) -> Sink:
        return sink

    async def before(self, sink: Sink) -> bool:
        return False

    def authenticated(self, user: str) -> None:
        pass

    def frames(self) -> FrameFilter | None:
        return None

    def listing(self, answer: ListAnswer) -> ListAnswer:
        return answer

    def end(self) -> None:
        pass


class NoInterference:
    """Nobody stands in the way."""

    def begin(self, call: Call) -> Exchange:
        return UntouchedExchange(call)
