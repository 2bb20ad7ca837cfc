"""What a watcher's handler got is accepted if lists explain it, and refused if nothing does."""

from __future__ import annotations

import pytest

from benchmarks.faults.histories import believed, contradictions, without_repeats
from benchmarks.faults.logs import Call, Write

KEY = "faults-00/object-0000"
WRITES = [
    Write(at, at, kind, KEY, version)
    for at, (kind, version) in enumerate([("A", 10), ("U", 12), ("D", None), ("A", 20), ("U", 22)])
]


def calls(*events: tuple[str, int]) -> list[Call]:
    return [Call(at, kind, KEY, version) for at, (kind, version) in enumerate(events)]


@pytest.mark.parametrize(
    "events",
    [
        [("A", 10), ("U", 12), ("D", 14), ("A", 20), ("U", 22)],
        [("A", 10), ("X", 10), ("A", 22)],
        [("A", 10), ("U", 22)],
        [("A", 10), ("U", 10), ("U", 12)],
        [],
    ],
    ids=["complete", "noticed by a list", "replaced", "repeated", "nothing"],
)
def test_possible_history_has_no_contradictions(events: list[tuple[str, int]]) -> None:
    assert contradictions(calls(*events), WRITES) == []


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([("A", 10), ("A", 12)], "added out of turn"),
        ([("U", 12)], "updated out of turn"),
        ([("D", 14)], "did not exist"),
        ([("A", 12), ("U", 10)], "came after 12"),
        ([("A", 11)], "never written"),
        ([("A", 10), ("D", 14), ("A", 12)], "came after 14"),
        ([("A", 10), ("D", 10)], "deleted after 10"),
        ([("A", 10), ("X", 12)], "never got"),
    ],
)
def test_impossible_history_is_named(events: list[tuple[str, int]], said: str) -> None:
    [problem] = contradictions(calls(*events), WRITES)
    assert said in problem


def test_unknown_version_is_accepted_where_a_write_was_not_answered() -> None:
    writes = [*WRITES, Write(9, 9, "?", KEY, None)]
    assert contradictions(calls(("A", 11)), writes) == []


def test_only_updates_to_the_same_version_are_repeats() -> None:
    made = calls(("A", 10), ("U", 10), ("U", 12), ("U", 12), ("D", 14), ("A", 20))
    assert [(call.kind, call.version) for call in without_repeats(made)] == [
        *(("A", 10), ("U", 12), ("D", 14), ("A", 20)),
    ]


def test_deleted_objects_are_not_believed_to_exist() -> None:
    assert believed(calls(("A", 10), ("U", 12))) == {KEY: 12}
    assert believed(calls(("A", 10), ("X", 10))) == {}
