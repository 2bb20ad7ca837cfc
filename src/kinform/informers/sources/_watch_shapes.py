"""Converts the result of a watch callable, in any accepted shape, to batches of frames."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Iterable,
    Mapping,
)
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from typing import Any, Protocol, cast, runtime_checkable

from kinform._runtime import Demand, ReadOutcome
from kinform.client import (
    BatchConsumer,
    EventType,
    Frame,
    FrameDecoder,
    Undecodable,
    Watch,
    WatchEvent,
)
from kinform.errors import ApiError, DecodeError, WatchError
from kinform.informers.sources._foreign_errors import foreign_errors
from kinform.informers.sources._list_shapes import payload_of, read_item
from kinform.informers.sources._off_loop import IteratorPump
from kinform.informers.sources._source import WatchStream
from kinform.objects import JSON

_ACCEPTED_STREAMS = (
    "a Watch, an iterator, an async iterator, or an async context manager that returns one"
)
_ACCEPTED_EVENTS = (
    "a WatchEvent, a Frame, a dict with type and object, a pair of both, or a list of these"
)

_decode_line = FrameDecoder(JSON).decode


@runtime_checkable
class _AsyncCloseable(Protocol):
    """An async iterator that can be closed, such as an async generator."""

    def aclose(self) -> Awaitable[object]: ...


async def open_stream(source: object, *, what: str) -> WatchStream:
    """Open the result of a watch callable; the caller closes the stream.

    Raises:
        WatchError: ``source`` is not a source of events.
        TransportError: Entering it raised a foreign exception, which is the cause.
    """
    async with AsyncExitStack() as stack:
        if isinstance(source, AbstractAsyncContextManager):
            with foreign_errors(what):
                source = await stack.enter_async_context(source)
        batches = source if isinstance(source, Watch) else await _iterate(source, stack, what)
        return _CallableStream(batches, stack.pop_all())


async def _iterate(source: object, stack: AsyncExitStack, what: str) -> _IteratedBatches:
    if isinstance(source, Iterable) and not isinstance(source, str | bytes | Mapping):
        pump = IteratorPump(cast(Iterable[object], source), name=what)
        stack.push_async_callback(pump.close)
        source = pump.batches()
    if isinstance(source, AsyncIterable):
        with foreign_errors(what):
            items = aiter(source)
        # Also an async generator that was never read must be closed.
        if isinstance(items, _AsyncCloseable):
            stack.push_async_callback(items.aclose)
        return _IteratedBatches(await stack.enter_async_context(aclosing(_framed(items, what))))
    raise WatchError(f"{what} must return {_ACCEPTED_STREAMS}, not {type(source).__name__}")


class _IteratedBatches:
    """Batches of an async iterator."""

    def __init__(self, batches: AsyncIterator[list[Frame]]) -> None:
        self._batches = batches

    async def read_into(self, consumer: BatchConsumer) -> ReadOutcome:
        async for batch in self._batches:
            if consumer(batch) is Demand.STOP:
                return ReadOutcome.STOPPED
        return ReadOutcome.ENDED


class _CallableStream:
    """The open result of a watch callable, with everything that closing it must close."""

    def __init__(self, batches: Watch[Any] | _IteratedBatches, stack: AsyncExitStack) -> None:
        self._batches = batches
        self._stack = stack

    async def read_into(self, consumer: BatchConsumer) -> ReadOutcome:
        return await self._batches.read_into(consumer)

    async def close(self) -> None:
        await self._stack.aclose()


async def _framed(items: AsyncIterable[object], what: str) -> AsyncGenerator[list[Frame], None]:
    with foreign_errors(what):
        async for item in items:
            if frames := _frames_of(item):
                yield frames


def _frames_of(item: object) -> list[Frame]:
    if isinstance(item, list):
        return [frame for part in item for frame in _frames_of(part)]
    if isinstance(item, Frame):
        return [item]
    if isinstance(item, WatchEvent):
        return [_frame(item.type, item.object)]
    if isinstance(item, Mapping) and "type" in item and "object" in item:
        # The official client's events contain its own model and, beside it, the raw object.
        raw = item.get("raw_object")
        return [_frame(item["type"], raw if isinstance(raw, Mapping) else item["object"])]
    if isinstance(item, tuple) and len(item) == 2:
        return [_frame(*item)]
    unknown = DecodeError(f"an event must be {_ACCEPTED_EVENTS}, not {type(item).__name__}")
    return [Frame(EventType.ERROR, error=unknown)]


def _frame(type: object, obj: object) -> Frame:
    kind = EventType.__members__.get(str(type))
    if kind is None:
        unknown = DecodeError(f"unknown event type {str(type)[:60]!r}")
        return Frame(EventType.ERROR, error=unknown)
    if kind is EventType.ERROR:
        return _refusal(obj)
    found = read_item(obj)
    if isinstance(found, Undecodable):
        return Frame(kind, error=found.error, payload=found.payload)
    return Frame(kind, found)


def _refusal(obj: object) -> Frame:
    if isinstance(obj, ApiError):
        return Frame(EventType.ERROR, error=obj)
    try:
        # Decoded like a server's bytes, so that the meaning is the same.
        return _decode_line(b'{"type":"ERROR","object":%s}' % payload_of(obj))
    except DecodeError as error:
        return Frame(EventType.ERROR, error=error)
