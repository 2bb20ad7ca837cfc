"""A worker that waits for a key."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod


class Waiter(ABC):
    """A pending ``get``, on a thread or an event loop.

    Its methods are called with the lock of the queue held.

    Attributes:
        is_notified: Whether it was woken and has not looked at the queue since.
        looks_at: When it looks at the queue by itself.
    """

    __slots__ = ("is_notified", "looks_at")

    def __init__(self) -> None:
        self.is_notified = False
        self.looks_at = math.inf

    def notify(self) -> None:
        """Let it look at the queue again."""
        if not self.is_notified:
            self.is_notified = True
            self._wake()

    def prepare(self, looks_at: float) -> None:
        """Prepare for the next wait."""
        self.is_notified = False
        self.looks_at = looks_at
        self._reset()

    @abstractmethod
    def _wake(self) -> None: ...

    @abstractmethod
    def _reset(self) -> None: ...
