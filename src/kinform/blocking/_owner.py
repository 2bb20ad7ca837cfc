"""Ownership of async objects and of the loop threads they run on."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kinform._checks import expect
from kinform.blocking._loop_state import Closer
from kinform.blocking._loop_thread import LoopThread
from kinform.errors import StateError

T = TypeVar("T")


class Owner:
    """Owns an async object, and closes it when the last reference is gone.

    The loop thread starts with the first call. It ends with this object unless it is shared.

    Args:
        close: Closes the object; runs on the loop, and must be idempotent.
        name: The name of the object in errors.
        instead: The API to use on a thread that runs an event loop.
        loop: A loop thread to share. Its owner outlives this object, or closes it.
        needs: Objects to keep alive as long as this one.
    """

    def __init__(
        self,
        close: Closer,
        *,
        name: str,
        instead: str,
        loop: LoopThread | None = None,
        needs: object = None,
    ) -> None:
        if loop is not None:
            expect(loop, LoopThread, receiver="loop=", expected="a kinform.blocking.LoopThread")
        self.name = name
        self.loop = loop if loop is not None else LoopThread(name=name)
        self._instead = instead
        self._needs = needs
        self._has_own_loop = loop is None
        self._is_closed = False
        # Concurrent calls all wait. Reentrant: garbage collection may run code that closes it.
        self._closing = threading.RLock()
        self._close = close
        self._unregister = self.loop.add_closer(close)
        if not self._has_own_loop:
            weakref.finalize(self, _close_soon, self.loop, close, self._unregister).atexit = False

    def open(self) -> None:
        """Start the loop thread, and check that this thread may wait for it.

        Raises:
            StateError: It is closed, or cannot be used on this thread or in this process.
        """
        self.run(_nothing())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result.

        Raises:
            StateError: It is closed, or cannot be used on this thread or in this process.
        """
        if self._is_closed:
            work.close()
            raise StateError(f"{self.name} is closed; create another one")
        self.loop.ensure_started()
        return self.loop.run(work, instead=self._instead)

    def call(self, function: Callable[[], T]) -> T:
        """Call a plain function on the loop and return its result. Raises like ``run``."""

        async def work() -> T:
            return function()

        return self.run(work())

    def run_if_open(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a cleanup coroutine, unless it is closed already."""
        if self._is_closed or not self.loop.is_running:
            work.close()
        else:
            self.run(work)

    def close(self) -> None:
        """Close the object, and end its loop thread unless it is shared.

        Idempotent; concurrent calls all wait. Does nothing in a forked process, because the
        object belongs to the parent.

        Raises:
            StateError: This thread runs an event loop, so it cannot wait. Nothing is closed.
        """
        if self._is_closed or self.loop.is_forked:
            return
        if self._has_own_loop or self.loop.is_running:
            self.loop.check_may_block(instead=self._instead)
        with self._closing:
            if not self._is_closed:
                self._close_now()

    def _close_now(self) -> None:
        try:
            if self._has_own_loop:
                self.loop.ensure_started()
            if self.loop.is_running:
                self.loop.run(self._close())
            self._is_closed = True
            self._unregister()
        finally:
            if self._has_own_loop:
                # Also after a failure or interruption: then the end of the loop closes it.
                self._is_closed = True
                self.loop.stop()


def _close_soon(loop: LoopThread, close: Closer, unregister: Callable[[], None]) -> None:
    """Finalizer that runs during garbage collection, on any thread; it must not wait."""
    unregister()
    loop.spawn(close)


async def _nothing() -> None:
    return
