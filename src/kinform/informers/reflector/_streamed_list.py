"""A list received as the initial events of a watch, up to the bookmark that ends them."""

from __future__ import annotations

import math
from typing import Generic, TypeVar

from kinform._runtime import Demand, ReadOutcome
from kinform.client import Frame
from kinform.errors import IncompleteStreamError
from kinform.informers.reflector._list_builder import ListBuilder
from kinform.informers.reflector._open_watch import OpenWatch
from kinform.informers.reflector._state import ReflectorState
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)

# Seconds of silence allowed before the first object, and after it.
_FIRST_SILENCE = 60.0
_NEXT_SILENCE = 30.0


class StreamedList(Generic[T]):
    """Reads a watch until its initial list is complete; then the watch continues.

    Attributes:
        builder: Receives the objects.
    """

    def __init__(self, watch: OpenWatch, builder: ListBuilder[T], state: ReflectorState) -> None:
        self._watch = watch
        self.builder = builder
        self._state = state
        self._version: str | None = None
        self._deadline = math.inf

    async def read(self, name: str) -> str:
        """Read the list and return its version.

        Raises:
            IncompleteStreamError: The server closed the stream before the list was complete.
            WatchSilenceError: Nothing was received for too long.
        """
        watch = self._watch
        while self._version is None:
            silence = _NEXT_SILENCE if watch.events else _FIRST_SILENCE
            left = self._deadline - self._state.clock()
            if await watch.read_into(self._take, min(silence, left)) is ReadOutcome.ENDED:
                raise IncompleteStreamError(
                    f"{name}: the streamed list ended after {watch.events} events, "
                    "before it was complete"
                )
        watch.begin(self._version)
        return self._version

    def _take(self, batch: list[Frame]) -> Demand:
        """Add a batch. ``STOP``: the list is complete, or another time limit applies from now."""
        watch, state = self._watch, self._state
        is_first = not watch.events
        state.contact_at = state.clock()
        used, self._version = self.builder.take_events(batch)
        watch.events += used
        watch.unread(batch[used:])
        if self.builder.is_late and self._deadline == math.inf:
            # Changes arrive already, so all objects were received and only the bookmark is due.
            self._deadline = state.clock() + _NEXT_SILENCE
        if is_first or self._version is not None or self._deadline < math.inf:
            return Demand.STOP
        return Demand.MORE
