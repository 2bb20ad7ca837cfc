"""Daemon threads that run blocking functions for coroutines."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any


class DaemonThreads:
    """Runs functions on at most ``limit`` threads, which are started when they are needed.

    Unlike those of ``concurrent.futures``, a thread that hangs does not keep the process from
    ending.

    Args:
        name: The prefix of the names of the threads.
        limit: The greatest number of threads.
    """

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._running = 0

    @property
    def running(self) -> int:
        """The number of functions that have not returned yet."""
        return self._running

    async def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Run a function and return its result.

        A thread cannot be interrupted: a caller that is cancelled is released when the function
        has returned, or if it is cancelled once more.
        """
        call = _Call(asyncio.get_running_loop(), function, arguments)
        self._running += 1
        call.done.add_done_callback(self._count_down)
        if self._running > len(self._threads) < self._limit:
            thread = threading.Thread(
                target=_work,
                args=(self._calls,),
                name=f"{self._name}-{len(self._threads)}",
                daemon=True,
            )
            self._threads.append(thread)
            thread.start()
        self._calls.put(call)
        try:
            return await asyncio.shield(call.done)
        except asyncio.CancelledError:
            await asyncio.wait([call.done])
            raise

    def _count_down(self, done: asyncio.Future[Any]) -> None:
        self._running -= 1
        if not done.cancelled():
            done.exception()  # retrieved: a cancelled caller does not

    async def close(self, timeout: float) -> bool:
        """End the threads; return whether all have ended within ``timeout`` seconds.

        Later calls have new threads.
        """
        threads, self._threads = self._threads, []
        calls, self._calls = self._calls, queue.SimpleQueue()
        for _ in threads:
            calls.put(None)
        deadline = asyncio.get_running_loop().time() + timeout
        while any(thread.is_alive() for thread in threads):
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(0.005)
        return True


def _work(calls: queue.SimpleQueue[_Call | None]) -> None:
    while (call := calls.get()) is not None:
        call.run()


class _Call:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        function: Callable[..., Any],
        arguments: tuple[object, ...],
    ) -> None:
        self._loop = loop
        self._function = function
        self._arguments = arguments
        self._context = contextvars.copy_context()
        self.done: asyncio.Future[Any] = loop.create_future()

    def run(self) -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = self._context.run(self._function, *self._arguments)
        except BaseException as raised:
            # Also exits: they would end the thread, and nobody would notice.
            error = raised
        try:
            self._loop.call_soon_threadsafe(self._finish, result, error)
        except RuntimeError:  # the loop is closed; nobody waits any more
            return

    def _finish(self, result: Any, error: BaseException | None) -> None:
        if self.done.done():
            return
        if error is None:
            self.done.set_result(result)
        elif isinstance(error, StopIteration):  # a future does not accept it
            self.done.set_exception(RuntimeError(f"the function raised {error!r}"))
        else:
            self.done.set_exception(error)
