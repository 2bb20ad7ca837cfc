"""What controllers need of an event recorder, as a Protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol


class Recorder(Protocol):
    """Records events about objects. ``EventRecorder`` satisfies it; tests may pass their own."""

    def event(
        self,
        obj: Any,
        type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        *,
        action: str | None = None,
        related: Any | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> bool:
        """Record an event, without blocking. Returns ``False`` if it was dropped."""
        ...
