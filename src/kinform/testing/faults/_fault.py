"""The definition of a fault: a name, and hooks into one request and its response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kinform.testing.formats import Encodings
from kinform.testing.interception import Call, FrameFilter, ListResponse, Sink


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of a fault into one request and its response; ``None`` changes nothing.

    Attributes:
        call: Changes the request before the server handles it.
        before: Responds in place of the server, or waits. Returns True if it responded.
        sink: Wraps the connection and receives the bytes of the response.
        frames: Receives each event of a watch before it is encoded.
        listing: Receives a list before it is encoded.
    """

    call: Callable[[Call], Call] | None = None
    before: Callable[[Call, Sink], Awaitable[bool]] | None = None
    sink: Callable[[Sink], Sink] | None = None
    frames: FrameFilter | None = None
    listing: Callable[[ListResponse], ListResponse] | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault to inject: from a function in ``kinform.testing.faults``, or defined by a test.

    Attributes:
        name: The name in the request log.
        hooks: Called once per affected request, so its closures belong to that request.
            Receives the call, and the number of requests this injection affected before.
        verbs: The verbs that it supports; empty for all.
        answers: Whether it responds in place of the server. If several such faults match one
            request, the one injected first applies, and the next waits for the next request.
        applies_to: Whether it supports this call.
    """

    name: str
    hooks: Callable[[Call, int], Hooks]
    verbs: frozenset[str] = frozenset()
    answers: bool = False
    applies_to: Callable[[Call], bool] = lambda call: True


ENCODINGS = Encodings()
"""Encodes the responses of faults in the format that the server would have used."""

WATCH = frozenset({"watch"})
LIST = frozenset({"list"})


def starts_with_initial_events(call: Call) -> bool:
    """Whether the watch requests the current objects first, followed by a bookmark."""
    return call.query.get("sendInitialEvents") in ("true", "1")
