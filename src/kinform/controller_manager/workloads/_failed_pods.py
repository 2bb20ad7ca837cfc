"""How long a failed pod has to wait for its deletion, so that it does not fail in a tight loop."""

from __future__ import annotations

from collections.abc import Hashable

_FIRST = 1.0
_LONGEST = 15 * 60.0


class FailedPods:
    """Remembers when a pod of a place was deleted because it had failed."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[float, float]] = {}

    def wait(self, key: Hashable, at: float) -> float:
        """Return how long to wait; 0 if the pod may be deleted now, which counts as a deletion.

        Args:
            key: The place of the pod, such as the DaemonSet and the node.
            at: The current time.
        """
        known = self._known.get(key)
        if known is not None:
            delay, since = known
            if at - since < delay:
                return delay - (at - since)
        self._forget(at)
        delay = _FIRST if key not in self._known else min(2 * self._known[key][0], _LONGEST)
        self._known[key] = delay, at
        return 0.0

    def _forget(self, at: float) -> None:
        """Forget the places where no pod has failed for long."""
        for key, (_, since) in list(self._known.items()):
            if at - since > 2 * _LONGEST:
                del self._known[key]
