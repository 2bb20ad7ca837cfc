"""Runs one component: its states, its errors, and restarts if it is not essential."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from kinform._runtime import Backoff, Latch
from kinform.controllers.manager._component import Component
from kinform.controllers.manager._status import ComponentStatus
from kinform.controllers.manager._write_guard import leader_context
from kinform.errors import LeadershipLostError

logger = logging.getLogger("kinform.manager")

ComponentState = Literal[
    "new", "warming up", "waiting", "running", "restarting", "finished", "failed", "stopped"
]

# Seconds between the attempts to restart a component, at first and at most.
_FIRST_RESTART, _LATEST_RESTART = 1.0, 30.0
# After this many seconds without a failure, a restarted component counts as repaired.
_STABLE = 60.0
# Seconds between two looks at a lease that has run out, until the elector ends the term.
_LEASE_CHECK = 0.5


class Supervisor:
    """Runs one component.

    Args:
        component: The component.

    Attributes:
        component: The component.
        state: What it does now.
        last_error: The last error; kept after a restart.
        restarts: How often it was restarted.
        is_warm: Whether its warm-up has succeeded.
        tried: Set after the first attempt of the warm-up.
        task: The task of the current warm-up or work.
    """

    def __init__(self, component: Component) -> None:
        self.component = component
        self.state: ComponentState = "new"
        self.last_error: Exception | None = None
        self.restarts = 0
        self.is_warm = False
        self.tried = Latch(f"{component.name} has tried to warm up")
        self.task: asyncio.Task[None] | None = None
        self._must_close = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failed_at = 0.0

    @property
    def name(self) -> str:
        return self.component.name

    @property
    def is_active(self) -> bool:
        """Whether a task of it has not ended."""
        return self.task is not None and not self.task.done()

    async def warm_up(self) -> None:
        """Warm up; a component that is not essential is tried again after a failure."""
        try:
            await self._attempt("warming up", self._warm_up_once)
        finally:
            self.tried.set()
        self.is_warm = True
        self.state = "waiting"

    async def work(self, leadership: Any) -> None:
        """Do the work until it ends; a component that is not essential is restarted."""
        with leader_context(leadership):
            try:
                await self._attempt("running", lambda: self._work_once(leadership))
            except asyncio.CancelledError:
                self.state = "waiting"
                raise
        self.state = "finished"

    async def _work_once(self, leadership: Any) -> None:
        while True:
            try:
                return await self.component.work(leadership)
            except LeadershipLostError:
                if leadership is None or leadership.is_valid:
                    raise
            # It noticed before the elector, which cancels this soon. If the lease is renewed at
            # the last moment instead, the work goes on.
            self.state = "waiting"
            while not leadership.is_valid:  # noqa: ASYNC110  # a lease that is renewed has no event
                await asyncio.sleep(_LEASE_CHECK)
            self.state = "running"

    async def close(self) -> None:
        """Release what the warm-up created."""
        if self._must_close:
            self._must_close = False
            await self.component.close()

    def problem(self) -> str:
        """Return what is wrong with it; empty if nothing is, or before its warm-up."""
        if self.state == "warming up":
            return "warming up"
        if self.state == "failed":
            return f"failed: {describe(self.last_error)}"
        if self.last_error is not None and self._has_failed_recently():
            return f"restarts: {self.restarts}, last error: {describe(self.last_error)}"
        return "; ".join(self._problems_of_component())

    def status(self) -> ComponentStatus:
        component = self.component
        return ComponentStatus(
            name=self.name,
            kind="function" if component.controller is None else "controller",
            cluster=component.cluster,
            needs_leader=component.needs_leader,
            essential=component.essential,
            state=self.state,
            problem=self.problem(),
            last_error="" if self.last_error is None else describe(self.last_error),
            restarts=self.restarts,
        )

    def _problems_of_component(self) -> tuple[str, ...]:
        try:
            return self.component.problems()
        except Exception as error:  # a custom controller
            return (f"its problems could not be read: {describe(error)}",)

    def _has_failed_recently(self) -> bool:
        if self.state == "restarting" or self._loop is None:
            return True
        return self._loop.time() - self._failed_at < _STABLE

    async def _warm_up_once(self) -> None:
        await self.close()  # what the previous attempt left
        self._must_close = True
        await self.component.warm_up()

    async def _attempt(
        self, state: Literal["warming up", "running"], call: Callable[[], Awaitable[None]]
    ) -> None:
        backoff = Backoff(_FIRST_RESTART, cap=_LATEST_RESTART)
        loop = self._loop = asyncio.get_running_loop()
        while True:
            self.state = state
            began = loop.time()
            try:
                await call()
                return
            except Exception as error:
                self.last_error = error
                if self.component.essential:
                    self.state = "failed"
                    raise
                if loop.time() - began > _STABLE:
                    backoff.reset()
                delay = backoff.next()
                self._failed_at = loop.time()
                self.restarts += 1
                self.state = "restarting"
                logger.exception("%s failed and is restarted in %.1f s", self.name, delay)
                self.tried.set()
            await asyncio.sleep(delay)


def describe(error: BaseException | None) -> str:
    """Return an error as text, with its class if the message is empty or not ours."""
    if error is None:
        return ""
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name
