"""The lifecycle of an event loop on a background thread.

The thread holds no reference to the loop's owner, so an unused owner is garbage collected. The
finalizer, the interpreter's exit and a fork reach the loop through its ``Life``.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import selectors
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any
from weakref import WeakSet

logger = logging.getLogger("kinform.blocking")

Closer = Callable[[], Coroutine[Any, Any, None]]

# The time to close open resources, for each of them and in total when the interpreter exits: an
# unresponsive server must not keep the program from exiting.
_GOODBYE = 2.0


class Life:
    """The loop of one thread, and the resources to close before it ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.loop: asyncio.AbstractEventLoop | None = None
        self.pid = 0
        self.has_begun = threading.Event()
        self.is_ending = False
        self.closers: dict[object, Closer] = {}
        self.selector: ForkedSelector | None = None
        self.thread: threading.Thread | None = None

    @property
    def is_alive(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    def begin(self) -> None:
        """Start the thread; return when its loop is running."""
        # Created only now: a fork considers every thread object dead, started or not.
        self.thread = threading.Thread(target=_live, args=(self,), name=self.name, daemon=True)
        self.pid = os.getpid()
        _lives.add(self)
        self.thread.start()
        self.has_begun.wait()

    def end(self) -> None:
        """Ask the loop to end without waiting. Lock-free: the garbage collector may call it."""
        if self.pid == os.getpid():
            self.is_ending = True
            if self.loop is not None:
                with suppress(RuntimeError):  # it has ended
                    self.loop.call_soon_threadsafe(self.loop.stop)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the thread to end; return at once if there is none or if this is the thread."""
        if self.thread is not None and self.thread is not threading.current_thread():
            self.thread.join(timeout)

    def spawn(self, work: Closer) -> None:
        """Start work without waiting for it, if the loop is running. Lock-free as well."""
        if self.pid == os.getpid() and self.loop is not None and not self.is_ending:
            loop = self.loop

            def start() -> None:
                task = loop.create_task(_quietly(work, self.name))
                self.closers[task] = lambda: _finished(task)
                task.add_done_callback(lambda task: self.closers.pop(task, None))

            with suppress(RuntimeError):
                loop.call_soon_threadsafe(start)

    def new_loop(self) -> asyncio.AbstractEventLoop:
        if not hasattr(os, "fork"):
            return asyncio.new_event_loop()
        self.selector = ForkedSelector()
        return asyncio.SelectorEventLoop(self.selector)


class ForkedSelector(selectors.DefaultSelector):
    """A selector that a forked child can discard without disturbing its parent."""

    def let_go(self) -> None:
        """Forget all sockets, and replace each of them by /dev/null.

        The child has copies of the parent's sockets. The objects that own them would send a TLS
        close on the parent's connections when they are collected, so the file descriptors are
        replaced. The objects are kept alive, because each would warn that it was not closed.
        """
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            for key in list((self.get_map() or {}).values()):
                os.dup2(nothing, key.fd, inheritable=False)
                _of_the_parent.append(key)
        finally:
            os.close(nothing)
        self.close()
        # Reset: unregistering a socket from now on reports that it is unknown, which asyncio
        # ignores.
        self.__init__()  # type: ignore[misc]  # the only way to reopen a selector


_lives: WeakSet[Life] = WeakSet()
_of_the_parent: list[selectors.SelectorKey] = []


def _live(life: Life) -> None:
    try:
        with asyncio.Runner(loop_factory=life.new_loop) as runner:
            life.loop = loop = runner.get_loop()
            loop.call_soon(life.has_begun.set)
            while not life.is_ending:
                # An exit raised on the loop is delivered to the caller that waits for that call,
                # which takes another iteration of the loop.
                with suppress(SystemExit, KeyboardInterrupt):
                    loop.run_forever()
            runner.run(_close_all(life))
            # On exit the runner cancels the remaining tasks and waits for them.
    except RuntimeError:
        # The interpreter is exiting, and cannot start the threads that the loop needs for cleanup.
        logger.debug("%s could not end in order", life.name, exc_info=True)


async def _close_all(life: Life) -> None:
    """Close in reverse order, because later resources may depend on earlier ones."""
    for close in reversed(list(life.closers.values())):
        await _quietly(close, life.name)


async def _quietly(work: Closer, name: str) -> None:
    try:
        async with asyncio.timeout(_GOODBYE):
            await work()
    except Exception:
        logger.debug("%s: closing what was left open failed", name, exc_info=True)


async def _finished(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])


def _end_all() -> None:
    """Close all loops at exit, within a short time."""
    living = [life for life in _lives if life.is_alive]
    for life in living:
        life.end()
    deadline = time.monotonic() + _GOODBYE
    for life in living:
        life.join(max(0.0, deadline - time.monotonic()))


def _leave_to_the_parent() -> None:
    """Discard the loops in a forked child: its threads are gone, the sockets are the parent's."""
    for life in list(_lives):
        if life.selector is not None:
            life.selector.let_go()
    _lives.clear()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)
