"""Files stay short enough to be read at one sitting."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 500


def _is_generated(path: Path) -> bool:
    """Such a file says so on top."""
    return "enerated by tools/" in path.read_text(encoding="utf-8")[:400]


SOURCES = [
    path for path in sorted((ROOT / "src" / "kinform").rglob("*.py")) if not _is_generated(path)
]


def test_there_is_something_to_measure() -> None:
    assert len(SOURCES) > 20


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_module_written_by_hand_is_not_too_long(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST, f"{path.name} has {lines} lines; look for the second concept in it"
