"""Logging in steps: a message that repeats is logged the 1st, 10th, 100th … time."""

from __future__ import annotations

from collections import Counter


class LogSteps:
    """Counts messages by what they are about."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def count(self, what: str) -> int:
        """Count a message; return the total if it is to be logged, otherwise 0."""
        self._seen[what] += 1
        total = self._seen[what]
        return total if str(total).strip("0") == "1" else 0
