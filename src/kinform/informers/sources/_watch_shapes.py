"""Converts the result of a watch callable, in any accepted shape, to batches of frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    contextmanager,
)
from typing import Any, Self, cast

from kinform.client import EventType, Frame, FrameDecoder, Undecodable, Watch, WatchEvent
from kinform.errors import (
    ApiError,
    DecodeError,
    KinformError,
    SourceError,
    TransportError,
    WatchError,
)
from kinform.informers.sources._list_shapes import payload_of, read_item
from kinform.informers.sources._off_loop import IteratorPump
from kinform.objects import JSON

_ACCEPTED_STREAMS = (
    "a Watch, an iterator, an async iterator, or an async context manager that gives one"
)
_ACCEPTED_EVENTS = (
    "a WatchEvent, a Frame, a dict with type and object, a pair of both, or a list of these"
)

_decode_line = FrameDecoder(JSON).decode


@contextmanager
def foreign_errors(what: str) -> Iterator[None]:
    """Convert foreign exceptions to kinform errors.

    An ``OSError`` is a lost connection and is retried soon. Anything else may be a bug or a
    refusal and is retried with a longer backoff.
    """
    try:
        yield
    except KinformError:
        raise
    except Exception as error:
        kind = TransportError if isinstance(error, OSError) else SourceError
        raise kind(f"{what}: {type(error).__name__}: {error}") from error


class Batches(ABC):
    """An open stream of batches of frames, for ``read_into`` or for iteration."""

    @abstractmethod
    async def read_into(self, into: Callable[[list[Frame]], bool]) -> bool:
        """Call ``into`` with each batch as it arrives, until it returns true.

        Returns false when the stream has ended; otherwise call again to read on.

        Raises:
            TransportError: The source raised a foreign exception, which is the cause.
        """

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[Frame]:
        came: list[list[Frame]] = []

        def keep(batch: list[Frame]) -> bool:
            came.append(batch)
            return True

        if not await self.read_into(keep):
            raise StopAsyncIteration
        return came[0]


@asynccontextmanager
async def open_batches(source: object, *, what: str) -> AsyncIterator[Batches]:
    """Open ``source`` with ``async with``; leaving the block closes it.

    Raises, on entering:
        WatchError: ``source`` is not a source of events.
    """
    async with AsyncExitStack() as stack:
        if isinstance(source, AbstractAsyncContextManager):
            with foreign_errors(what):
                source = await stack.enter_async_context(source)
        yield await _batches(source, stack, what)


async def _batches(source: object, stack: AsyncExitStack, what: str) -> Batches:
    if isinstance(source, Watch):
        return _Watched(source)
    if isinstance(source, Iterable) and not isinstance(source, str | bytes | Mapping):
        pump = IteratorPump(cast(Iterable[object], source), name=what)
        stack.push_async_callback(pump.close)
        source = pump.batches()
    if isinstance(source, AsyncIterable):
        with foreign_errors(what):
            items = aiter(source)
        # By name: an async generator that was never read must be closed too.
        if hasattr(items, "aclose"):
            stack.push_async_callback(items.aclose)
        return _Iterated(await stack.enter_async_context(aclosing(_framed(items, what))))
    raise WatchError(
        f"{what}: it returned a {type(source).__name__}; accepted are {_ACCEPTED_STREAMS}"
    )


class _Watched(Batches):
    """Batches of a server's watch."""

    def __init__(self, watch: Watch[Any]) -> None:
        self._watch = watch

    async def read_into(self, into: Callable[[list[Frame]], bool]) -> bool:
        return await self._watch.read_into(into)


class _Iterated(Batches):
    """Batches of an async iterator."""

    def __init__(self, batches: AsyncIterator[list[Frame]]) -> None:
        self._batches = batches

    async def read_into(self, into: Callable[[list[Frame]], bool]) -> bool:
        async for batch in self._batches:
            if into(batch):
                return True
        return False


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
    misfit = DecodeError(
        f"a {type(item).__name__}, where an event is wanted; accepted are {_ACCEPTED_EVENTS}"
    )
    return [Frame(EventType.ERROR, error=misfit)]


def _frame(type: object, obj: object) -> Frame:
    kind = EventType.__members__.get(str(type))
    if kind is None:
        unknown = DecodeError(f"an event of the unknown type {str(type)[:60]!r}")
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
