"""Remembers what a server cannot do: stream lists of a resource, or watch it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Literal

Capability = Literal["stream", "watch"]


class ServerCapabilities:
    """Remembers for a limited time which resources cannot be streamed or watched.

    The informers of a factory share it, so that each resource is tried only once. Entries expire
    because servers are upgraded, and because a slow server may only seem to lack a feature.
    """

    def __init__(self, expiry: float = 3600.0, *, clock: Callable[[], float] = time.monotonic):
        self._expiry = expiry
        self._clock = clock
        self._until: dict[tuple[Capability, Hashable], float] = {}

    def allows(self, capability: Capability, resource: Hashable) -> bool:
        """Whether to try it for this resource."""
        key = (capability, resource)
        until = self._until.get(key)
        if until is not None and until <= self._clock():
            del self._until[key]
            return True
        return until is None

    def downgrade(self, capability: Capability, resource: Hashable) -> None:
        """Do not try it again until the entry expires."""
        self._until[capability, resource] = self._clock() + self._expiry
