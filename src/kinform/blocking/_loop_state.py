"""The lifecycle of an event loop on a background thread.

The thread holds no reference to the loop's owner, so an unused owner is garbage collected. The
finalizer, the interpreter's exit and a fork reach the loop through its ``LoopState``.
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
_CLOSE_TIMEOUT = 2.0


class LoopState:
    """The event loop of one thread, and the resources to close before it stops."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.loop: asyncio.AbstractEventLoop | None = None
        self.pid = 0
        self.is_ready = threading.Event()
        self.is_stopping = False
        self.closers: dict[object, Closer] = {}
        self.selector: ForkSafeSelector | None = None
        self.thread: threading.Thread | None = None

    @property
    def is_alive(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    def start(self) -> None:
        """Start the thread; return when its loop is running."""
        # Created here, because after a fork the child considers every thread object stopped.
        self.thread = threading.Thread(target=_run, args=(self,), name=self.name, daemon=True)
        self.pid = os.getpid()
        _states.add(self)
        self.thread.start()
        self.is_ready.wait()

    def stop(self) -> None:
        """Request a stop without waiting for it. Lock-free: the garbage collector may call it."""
        if self.pid == os.getpid():
            self.is_stopping = True
            if self.loop is not None:
                with suppress(RuntimeError):  # it has stopped
                    self.loop.call_soon_threadsafe(self.loop.stop)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the thread to end; return at once if there is none or if this is the thread."""
        if self.thread is not None and self.thread is not threading.current_thread():
            self.thread.join(timeout)

    def spawn(self, work: Closer) -> None:
        """Start work without waiting for it, if the loop is running. Lock-free as well."""
        if self.pid == os.getpid() and self.loop is not None and not self.is_stopping:
            loop = self.loop

            def create_task() -> None:
                task = loop.create_task(_run_and_log_failure(work, self.name))
                self.closers[task] = lambda: _wait_for_task(task)
                task.add_done_callback(lambda task: self.closers.pop(task, None))

            with suppress(RuntimeError):
                loop.call_soon_threadsafe(create_task)

    def new_loop(self) -> asyncio.AbstractEventLoop:
        if not hasattr(os, "fork"):
            return asyncio.new_event_loop()
        self.selector = ForkSafeSelector()
        return asyncio.SelectorEventLoop(self.selector)


class ForkSafeSelector(selectors.DefaultSelector):
    """A selector that a forked child can discard without disturbing its parent."""

    def detach_from_parent(self) -> None:
        """Forget all sockets, and replace each of them by /dev/null.

        The child has copies of the parent's sockets. The objects that own them would send a TLS
        close on the parent's connections when they are collected, so the file descriptors are
        replaced. The objects are kept alive, because each would warn that it was not closed.
        """
        null = os.open(os.devnull, os.O_RDWR)
        try:
            for key in list((self.get_map() or {}).values()):
                os.dup2(null, key.fd, inheritable=False)
                _parent_keys.append(key)
        finally:
            os.close(null)
        self.close()
        # Reset: unregistering a socket from now on reports that it is unknown, which asyncio
        # ignores.
        self.__init__()  # type: ignore[misc]  # the only way to reopen a selector


_states: WeakSet[LoopState] = WeakSet()
_parent_keys: list[selectors.SelectorKey] = []


def _run(state: LoopState) -> None:
    try:
        with asyncio.Runner(loop_factory=state.new_loop) as runner:
            state.loop = loop = runner.get_loop()
            loop.call_soon(state.is_ready.set)
            while not state.is_stopping:
                # An exit raised on the loop is delivered to the caller that waits for that call,
                # which takes another iteration of the loop.
                with suppress(SystemExit, KeyboardInterrupt):
                    loop.run_forever()
            runner.run(_close_all(state))
            # On exit the runner cancels the remaining tasks and waits for them.
    except RuntimeError:
        # The interpreter is exiting, and cannot start the threads that the loop needs for cleanup.
        logger.debug("%s: the event loop could not be closed", state.name, exc_info=True)


async def _close_all(state: LoopState) -> None:
    """Close in reverse order, because later resources may depend on earlier ones."""
    for close in reversed(list(state.closers.values())):
        await _run_and_log_failure(close, state.name)


async def _run_and_log_failure(work: Closer, name: str) -> None:
    try:
        async with asyncio.timeout(_CLOSE_TIMEOUT):
            await work()
    except Exception:
        logger.debug("%s: closing a resource failed", name, exc_info=True)


async def _wait_for_task(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])


def _stop_all() -> None:
    """Close all loops at exit, within a short time."""
    running = [state for state in _states if state.is_alive]
    for state in running:
        state.stop()
    deadline = time.monotonic() + _CLOSE_TIMEOUT
    for state in running:
        state.join(max(0.0, deadline - time.monotonic()))


def _discard_after_fork() -> None:
    """Discard the loops in a forked child: its threads are gone, the sockets are the parent's."""
    for state in list(_states):
        if state.selector is not None:
            state.selector.detach_from_parent()
    _states.clear()


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_discard_after_fork)
