"""The lifecycle of a background task: started on an event loop, stopped from any thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

from kinform._runtime._latch import Latch
from kinform.errors import AlreadyStartedError, StateError


class Lifecycle(ABC):
    """Runs one background task. A subclass implements it in ``_live``.

    Stopping cancels the task; ``_live`` cleans up before it returns.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._life_lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._started_at = 0.0
        self._stopped = Latch(f"{name} has stopped")

    @abstractmethod
    async def _live(self) -> None:
        """Run until cancelled."""

    def _before_start(self) -> None:  # noqa: B027 - optional
        """Prepare a run. Called on the loop, before the task exists."""

    def _after_end(self) -> None:  # noqa: B027 - optional
        """Finish a run. Called on the loop, after the task and before ``stopped`` is set."""

    @property
    def was_started(self) -> bool:
        return self._task is not None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._stopped

    @property
    def is_stopped(self) -> bool:
        """Whether it was started and has ended. It can be started again."""
        return bool(self._stopped)

    @property
    def stopped(self) -> Latch:
        """Set when the current run has ended, and its task and threads with it."""
        return self._stopped

    @property
    def running_for(self) -> float:
        """Seconds since the last start; 0 if there was none."""
        return 0.0 if self._loop is None else self._loop.time() - self._started_at

    def start(self) -> None:
        """Start in the background on the running event loop. May be called again after a stop.

        Raises:
            AlreadyStartedError: It is running.
            StateError: There is no running event loop.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError as error:
            raise StateError(
                f"{self.name}: start it where an event loop runs; without one, use the factories "
                "of kinform.blocking, or start it with LoopThread.call of that room"
            ) from error
        with self._life_lock:
            if self.is_running:
                raise AlreadyStartedError(f"{self.name} runs already")
            self._before_start()
            self._stopped = stopped = Latch(f"{self.name} has stopped")
            self._is_stopping = False
            self._loop = loop
            self._started_at = loop.time()
            self._task = loop.create_task(self._live(), name=self.name)
            # A callback, because a task cancelled before its first step runs none of its own code.
            self._task.add_done_callback(partial(self._conclude, stopped))

    def stop(self) -> None:
        """Request a stop, from any thread or handler, and return; ``stopped`` is set afterwards."""
        with self._life_lock:
            task = self._task
            if task is None or self._is_stopping:
                # A second cancellation would interrupt the cleanup.
                return
            self._is_stopping = True
        self._call_on_loop(task.cancel)

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
        await self._stopped

    def _conclude(self, stopped: Latch, _task: asyncio.Task[None]) -> None:
        try:
            self._after_end()
        finally:
            stopped.set()

    def _call_on_loop(self, call: Callable[[], object]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the task has ended
                self._loop.call_soon_threadsafe(call)
