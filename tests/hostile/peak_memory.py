"""Measures how far the memory of this process grows."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


class PeakMemory:
    """Measures during a ``with`` block.

    Attributes:
        growth: By how many bytes the resident memory exceeded that of the beginning; 0 on
            systems that do not report it.
    """

    def __init__(self) -> None:
        self.growth = 0
        self._before = 0

    def __enter__(self) -> Self:
        if _STATUS.exists():
            _RESET.write_text("5")  # the peak is now the current size
            self._before = _read("VmRSS")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if _STATUS.exists():
            self.growth = max(_read("VmHWM") - self._before, 0)


def _read(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)
