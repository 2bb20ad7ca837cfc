"""Latches that are set when a condition on a store holds."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from kinform._runtime import Latch
from kinform.errors import AlreadyStoppedError, KinformError


class StoreWaiters:
    """The latches that wait for a condition. Not thread-safe: the caller holds the lock.

    A condition that raises will never hold: waiting for its latch raises AlreadyStoppedError with
    that reason.

    Args:
        informer: The name of the informer that fills the store.

    Attributes:
        waiting: The pending latches; if empty, ``check`` need not be called.
    """

    def __init__(self, informer: str) -> None:
        self._informer = informer
        # Weak references: an abandoned latch is dropped.
        self.waiting: list[tuple[Callable[[], bool], str, weakref.ref[Latch]]] = []
        self._is_over = False

    def begin(self) -> None:
        """Accept latches again, before the informer starts."""
        self._is_over = False

    def end(self) -> None:
        """Fail all pending latches: the informer has stopped, and the store will not change."""
        self._is_over = True
        waiting, self.waiting = self.waiting, []
        for _, what, reference in waiting:
            latch = reference()
            if latch is not None:
                latch.give_up(self._why_never(what))

    def latch(self, condition: Callable[[], bool], what: str) -> Latch:
        """Return a latch that is set when the condition holds. Exceptions of it propagate.

        Args:
            condition: Called now, and after each change of the store.
            what: What the informer will have done then, such as ``reached version 5``.

        Raises:
            AlreadyStoppedError: The informer stopped before the condition held.
        """
        latch = Latch(f"{self._informer} has {what}")
        if condition():
            latch.set()
        elif self._is_over:
            raise AlreadyStoppedError(self._why_never(what))
        else:
            self.waiting.append((condition, what, weakref.ref(latch)))
        return latch

    def check(self) -> None:
        """Set the latches whose condition holds."""
        still_waiting = []
        for condition, what, reference in self.waiting:
            latch = reference()
            if latch is None:
                continue
            try:
                if condition():
                    latch.set()
                else:
                    still_waiting.append((condition, what, reference))
            except KinformError as error:
                latch.give_up(str(error))
            except Exception as error:  # user code
                latch.give_up(f"{latch.name}: the condition failed: {error!r}")
        self.waiting = still_waiting

    def _why_never(self, what: str) -> str:
        return f"informer {self._informer} stopped before it {what}; start it again, then wait"
