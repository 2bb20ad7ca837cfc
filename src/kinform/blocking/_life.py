"""One event loop from its first turn to its last, on a thread that nobody needs to end by hand.

What runs here holds no reference to its owner, so an owner that is dropped is garbage, and its
garbage collection, the end of Python and a fork all find the loop through its ``Life``.
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

# What is left open at the end gets this long to say goodbye, and so does all of it together when
# Python ends: a server that does not answer must not keep a program from exiting.
_GOODBYE = 2.0


class Life:
    """The loop of one thread, and what is to be closed on it before it ends."""

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
        """Start the thread; return when its loop runs."""
        # Not sooner: a fork takes every thread that it finds for dead, begun or not.
        self.thread = threading.Thread(target=_live, args=(self,), name=self.name, daemon=True)
        self.pid = os.getpid()
        _lives.add(self)
        self.thread.start()
        self.has_begun.wait()

    def end(self) -> None:
        """Ask the loop to end; return at once. Takes no lock: it may be called by a collector."""
        if self.pid == os.getpid():
            self.is_ending = True
            if self.loop is not None:
                with suppress(RuntimeError):  # it has ended
                    self.loop.call_soon_threadsafe(self.loop.stop)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end; at once if there is none to wait for, or if this is its thread."""
        if self.thread is not None and self.thread is not threading.current_thread():
            self.thread.join(timeout)

    def spawn(self, work: Closer) -> None:
        """Start work that nobody waits for, if the loop still runs. Takes no lock either."""
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
    """A selector that a forked child can let go of without disturbing its parent."""

    def let_go(self) -> None:
        """Forget all, and put /dev/null in the place of every socket.

        The child has copies of the parent's sockets, and objects that close them politely when
        they are collected: with a farewell, in the middle of what the parent is saying. So they
        are not collected either: each would complain that nobody closed it.
        """
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            for key in list((self.get_map() or {}).values()):
                os.dup2(nothing, key.fd, inheritable=False)
                _of_the_parent.append(key)
        finally:
            os.close(nothing)
        self.close()
        # As new: whoever unregisters a socket now is told that it is not there, and is content.
        self.__init__()  # type: ignore[misc]  # the one way to open a selector again


_lives: WeakSet[Life] = WeakSet()
_of_the_parent: list[selectors.SelectorKey] = []


def _live(life: Life) -> None:
    try:
        with asyncio.Runner(loop_factory=life.new_loop) as runner:
            life.loop = loop = runner.get_loop()
            loop.call_soon(life.has_begun.set)
            while not life.is_ending:
                # An exit that is raised on the loop belongs to who waits for the call that it
                # was raised in. Without another turn, nobody would tell them.
                with suppress(SystemExit, KeyboardInterrupt):
                    loop.run_forever()
            runner.run(_close_all(life))
            # On leaving, the runner cancels the tasks that are left and waits for them.
    except RuntimeError:
        # Python is ending, and has no more threads for the loop to tidy up with.
        logger.debug("%s could not end in order", life.name, exc_info=True)


async def _close_all(life: Life) -> None:
    """The youngest first: it may need the older."""
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
    """Python ends. Say goodbye to the servers, but not for long."""
    living = [life for life in _lives if life.is_alive]
    for life in living:
        life.end()
    deadline = time.monotonic() + _GOODBYE
    for life in living:
        life.join(max(0.0, deadline - time.monotonic()))


def _leave_to_the_parent() -> None:
    """After a fork, in the child: the threads are gone, the loops are the parent's."""
    for life in list(_lives):
        if life.selector is not None:
            life.selector.let_go()
    _lives.clear()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)
