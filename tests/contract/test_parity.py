"""docs/parity.md and the tests say the same: each guarantee has its proof, or a reason for none."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
DOCUMENT = FOLDER.parents[1] / "docs" / "parity.md"
IDS = range(1, 73)
# What the engine has to do; the others are about rooms that come after it.
OF_THE_ENGINE = range(1, 67)
REASONS = ("Does not apply:", "Later:")


def _contract_tests() -> Iterator[tuple[str, str]]:
    """Where each test is, and how its docstring begins."""
    for path in sorted(FOLDER.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
                "test_"
            ):
                said = ast.get_docstring(node) or ""
                yield f"{path.name}::{node.name}", said


def _proofs() -> dict[int, set[str]]:
    """By the ids in the docstrings: ``C-05`` or ``C-05, C-26``, and then a colon."""
    proofs: defaultdict[int, set[str]] = defaultdict(set)
    for place, said in _contract_tests():
        for number in re.findall(r"C-(\d+)", said.partition(":")[0]):
            proofs[int(number)].add(place)
    return proofs


def _rows() -> list[tuple[int, str, set[str]]]:
    """The number, what kinform does, and the tests that are named."""
    rows = []
    for line in DOCUMENT.read_text("utf-8").splitlines():
        if re.match(r"\| C-\d+ ", line):
            number, _, ours, tests = (cell.strip() for cell in line.strip("| ").split(" | "))
            rows.append((int(number[2:]), ours, set(re.findall(r"`(\w+\.py::\w+)`", tests))))
    return rows


PROOFS = _proofs()
ROWS = {number: (ours, tests) for number, ours, tests in _rows()}


def test_every_guarantee_has_one_row_in_order() -> None:
    assert [number for number, _, _ in _rows()] == list(IDS)


def test_every_contract_test_says_which_guarantee_it_proves() -> None:
    unmarked = [
        place
        for place, said in _contract_tests()
        if "_contract.py::" in place and not re.match(r"C-\d\d(, C-\d\d)*:", said)
    ]

    assert unmarked == []


def test_no_test_proves_a_guarantee_that_there_is_not() -> None:
    assert sorted(set(PROOFS) - set(IDS)) == []


@pytest.mark.parametrize("number", IDS, ids=lambda number: f"C-{number:02}")
def test_a_row_names_exactly_the_tests_of_its_guarantee(number: int) -> None:
    named = ROWS[number][1]
    there_are = PROOFS.get(number, set())

    cell = "<br>".join(f"`{place}`" for place in sorted(there_are))
    assert named == there_are, f"the last cell of C-{number:02} should be: {cell}"


@pytest.mark.parametrize("number", IDS, ids=lambda number: f"C-{number:02}")
def test_a_row_without_a_test_says_why(number: int) -> None:
    ours, tests = ROWS[number]

    assert bool(tests) != ours.startswith(REASONS)
    if number in OF_THE_ENGINE:
        assert not ours.startswith("Later:")
