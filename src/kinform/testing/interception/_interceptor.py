"""Interception points between the server and its client: requests, bytes, events and lists.

The server gets one ``Interception`` per request from its ``Interceptor`` and calls it at each of
these points. Fault injection and the request log only use this interface.
"""

from __future__ import annotations

from typing import Protocol

from kinform.testing.interception._call import Call
from kinform.testing.interception._responses import FrameFilter, ListResponse
from kinform.testing.interception._sink import Sink


class Interception(Protocol):
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

    def listing(self, response: ListResponse) -> ListResponse:
        """Return the list to send instead."""
        ...

    def end(self) -> None:
        """Called exactly once, after the response ended or failed."""
        ...


class Interceptor(Protocol):
    """Creates the hooks for each request."""

    def begin(self, call: Call) -> Interception:
        """Called once per request, after it is parsed and before it is handled."""
        ...
