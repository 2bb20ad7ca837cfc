"""An async thing in; its life on a loop thread, its own or a shared one, out."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kinform._checks import expect
from kinform.blocking._life import Closer
from kinform.blocking._loop_thread import LoopThread
from kinform.errors import StateError

T = TypeVar("T")


class Owned:
    """Whoever holds this may use the thing; when the last one lets go, it is closed.

    The loop thread starts with the first call, and ends with this if it is not a shared one.

    Args:
        close: Closes the thing; runs on the loop, and does no harm if it runs again.
        name: What the thing is called in errors.
        instead: What to use instead on a thread that runs an event loop.
        loop: A loop thread to share. Its owner outlives us, or we are closed with it.
        needs: Whatever is to live as long as this does.
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
            expect(loop, LoopThread, taker="loop=", meant="a kinform.blocking.LoopThread")
        self.name = name
        self.loop = loop if loop is not None else LoopThread(name=name)
        self._instead = instead
        self._needs = needs
        self._is_alone = loop is None
        self._is_closed = False
        # All who close it at once wait. A collector may run code that closes it, too.
        self._closing = threading.RLock()
        self._close = close
        self._forget = self.loop.before_the_end(close)
        if not self._is_alone:
            weakref.finalize(self, _let_go, self.loop, close, self._forget).atexit = False

    def open(self) -> None:
        """Start the loop thread, and find out whether one may wait for it here.

        Raises:
            StateError: It is closed, or it cannot be used on this thread or in this process.
        """
        self.run(_nothing())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result.

        Raises:
            StateError: It is closed, or it cannot be used on this thread or in this process.
        """
        if self._is_closed:
            work.close()
            raise StateError(f"{self.name} is closed; make another one")
        self.loop.ensure_started()
        return self.loop.run(work, instead=self._instead)

    def run_if_open(self, work: Coroutine[Any, Any, None]) -> None:
        """The same, for tidying up: what is closed needs none."""
        if self._is_closed or not self.loop.is_running:
            work.close()
        else:
            self.run(work)

    def close(self) -> None:
        """Close the thing, and end its loop thread unless others use it.

        Idempotent; several threads may do it at once: all wait. Does nothing in a fork: there it
        belongs to the parent.

        Raises:
            StateError: One cannot wait on this thread: it runs an event loop. Nothing is done.
        """
        if self._is_closed or self.loop.is_elsewhere:
            return
        if self._is_alone or self.loop.is_running:
            self.loop.refuse_where_it_cannot_wait(instead=self._instead)
        with self._closing:
            if not self._is_closed:
                self._close_now()

    def _close_now(self) -> None:
        try:
            if self._is_alone:
                self.loop.ensure_started()
            if self.loop.is_running:
                self.loop.run(self._close())
            self._is_closed = True
            self._forget()
        finally:
            if self._is_alone:
                # Also if it failed or was interrupted: then the end of the loop closes it.
                self._is_closed = True
                self.loop.stop()


def _let_go(loop: LoopThread, close: Closer, forget: Callable[[], None]) -> None:
    """The collector's errand, on whatever thread it runs: never wait."""
    forget()
    loop.spawn(close)


async def _nothing() -> None:
    return
