"""Servers that cannot stream a list in; whether to ask them again out."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable


class StreamingMemory:
    """Remembers which resources had to be listed in pages, and forgets it after a while.

    Shared by the informers of a factory: what one finds out, the others need not try. It forgets
    because servers are upgraded, and because a slow hour is not a missing feature.
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
        """List it in pages from now on, until the memory expires."""
        self._until[resource] = self._clock() + self._expiry
