"""What a fault is: a name, and the places where it touches one exchange."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from kinform.testing._encodings import Encodings
from kinform.testing._interception import Call, FrameFilter, ListAnswer, Sink


@dataclass(frozen=True, slots=True)
class Hooks:
    """The places where a fault touches one exchange; ``None`` leaves that place alone.

    Attributes:
        call: Changes what the server thinks it was asked.
        before: Answers in the server's place, or waits. True if it answered.
        sink: Stands between the server and the network, and sees the answer's bytes.
        frames: Sees each event of a watch before it becomes bytes.
        listing: Sees a list before it becomes bytes.
    """

    call: Callable[[Call], Call] | None = None
    before: Callable[[Call, Sink], Awaitable[bool]] | None = None
    sink: Callable[[Sink], Sink] | None = None
    frames: FrameFilter | None = None
    listing: Callable[[ListAnswer], ListAnswer] | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that can go wrong. Made by the functions of ``kinform.testing.faults``, or by you.

    Attributes:
        name: What the request log calls it.
        hooks: Asked once per exchange that is hit, so what it closes over is that
            exchange's own. Gets the call, and how often this injection hit before.
        verbs: The only verbs it makes sense for; empty for all.
        answers: Whether it answers in the server's place. Of several such faults that match
            one request, the first injected hits, and the next waits for the next request.
        applies_to: Whether it makes sense for this call.
    """

    name: str
    hooks: Callable[[Call, int], Hooks]
    verbs: frozenset[str] = frozenset()
    answers: bool = False
    applies_to: Callable[[Call], bool] = lambda call: True


class SinkAround:
    """A sink that passes everything on; faults override what they change."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        await self._sink.start(status, headers)

    async def write(self, data: bytes) -> None:
        await self._sink.write(data)

    async def finish(self) -> None:
        await self._sink.finish()

    def abort(self) -> None:
        self._sink.abort()

    def cut(self) -> None:
        self._sink.cut()

    def reset(self) -> None:
        self._sink.reset()


ENCODINGS = Encodings()
"""For faults that answer in the server's place, in the form that it would have answered in."""

WATCH = frozenset({"watch"})
LIST = frozenset({"list"})


def starts_with_initial_events(call: Call) -> bool:
    """Whether this watch asks for the current objects first, and a bookmark after them."""
    return call.query.get("sendInitialEvents") in ("true", "1")
