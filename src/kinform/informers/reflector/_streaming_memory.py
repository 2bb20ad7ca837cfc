"""Remembers which resources a server cannot stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable


class StreamingMemory:
    """Remembers for a limited time which resources must be listed in pages.

    The informers of a factory share it, so that each resource is tried only once. Entries expire
    because servers are upgraded, and because a slow server may only seem to lack the feature.
    """

    def __init__(self, expiry: float = 3600.0, *, clock: Callable[[], float] = time.monotonic):
        self._expiry = expiry
        self._clock = clock
        self._until: dict[Hashable, float] = {}

    def may_stream(self, resource: Hashable) -> bool:
        until = self._until.get(resource)
        if until is not None and until <= self._clock():
            del self._until[resource]
            return True
        return until is None

    def downgrade(self, resource: Hashable) -> None:
        """List this resource in pages until the entry expires."""
        self._until[resource] = self._clock() + self._expiry
