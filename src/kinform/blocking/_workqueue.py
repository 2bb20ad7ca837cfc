"""The work queue for threads."""

from __future__ import annotations

from typing import TypeVar

from kinform._runtime import running_loop
from kinform.errors import AlreadyStoppedError, QueueClosedError, StateError
from kinform.workqueue import BaseWorkQueue

K = TypeVar("K")


class WorkQueue(BaseWorkQueue[K]):
    """A queue of keys to process, each of them by one worker at a time; workers are threads.

        queue: WorkQueue[str] = WorkQueue("web")
        queue.add("default/web-0")                    # on any thread

        key = queue.get()                             # in each worker
        try:
            reconcile(key)
        except Exception:
            queue.add_rate_limited(key, priority=queue.priority_of(key))
        else:
            queue.forget(key)
        finally:
            queue.done(key)

    It needs no event loop and has no thread of its own. The threads are served in the order of
    their ``get`` calls.
    """

    def get(self, timeout: float | None = None) -> K:
        """Wait for a key and return it; call ``done`` when it is processed.

        Args:
            timeout: Seconds to wait; ``None``: until there is a key.

        Raises:
            QueueClosedError: The queue is shut down, or it is drained.
            TimeoutError: There was no key within ``timeout`` seconds.
            StateError: The thread runs an event loop, which would block; use
                ``kinform.workqueue.WorkQueue`` there.
        """
        entry = self._core.take()
        if entry is None:
            self._check_thread("get")
            key = self._wait_on_thread(timeout)
        else:
            key = entry.key
        if self._notes is not None:
            self._report()
        return key

    def drain(self, timeout: float | None = None, *, delayed: bool = False) -> None:
        """Accept no more keys, wait until the others have been processed, and shut down.

        The workers go on: ``get`` returns the remaining keys, then raises QueueClosedError. A key
        that was added again while it was processed is processed again. If the call is
        interrupted, the queue is shut down.

        Args:
            timeout: Seconds to wait before the queue is shut down with keys left.
            delayed: Process delayed keys, too, without the rest of their delay; otherwise they
                are dropped.

        Raises:
            QueueClosedError: ``shutdown`` was called before the queue was drained.
            ShutdownTimeoutError: Keys were left after ``timeout`` seconds; the queue is shut down.
            StateError: The thread runs an event loop, which would block.
        """
        self._check_thread("drain")
        drained = self._start_draining(timeout, delayed=delayed)
        try:
            if not drained.wait(timeout):
                assert timeout is not None
                raise self._not_drained(timeout)
        except AlreadyStoppedError as error:
            raise QueueClosedError(str(error)) from None
        finally:
            self.shutdown()

    def _check_thread(self, method: str) -> None:
        if running_loop() is not None:
            raise StateError(
                f"{method} of {self._core.name} would block this thread's event loop; use "
                "kinform.workqueue.WorkQueue in coroutines"
            )
