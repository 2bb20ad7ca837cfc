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
# By the prefix of their ids: the guarantees of client-go, and of controller-runtime's cache,
# controllers, manager and helpers.
NUMBERS = {"C": range(1, 73), "cr": range(1, 51)}
IDS = [(prefix, number) for prefix, numbers in NUMBERS.items() for number in numbers]
# What there is already; the others are about packages that come later.
DONE = {
    *(("C", number) for number in (*range(1, 69), 70, 71, 72)),
    *(("cr", number) for number in NUMBERS["cr"]),
}
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


def _proofs() -> dict[tuple[str, int], set[str]]:
    """By the ids in the docstrings: ``C-05`` or ``cr-5, cr-26``, and then a colon."""
    proofs: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for place, said in _contract_tests():
        for prefix, number in re.findall(r"\b(C|cr)-(\d+)", said.partition(":")[0]):
            proofs[prefix, int(number)].add(place)
    return proofs


def _rows() -> list[tuple[tuple[str, int], str, set[str]]]:
    """The id, what kinform does, and the tests that are named."""
    rows = []
    for line in DOCUMENT.read_text("utf-8").splitlines():
        if found := re.match(r"\| (C|cr)-(\d+) ", line):
            _, _, ours, tests = (cell.strip() for cell in line.strip("| ").split(" | "))
            named = set(re.findall(r"`(\w+\.py::\w+)`", tests))
            rows.append(((found[1], int(found[2])), ours, named))
    return rows


def _name(guarantee: tuple[str, int]) -> str:
    prefix, number = guarantee
    return f"C-{number:02}" if prefix == "C" else f"{prefix}-{number}"


PROOFS = _proofs()
ROWS = {guarantee: (ours, tests) for guarantee, ours, tests in _rows()}


def test_every_guarantee_has_one_row_in_order() -> None:
    assert [guarantee for guarantee, _, _ in _rows()] == IDS


def test_every_contract_test_says_which_guarantee_it_proves() -> None:
    """Caches and controllers do more than controller-runtime's: some tests are for no row."""
    unmarked = [
        place
        for place, said in _contract_tests()
        if re.match(r"test_(?!cache|controller_helpers).*_contract\.py::", place)
        and not re.match(r"(C-\d\d|cr-\d+)(, C-\d\d|, cr-\d+)*:", said)
    ]

    assert unmarked == []


def test_no_test_proves_a_guarantee_that_there_is_not() -> None:
    assert sorted(set(PROOFS) - set(IDS)) == []


@pytest.mark.parametrize("guarantee", IDS, ids=_name)
def test_a_row_names_exactly_the_tests_of_its_guarantee(guarantee: tuple[str, int]) -> None:
    named = ROWS[guarantee][1]
    there_are = PROOFS.get(guarantee, set())

    cell = "<br>".join(f"`{place}`" for place in sorted(there_are))
    assert named == there_are, f"the last cell of {_name(guarantee)} should be: {cell}"


@pytest.mark.parametrize("guarantee", IDS, ids=_name)
def test_a_row_without_a_test_says_why(guarantee: tuple[str, int]) -> None:
    ours, tests = ROWS[guarantee]

    assert bool(tests) != ours.startswith(REASONS)
    if guarantee in DONE:
        assert not ours.startswith("Later:")
