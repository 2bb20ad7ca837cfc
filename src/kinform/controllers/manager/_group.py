"""A group of components that run at the same times: always, or while this is the leader."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from kinform.controllers.manager._supervisor import Supervisor
from kinform.errors import ControllerError

Failure = Callable[[Supervisor, Exception], None]


class ComponentGroup:
    """Runs its members while it is open.

    Args:
        failed: Called with each member that failed, and its error.
    """

    def __init__(self, failed: Failure) -> None:
        self._failed = failed
        self._members: list[Supervisor] = []
        self._is_open = False
        self._leadership: Any = None

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def leadership(self) -> Any:
        return self._leadership

    def admit(self, member: Supervisor) -> None:
        """Add a member that is warm, and start it if the group is open."""
        self._members.append(member)
        if self._is_open:
            self._start(member)

    def remove(self, member: Supervisor) -> None:
        """Remove a member. Does not stop it."""
        if member in self._members:
            self._members.remove(member)

    def open(self, leadership: Any = None) -> None:
        """Start all members, and from now on those that are admitted."""
        self._is_open, self._leadership = True, leadership
        for member in self._members:
            self._start(member)

    def shut(self) -> None:
        """Start no more members. Does not stop those that run."""
        self._is_open = False

    async def cancel(self) -> None:
        """Cancel all members at once, and return when all have ended. Can be opened again."""
        self._is_open, self._leadership = False, None
        await cancel_and_wait(each.task for each in self._members if each.task is not None)

    def _start(self, member: Supervisor) -> None:
        start_task(member, member.work(self._leadership), self._failed)


def start_task(member: Supervisor, work: Any, failed: Failure) -> asyncio.Task[None]:
    """Run a coroutine as the task of a member, and report its failure."""
    loop = asyncio.get_running_loop()
    task: asyncio.Task[None] = loop.create_task(work, name=f"manager: {member.name}")
    member.task = task

    def ended(task: asyncio.Task[None]) -> None:
        if task.cancelled():
            # Cancelled by its own code, or by a stranger: as wrong as any other error.
            if not task.cancelling():
                failed(member, ControllerError(f"{member.name} cancelled itself"))
            return
        error = task.exception()
        if isinstance(error, Exception):
            failed(member, error)

    task.add_done_callback(ended)
    return task


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and return when all have ended, even if this call is cancelled meanwhile."""
    pending = {task for task in tasks if not task.done()}
    for task in pending:
        task.cancel()
    interruption: asyncio.CancelledError | None = None
    while pending:
        try:
            _, pending = await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            interruption = error
            pending = {task for task in pending if not task.done()}
    if interruption is not None:
        raise interruption
