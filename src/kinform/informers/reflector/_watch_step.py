"""The WATCHING phase: applies changes until the watch ends."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Generic, TypeVar

from kinform._runtime import ReadOutcome
from kinform.api import ListOptions
from kinform.errors import VeryShortWatchError
from kinform.informers.reflector._context import VERY_SHORT, ReflectorContext
from kinform.informers.reflector._event_applier import WatchEventApplier
from kinform.informers.reflector._open_watch import OpenWatch
from kinform.informers.reflector._phases import (
    ListPlan,
    PhaseState,
    StartPhase,
    WaitPhase,
    WatchPhase,
)
from kinform.informers.reflector._side_task import SideTask
from kinform.informers.reflector._state import CAUGHT_UP_AFTER
from kinform.informers.reflector._target import TargetFailedError
from kinform.informers.reflector._version_regression import VersionCheck
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class WatchStep(Generic[T]):
    """Applies the changes of a watch to the target."""

    def __init__(self, context: ReflectorContext[T]) -> None:
        self._context = context
        self._state = context.state
        self._target = context.target
        self._version_check = VersionCheck(context.name, context.source, context.state)
        self._applier = WatchEventApplier(
            context.name, context.target, context.admission, context.state, self._version_check
        )

    async def run(self, phase: WatchPhase) -> PhaseState:
        watch = phase.watch
        check_versions = partial(
            self._version_check.run,
            self._version_check.confirmed_at,
            # One failure is a lost connection; more are an outage.
            soon=phase.is_unconfirmed or self._state.attempts > 1,
        )
        if watch is None:
            version = self._state.resource_version
            if not (version or phase.follows_list):
                # Without versions, only a new list reveals what was deleted in the meantime.
                return StartPhase(plan=ListPlan(reason="no version"))
            watch = phase.watch = await self._context.open_watch(
                ListOptions(resource_version=version)
            )
            self._state.succeeded()
        self._context.recovery.recovered()
        phase.follows_list = False
        if phase.resume_from and phase.resume_from != self._state.resource_version:
            await self._resume(phase)  # an earlier watch has continued from it
        try:
            async with (
                SideTask(partial(self._resume_soon, phase) if phase.resume_from else None),
                SideTask(check_versions),
            ):
                while await self._take_from(watch) is ReadOutcome.STOPPED:
                    await self._target.wait_for_capacity()
        finally:
            phase.progressed = watch.progressed or watch.watched_for >= VERY_SHORT
        await self._context.close_watch(phase)
        if not phase.progressed:
            raise VeryShortWatchError(
                f"{self._context.name}: the server closed the watch from version "
                f"{watch.opened_from or 'none'} immediately, without new data"
            )
        return WaitPhase(delay=self._context.recovery.watch_ended(), then=phase.watch_again())

    async def _resume_soon(self, phase: WatchPhase) -> None:
        """Resume unless the server refuses: an expired version is refused at once."""
        await asyncio.sleep(CAUGHT_UP_AFTER)
        await self._resume(phase)

    async def _resume(self, phase: WatchPhase) -> None:
        phase.resume_from = ""
        self._context.resume()
        await self._target.wait_for_capacity()

    async def _take_from(self, watch: OpenWatch) -> ReadOutcome:
        """Apply events until the target needs a pause, or the watch has ended."""
        try:
            return await watch.read_into(partial(self._applier.take, watch=watch))
        except TargetFailedError:
            raise
        except Exception:
            # Events of the same batch before the failure were applied and are not sent again.
            await self._target.wait_for_capacity()
            raise
