"""Runs blocking callables and iterators in threads and passes their results to the event loop.

Each runs in its own daemon thread. The loop's executor has few threads, serves other purposes and
is joined at exit, but a thread blocked in foreign code cannot be made to return.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import suppress
from contextvars import copy_context
from typing import Generic, Protocol, TypeVar, runtime_checkable

from kinform._runtime import Latch, wake

logger = logging.getLogger("kinform.listwatch")

T = TypeVar("T")

# The number of items a thread may read ahead of the loop.
_AHEAD = 1000
# Seconds to wait for a stopping thread. Together with the time handlers have
# (dispatch/_dispatch.py), a stop takes less than a second.
_PATIENCE = 0.3


async def call_off_loop(function: Callable[[], T], *, name: str) -> T:
    """Run ``function`` in a thread. If cancelled, it runs on and its result is dropped."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def run() -> None:
        try:
            result = context.run(function)
        except BaseException as error:
            settle = _failing(done, error)
        else:
            settle = _succeeding(done, result)
        with suppress(RuntimeError):  # the loop has ended, and the waiting task with it
            loop.call_soon_threadsafe(settle)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        return await done
    finally:
        if done.done() and not done.cancelled():
            thread.join()  # returns at once and leaves no thread behind


def _succeeding(done: asyncio.Future[T], result: T) -> Callable[[], None]:
    return lambda: None if done.done() else done.set_result(result)


def _failing(done: asyncio.Future[T], error: BaseException) -> Callable[[], None]:
    # An exception that would end the loop or an iteration must only fail this call.
    failure = error
    if not isinstance(error, Exception) or isinstance(error, StopIteration):
        failure = RuntimeError(f"raised {error!r}")
        failure.__cause__ = error
    return lambda: None if done.done() else done.set_exception(failure)


class IteratorPump(Generic[T]):
    """Reads a blocking iterable in a thread and returns the items received so far, in order.

    Create and read it on one loop, and close it. A thread that waits for the next item ends when
    the iterable's ``close`` interrupts it, otherwise with that item.
    """

    def __init__(self, iterable: Iterable[T], *, name: str) -> None:
        self._iterable = iterable
        self._name = name
        self._changed = threading.Condition()
        self._items: list[T] = []
        self._reader: asyncio.Future[None] | None = None
        self._error: BaseException | None = None
        self._exhausted = False
        self._stopped = False
        self._ended = Latch(f"the thread of {name} has ended")
        self._context = copy_context()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def batches(self) -> AsyncGenerator[list[T], None]:
        """Iterate over batches of items. Exceptions of the iterable propagate."""
        while True:
            with self._changed:
                batch, self._items = self._items, []
                self._changed.notify()
                waiting = None
                if not batch and not self._exhausted:
                    waiting = self._reader = asyncio.get_running_loop().create_future()
            if batch:
                yield batch
            elif waiting is not None:
                await waiting
            elif self._error is not None:
                raise self._error
            else:
                return

    async def close(self) -> None:
        """Stop reading and wait briefly for the thread to end. Idempotent."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        try:
            async with asyncio.timeout(_PATIENCE):
                # A running generator can only be closed by its own thread.
                if not self._ended and not isinstance(self._iterable, Generator):
                    await call_off_loop(lambda: _close(self._iterable, self._name), name=self._name)
                await self._ended
            self._thread.join()  # returns at once
        except TimeoutError:
            logger.warning(
                "%s: the thread is still waiting for the next item; the iterator needs a close() "
                "that ends the wait, or the watch a timeout",
                self._name,
            )

    # -- in the thread -----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._context.run(self._read)
        except Exception as error:
            self._error = error
        except BaseException as error:
            self._error = RuntimeError(f"raised {error!r}")
        finally:
            with self._changed:
                self._exhausted = True
                self._wake_reader()
            self._ended.set()

    def _read(self) -> None:
        iterator = iter(self._iterable)
        try:
            for item in iterator:
                if not self._offer(item):
                    return
        finally:
            _close(iterator, self._name)

    def _offer(self, item: T) -> bool:
        """Append an item, waiting while the buffer is full; return false once stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or len(self._items) < _AHEAD)
            if not self._stopped:
                self._items.append(item)
                self._wake_reader()
            return not self._stopped

    def _wake_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            wake(reader)


@runtime_checkable
class _Closeable(Protocol):
    """An iterator that can be closed, such as a generator."""

    def close(self) -> object: ...


def _close(iterable: object, name: str) -> None:
    if not isinstance(iterable, _Closeable):
        return
    try:
        iterable.close()
    except Exception as error:  # foreign code whose result is no longer needed
        logger.debug("%s: closing the iterator failed: %s", name, error)
