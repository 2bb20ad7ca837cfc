"""Coroutines in from any thread, their results out: an event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kinform.errors import StateError

T = TypeVar("T")


class LoopThread:
    """Runs what it is given on its loop, while the caller waits. A daemon: it ends with Python."""

    def __init__(self, *, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running = threading.Event()
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)

    @property
    def is_running(self) -> bool:
        return self._loop is not None and self._thread.is_alive()

    def start(self) -> None:
        """Once.

        Raises:
            StateError: It was started before.
        """
        if self._thread.ident is not None:
            raise StateError(f"{self._name} was started before; make another one")
        self._thread.start()
        self._running.wait()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result. If the caller is interrupted, the coroutine is cancelled.

        Raises:
            StateError: The loop has ended, or this is called on it, where it would never return.
        """
        if self._loop is None or not self._thread.is_alive():
            work.close()
            raise StateError(f"{self._name} is not running; use it inside its with block")
        if threading.current_thread() is self._thread:
            work.close()
            raise StateError(f"a blocking call on {self._name}'s own loop would wait for itself")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C while waiting: nobody is left to take the result.
            future.cancel()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """The result of a plain function, called on the loop."""

        async def work() -> T:
            return function()

        return self.run(work())

    def stop(self) -> None:
        """Cancel what still runs, and end the thread. Idempotent."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()

    def _live(self) -> None:
        # On leaving, the runner cancels the tasks that are left and waits for them.
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._loop.call_soon(self._running.set)
            self._loop.run_forever()
