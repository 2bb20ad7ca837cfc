"""The time that a shutdown may take, and waiting within it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

# The share of the grace period in which components may finish what they do. The rest is for
# cancelled components, caches and servers, so that the whole shutdown stays within the period.
_FINISHING = 0.8
# Seconds that each step of the cleanup has at least, even if components have used all the time.
_CLEANING_UP = 3.0


class GracePeriod:
    """The deadlines of one shutdown: first to finish, then to clean up.

    Args:
        grace: Seconds for everything together; 0 lets nothing finish, ``None`` waits for ever.
        is_expected: Called if the shutdown is cancelled; ``False`` ends the grace period.

    Attributes:
        grace: The seconds.
        late: What did not stop in time, by name, and what became of it.
        was_interrupted: Whether the shutdown was cancelled.
    """

    def __init__(
        self, grace: float | None, is_expected: Callable[[], bool] = lambda: False
    ) -> None:
        now = asyncio.get_running_loop().time()
        self._finish_by = None if grace is None else now + grace * _FINISHING
        self._end_by = None if grace is None else now + grace
        self._is_expected = is_expected
        self.grace = grace
        self.late: dict[str, str] = {}
        self.was_interrupted = False

    async def let_finish(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        """Wait until tasks have ended by themselves, or may not take longer."""
        await self._wait(tasks, lambda: self._finish_by)

    async def let_end(self, tasks: Iterable[asyncio.Task[Any]]) -> bool:
        """Wait until cancelled tasks have ended; ``False`` if they do not."""
        at_least = asyncio.get_running_loop().time() + _CLEANING_UP
        return not await self._wait(
            tasks, lambda: None if self._end_by is None else max(self._end_by, at_least)
        )

    async def clean_up(
        self, steps: Mapping[str, Coroutine[Any, Any, object]]
    ) -> Mapping[str, BaseException]:
        """Run steps of the cleanup side by side, bounded; return the errors by name."""
        tasks = {
            name: asyncio.create_task(step, name=f"stop {name}") for name, step in steps.items()
        }
        await self.let_end(tasks.values())
        errors: dict[str, BaseException] = {}
        for name, task in tasks.items():
            if not task.done():
                task.cancel()
                self.late[name] = "did not stop"
            elif not task.cancelled() and (error := task.exception()) is not None:
                errors[name] = error
        return errors

    async def _wait(
        self, tasks: Iterable[asyncio.Task[Any]], deadline: Callable[[], float | None]
    ) -> set[asyncio.Task[Any]]:
        """Wait for tasks; return those that have not ended by the deadline."""
        pending = {task for task in tasks if not task.done()}
        loop = asyncio.get_running_loop()
        while pending:
            limit = deadline()
            left = None if limit is None else limit - loop.time()
            if left is not None and left <= 0:
                break
            try:
                _, pending = await asyncio.wait(pending, timeout=left)
            except asyncio.CancelledError:
                if not self._is_expected():
                    self._hurry()
                pending = {task for task in pending if not task.done()}
        return pending

    def _hurry(self) -> None:
        """Let nothing finish any more, but clean up."""
        self.was_interrupted = True
        self._finish_by = self._end_by = asyncio.get_running_loop().time()
