"""The STREAMING phase: one streamed list, whose watch then continues."""

from __future__ import annotations

from typing import Generic, TypeVar

from kinform.api import ListOptions
from kinform.informers.reflector._context import ReflectorContext
from kinform.informers.reflector._list_builder import ListBuilder
from kinform.informers.reflector._phases import StreamPhase, WatchPhase
from kinform.informers.reflector._state import SyncMode
from kinform.informers.reflector._streamed_list import StreamedList
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class StreamStep(Generic[T]):
    """Fills the target from the initial events of a watch."""

    def __init__(self, context: ReflectorContext[T]) -> None:
        self._context = context

    async def run(self, phase: StreamPhase) -> WatchPhase:
        context = self._context
        state = context.state
        known = "" if phase.plan.newest else state.resource_version
        watch = phase.watch = await context.open_watch(
            ListOptions(
                resource_version=known,
                resource_version_match="NotOlderThan",
                send_initial_events=True,
            )
        )
        started = state.clock()
        builder = ListBuilder(context.admission, reuse_known=not phase.plan.went_back)
        try:
            version = await StreamedList(watch, builder, state).read(context.name)
        finally:
            phase.progressed = bool(builder.records)
        context.replace(builder, version, SyncMode.STREAMING, started=started, plan=phase.plan)
        await context.target.wait_for_capacity()
        return WatchPhase(watch=watch, follows_list=True)
