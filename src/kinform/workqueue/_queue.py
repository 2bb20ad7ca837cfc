"""The work queue for tasks."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from kinform._runtime import wake
from kinform.errors import AlreadyStoppedError, QueueClosedError
from kinform.workqueue._base import BaseWorkQueue
from kinform.workqueue._entry import Entry
from kinform.workqueue._waiter import Waiter

K = TypeVar("K")


class WorkQueue(BaseWorkQueue[K]):
    """A queue of keys to process, each of them by one worker at a time.

        queue: WorkQueue[str] = WorkQueue("web")
        queue.add("default/web-0")                    # on any thread

        key = await queue.get()                       # in each worker
        try:
            await reconcile(key)
        except Exception:
            queue.add_rate_limited(key, priority=queue.priority_of(key))
        else:
            queue.forget(key)
        finally:
            queue.done(key)

    Workers are tasks, on one or several event loops; for threads, use
    ``kinform.blocking.WorkQueue``. Concurrent ``get`` calls are served in order. There are no
    background tasks, and timers only while a worker waits and keys are delayed.
    """

    async def get(self) -> K:
        """Wait for a key and return it; call ``done`` when it is processed.

        Returns without giving way to other tasks if a key is ready and no other task waits.
        Cancelling the call loses no key.

        Raises:
            QueueClosedError: The queue is shut down, or it is drained.
        """
        entry = self._core.take()
        if entry is None:
            entry = await self._wait()
        if self._notes is not None:
            self._report()
        return entry.key

    async def drain(self, timeout: float | None = None, *, delayed: bool = False) -> None:
        """Accept no more keys, wait until the others have been processed, and shut down.

        The workers go on: ``get`` returns the remaining keys, then raises QueueClosedError. A key
        that was added again while it was processed is processed again. If the call is cancelled,
        the queue is shut down.

        Args:
            timeout: Seconds to wait before the queue is shut down with keys left.
            delayed: Process delayed keys, too, without the rest of their delay; otherwise they
                are dropped.

        Raises:
            QueueClosedError: ``shutdown`` was called before the queue was drained.
            ShutdownTimeoutError: Keys were left after ``timeout`` seconds; the queue is shut down.
        """
        drained = self._start_draining(timeout, delayed=delayed)
        try:
            async with asyncio.timeout(timeout):
                await drained
        except AlreadyStoppedError as error:
            raise QueueClosedError(str(error)) from None
        except TimeoutError:
            assert timeout is not None
            if not drained:
                raise self._not_drained(timeout) from None
        finally:
            self.shutdown()

    async def _wait(self) -> Entry[K]:
        core = self._core
        waiter = _TaskWaiter(asyncio.get_running_loop())
        try:
            while True:
                entry, delay = core.poll(waiter)
                if entry is not None:
                    return entry
                await waiter.wait(delay)
        finally:
            core.leave(waiter)


class _TaskWaiter(Waiter):
    __slots__ = ("_future", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self._future: asyncio.Future[None] = loop.create_future()

    async def wait(self, timeout: float | None) -> None:
        timer = None
        if timeout is not None:
            timer = self._loop.call_later(timeout, wake, self._future)
        try:
            await self._future
        finally:
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        wake(self._future)

    def _reset(self) -> None:
        self._future = self._loop.create_future()
