"""Interception points between the server and its client: requests, bytes, events and lists.

The server gets one ``Exchange`` per request from its ``Interference`` and calls it at each of
these points; ``NoInterference`` changes nothing. Fault injection and the request log only use
this interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kinform.api import GVR


@dataclass(frozen=True, slots=True)
class Call:
    """A request as parsed by the server, before it is handled.

    Attributes:
        method: The HTTP method.
        path: The path, decoded, without the query.
        query: The query parameters; the first value of a repeated one.
        headers: The request's headers; look-ups ignore case.
        verb: ``get list watch create update patch delete deletecollection``, or empty
            if the path is not that of a resource (``/version``).
        gvr: The resource, or ``None`` if the path is not that of a resource.
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
    """One response: ``start`` once, any number of ``write``, then ``finish`` or ``abort``.

    ``write`` returns when the network has capacity again; this is the only back-pressure.
    """

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head. Without a ``Content-Length`` in it, the body is chunked."""
        ...

    async def write(self, data: bytes) -> None: ...

    async def finish(self) -> None:
        """End the response cleanly."""
        ...

    def abort(self) -> None:
        """Close the connection immediately; recent writes may be lost. Idempotent."""
        ...

    def cut(self) -> None:
        """Close the connection in mid-response, once all writes are sent. Idempotent."""
        ...

    def reset(self) -> None:
        """Close the connection with a TCP reset. Idempotent."""
        ...


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
class ListAnswer:
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


class Exchange(Protocol):
    """The hooks for one request and its response."""

    @property
    def call(self) -> Call:
        """The call to handle: the original one, or one with other parameters or headers."""
        ...

    def sink(self, sink: Sink) -> Sink:
        """Return the sink for the response: the given one, or a wrapper. Called first."""
        ...

    async def before(self, sink: Sink) -> bool:
        """Respond in place of the server, wait, or do nothing. Return True after a response."""
        ...

    def authenticated(self, user: str) -> None:
        """Receive the authenticated user. Not called if authentication fails."""
        ...

    def frames(self) -> FrameFilter | None:
        """Return the filter for each event of this watch, or ``None``, which is faster."""
        ...

    def listing(self, answer: ListAnswer) -> ListAnswer:
        """Return the list to send instead."""
        ...

    def end(self) -> None:
        """End the exchange, successful or not. Always called exactly once."""
        ...


class Interference(Protocol):
    """Creates the hooks for each request."""

    def begin(self, call: Call) -> Exchange:
        """Called once per request, after it is parsed and before it is handled."""
        ...


class UntouchedExchange:
    """Hooks that change nothing."""

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
    """Changes no request."""

    def begin(self, call: Call) -> Exchange:
        return UntouchedExchange(call)
