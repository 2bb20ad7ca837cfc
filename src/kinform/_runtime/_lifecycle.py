"""The lifecycle of a background task: started on an event loop, stopped from any thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import Any, Self

from kinform._runtime._latch import Latch
from kinform._runtime._running_loop import running_loop
from kinform.errors import AlreadyStartedError, StateError


class Lifecycle:
    """Runs one background task at a time. Stopping cancels the task.

    Args:
        name: The name used in logs and errors.
        work: Runs until cancelled, and cleans up before it returns.
        prepare: Called before each start, on the thread that starts.
        conclude: Called on the loop after each run, before ``stopped`` is set.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], Coroutine[Any, Any, None]],
        *,
        prepare: Callable[[], object] | None = None,
        conclude: Callable[[], object] | None = None,
    ) -> None:
        self.name = name
        self._work = work
        self._prepare = prepare
        self._conclude = conclude
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._was_started = False
        self._is_stopping = False
        self._started_at = 0.0
        self._stopped = Latch(f"{name} has stopped")

    @property
    def was_started(self) -> bool:
        return self._was_started

    @property
    def is_running(self) -> bool:
        return self._was_started and not self._stopped

    @property
    def is_stopping(self) -> bool:
        """Whether a stop was requested since the last start."""
        return self._is_stopping

    @property
    def is_stopped(self) -> bool:
        """Whether it was started and has ended. It can be started again."""
        return bool(self._stopped)

    @property
    def has_failed(self) -> bool:
        """Whether it has ended without a call of ``stop``: by an error, or a cancelled task."""
        return bool(self._stopped) and not self._is_stopping

    @property
    def stopped(self) -> Latch:
        """Set when the current run has ended, and its task and threads with it."""
        return self._stopped

    @property
    def running_for(self) -> float:
        """Seconds since the last start; 0 if there was none."""
        return 0.0 if self._loop is None else self._loop.time() - self._started_at

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Start in the background. May be called again after a stop, and from any thread.

        Args:
            loop: The event loop to run on; defaults to the running one, and on a thread without
                one to the loop of the previous start.

        Raises:
            AlreadyStartedError: It is running.
            StateError: There is no event loop to run on.
        """
        here = running_loop()
        loop = loop or here or self._loop
        if loop is None or loop.is_closed():
            raise StateError(
                f"{self.name} cannot start without an event loop; call start() in a coroutine, "
                "pass the loop, or use kinform.blocking in a program without one"
            )
        with self._lock:
            if self.is_running:
                raise AlreadyStartedError(f"{self.name} is already running")
            if self._prepare is not None:
                self._prepare()
            self._stopped = stopped = Latch(f"{self.name} has stopped")
            self._was_started = True
            self._is_stopping = False
            self._loop = loop
            self._started_at = loop.time()
            self._task = None
            if loop is here:
                self._launch(stopped)
        if loop is not here:
            loop.call_soon_threadsafe(self._launch, stopped)

    def stop(self) -> None:
        """Request a stop, from any thread or handler, and return; ``stopped`` is set afterwards."""
        with self._lock:
            if not self.is_running or self._is_stopping:
                # A second cancellation would interrupt the cleanup.
                return
            self._is_stopping = True
        self.call_on_loop(self._cancel)

    async def run(self) -> None:
        """Start, and return when it has stopped. Cancelling this call stops it.

        Raises:
            AlreadyStartedError: It is running.
        """
        self.start()
        stopped = self._stopped
        try:
            await stopped
        finally:
            self.stop()
            await stopped

    def call_on_loop(self, call: Callable[[], object]) -> None:
        """Call a function on the loop of the current run, soon; do nothing if there is no loop."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the task has ended
                self._loop.call_soon_threadsafe(call)

    def _launch(self, stopped: Latch) -> None:
        assert self._loop is not None
        self._task = self._loop.create_task(self._work(), name=self.name)
        # A callback, because a task cancelled before its first step runs none of its own code.
        self._task.add_done_callback(partial(self._end, stopped))
        if self._is_stopping:
            self._task.cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _end(self, stopped: Latch, _task: asyncio.Task[None]) -> None:
        try:
            if self._conclude is not None:
                self._conclude()
        finally:
            stopped.set()


class Runnable:
    """Base class of objects with a lifecycle: ``start`` and ``stop``, or ``async with``.

    Several objects may share one lifecycle.
    """

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._lifecycle = lifecycle

    @property
    def name(self) -> str:
        """The name used in logs, errors and metrics."""
        return self._lifecycle.name

    @property
    def was_started(self) -> bool:
        return self._lifecycle.was_started

    @property
    def is_running(self) -> bool:
        return self._lifecycle.is_running

    @property
    def is_stopped(self) -> bool:
        """Whether it was started and has ended. It can be started again."""
        return self._lifecycle.is_stopped

    @property
    def has_failed(self) -> bool:
        """Whether it has ended without a call of ``stop``: by an error, or a cancelled task."""
        return self._lifecycle.has_failed

    @property
    def stopped(self) -> Latch:
        """Set when the current run has ended, and its task and threads with it."""
        return self._lifecycle.stopped

    @property
    def running_for(self) -> float:
        """Seconds since the last start; 0 if there was none."""
        return self._lifecycle.running_for

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Start in the background. May be called again after a stop, and from any thread.

        Args:
            loop: The event loop to run on; defaults to the running one, and on a thread without
                one to the loop of the previous start.

        Raises:
            AlreadyStartedError: It is running.
            StateError: There is no event loop to run on.
        """
        self._lifecycle.start(loop)

    def stop(self) -> None:
        """Request a stop, from any thread or handler, and return; ``stopped`` is set afterwards."""
        self._lifecycle.stop()

    async def run(self) -> None:
        """Start, and return when it has stopped. Cancelling this call stops it.

        Raises:
            AlreadyStartedError: It is running.
        """
        await self._lifecycle.run()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        await self.stopped
