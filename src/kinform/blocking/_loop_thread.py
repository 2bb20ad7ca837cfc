"""An event loop on its own thread, which runs coroutines for other threads."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

from kinform._runtime import running_loop
from kinform.blocking._loop_state import Closer, LoopState
from kinform.errors import StateError

T = TypeVar("T")


class LoopThread:
    """Runs coroutines on its loop while the caller waits. Thread-safe.

    Its thread is a daemon that ends with ``stop()``, with the last reference to this object, or
    with the interpreter. It does not survive a fork: in the child every call raises.

    Args:
        name: The name used in errors.
        instead: The API to use on a thread that runs an event loop, which a call would block. If
            given, such calls raise.
    """

    def __init__(self, *, name: str, instead: str = "") -> None:
        self._loop_state = LoopState(name)
        self._instead = instead
        # Reentrant: garbage collection may run user code that calls this object.
        self._lock = threading.RLock()
        weakref.finalize(self, self._loop_state.stop).atexit = False

    @property
    def name(self) -> str:
        return self._loop_state.name

    @property
    def is_running(self) -> bool:
        state = self._loop_state
        return state.pid == os.getpid() and not state.is_stopping and state.is_alive

    @property
    def is_forked(self) -> bool:
        """Whether it was started in a parent process, of which this one is a fork."""
        return self._loop_state.pid not in (0, os.getpid())

    def start(self) -> None:
        """Start the thread. Can be called once.

        Raises:
            StateError: It was already started.
        """
        with self._lock:
            if self._loop_state.pid:
                raise StateError(f"{self.name} was already started; create another one")
            self._loop_state.start()

    def ensure_started(self) -> None:
        """Start the thread if it was not started yet."""
        if not self._loop_state.pid:
            with self._lock:
                if not self._loop_state.pid:
                    self._loop_state.start()

    def run(self, work: Coroutine[Any, Any, T], *, instead: str = "") -> T:
        """Run a coroutine and return its result. Interrupting the caller cancels the coroutine.

        Args:
            work: The coroutine. It is closed if it cannot run.
            instead: The API to name in the error on a thread that runs an event loop.

        Raises:
            StateError: The loop has ended, or ends before the coroutine; or the call would never
                return, because it is made on the loop itself or in a forked process.
        """
        try:
            self.check_may_block(instead=instead)
            future = self._submit(work)
        except BaseException:
            with suppress(ValueError):  # interrupted after the coroutine was started
                work.close()
            raise
        try:
            return future.result()
        except CancelledError:
            raise StateError(f"{self.name} was stopped during the call") from None
        except BaseException:
            # Ctrl-C while waiting: the result is not needed any more.
            future.cancel()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Call a plain function on the loop and return its result."""

        async def work() -> T:
            return function()

        return self.run(work())

    def spawn(self, work: Closer) -> None:
        """Run a coroutine function without waiting for it; never blocks, never raises."""
        self._loop_state.spawn(work)

    def add_closer(self, close: Closer) -> Callable[[], None]:
        """Register a coroutine function to run before the loop ends; the last one runs first.

        Returns:
            A function that removes the registration.
        """
        token, closers = object(), self._loop_state.closers
        closers[token] = close

        def remove() -> None:
            closers.pop(token, None)

        return remove

    def stop(self) -> None:
        """Cancel all tasks and end the thread. Idempotent; does nothing in a forked process."""
        state = self._loop_state
        if state.pid != os.getpid():
            return
        with self._lock:
            state.stop()
        state.join()

    def check_may_block(self, *, instead: str = "") -> None:
        """Check that ``run`` can wait on this thread.

        Raises:
            StateError: A call would never return.
        """
        if self.is_forked:
            raise StateError(
                f"{self.name} belongs to process {self._loop_state.pid}, and this is a fork of it; "
                "create a new one after the fork"
            )
        if threading.current_thread() is self._loop_state.thread:
            raise StateError(f"a blocking call on the loop thread of {self.name} would deadlock")
        instead = instead or self._instead
        if instead and running_loop() is not None:
            raise StateError(
                f"a call on {self.name} would block this thread's event loop; use {instead} "
                "in asyncio code"
            )

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        # With the lock held, the work is submitted before the loop is stopped, so that it is
        # cancelled with all other tasks. Submitted later, it would never finish.
        with self._lock:
            loop = self._loop_state.loop
            if loop is None or not self.is_running:
                raise StateError(f"{self.name} is not running; use it inside its with block")
            return asyncio.run_coroutine_threadsafe(work, loop)
