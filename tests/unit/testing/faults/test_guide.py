"""The guide and the faults tell of each other: nothing is missing on either side."""

from __future__ import annotations

import re
from pathlib import Path

from kinform.testing import faults

GUIDE = (Path(__file__).parents[4] / "docs/guides/faults.md").read_text(encoding="utf-8")
CONSTRUCTORS = {name for name in faults.__all__ if name.islower()}


def test_every_fault_has_a_row_in_the_guide() -> None:
    rows = "\n".join(line for line in GUIDE.splitlines() if line.startswith("| `"))

    assert {name for name in CONSTRUCTORS if f"`{name}(" not in rows} == set()


def test_the_guide_names_no_fault_that_does_not_exist() -> None:
    # The first column of the tables of faults; the other tables name keywords and methods.
    named = set()
    for row in re.findall(r"^\| (`\w+\(.*?`) \|", GUIDE, flags=re.MULTILINE):
        named |= set(re.findall(r"`(\w+)\(", row))

    assert named - CONSTRUCTORS == set()
