"""Coroutines in from any thread, their results out: an event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

from kinform.blocking._life import Closer, Life
from kinform.errors import StateError

T = TypeVar("T")


class LoopThread:
    """Runs what it is given on its loop, while the caller waits.

    Call it from any thread. Its own is a daemon that ends with ``stop()``, with the last
    reference to this, or with Python, whichever comes first. It does not survive a fork: in
    the child every call raises.

    Args:
        name: What it is called in errors.
        instead: What to use on a thread that runs an event loop of its own, which a call would
            bring to a stand. Such calls are refused if this is said.
    """

    def __init__(self, *, name: str, instead: str = "") -> None:
        self._life = Life(name)
        self._instead = instead
        # A collector may run user code, which may call us, while we hold it.
        self._lock = threading.RLock()
        weakref.finalize(self, self._life.end).atexit = False

    @property
    def name(self) -> str:
        return self._life.name

    @property
    def is_running(self) -> bool:
        life = self._life
        return life.pid == os.getpid() and not life.is_ending and life.is_alive

    @property
    def is_elsewhere(self) -> bool:
        """Whether it was started in another process, of which this one is a fork."""
        return self._life.pid not in (0, os.getpid())

    def start(self) -> None:
        """Once.

        Raises:
            StateError: It was started before.
        """
        with self._lock:
            if self._life.pid:
                raise StateError(f"{self.name} was started before; make another one")
            self._life.begin()

    def ensure_started(self) -> None:
        """Start it if nobody has."""
        if not self._life.pid:
            with self._lock:
                if not self._life.pid:
                    self._life.begin()

    def run(self, work: Coroutine[Any, Any, T], *, instead: str = "") -> T:
        """The coroutine's result. If the caller is interrupted, the coroutine is cancelled.

        Args:
            work: Is closed if it cannot run.
            instead: What this caller's users are to use on a thread that runs an event loop.

        Raises:
            StateError: The loop has ended, or ends before the coroutine does; or the call is
                made where it would never return: on the loop itself, or in a fork.
        """
        try:
            self.refuse_where_it_cannot_wait(instead=instead)
            future = self._submit(work)
        except BaseException:
            with suppress(ValueError):  # Ctrl-C came a moment too late, and it runs
                work.close()
            raise
        try:
            return future.result()
        except CancelledError:
            raise StateError(f"{self.name} ended before the call did") from None
        except BaseException:
            # Ctrl-C while waiting: nobody is left to take the result.
            future.cancel()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """The result of a plain function, called on the loop."""

        async def work() -> T:
            return function()

        return self.run(work())

    def spawn(self, work: Closer) -> None:
        """Have a coroutine function run and wait for nothing; never blocks, never raises."""
        self._life.spawn(work)

    def before_the_end(self, close: Closer) -> Callable[[], None]:
        """Have it run on the loop before that ends, for whatever reason; youngest first.

        Returns:
            Takes the request back.
        """
        ticket, closers = object(), self._life.closers
        closers[ticket] = close

        def forget() -> None:
            closers.pop(ticket, None)

        return forget

    def stop(self) -> None:
        """Cancel what still runs, and end the thread. Idempotent; does nothing in a fork."""
        life = self._life
        if life.pid != os.getpid():
            return
        with self._lock:
            life.end()
        life.join()

    def refuse_where_it_cannot_wait(self, *, instead: str = "") -> None:
        """What ``run`` does first, for who has to know before beginning.

        Raises:
            StateError: The call would be made where it would never return.
        """
        if self.is_elsewhere:
            raise StateError(
                f"{self.name} was made in process {self._life.pid}, and this is a fork of it; "
                "make a new one after the fork"
            )
        if threading.current_thread() is self._life.thread:
            raise StateError(f"a blocking call on {self.name}'s own loop would wait for itself")
        instead = instead or self._instead
        if instead and _runs_a_loop():
            raise StateError(
                f"a blocking call on {self.name} would bring this thread's event loop to a stand; "
                f"use {instead} there"
            )

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        # Under the lock: what is submitted before the loop is told to end is still cancelled
        # with all the rest; a moment later nobody would ever look at it.
        with self._lock:
            loop = self._life.loop
            if loop is None or not self.is_running:
                raise StateError(f"{self.name} is not running; use it inside its with block")
            return asyncio.run_coroutine_threadsafe(work, loop)


def _runs_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
