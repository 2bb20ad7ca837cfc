"""Deltas into a table: membership decides what a delta means, and what there is to tell."""

from __future__ import annotations

import pytest

from kinform.informers import (
    ChangeSource,
    ChangeType,
    DeletedObject,
    Delta,
    Deltas,
    DeltasKind,
    DeltaType,
    Indexer,
)
from kinform.informers._changes import Change
from kinform.informers._delta_applier import DeltaApplier, replay_changes, resync_changes
from kinform.informers.store._entries import HandleAdapter
from kinform.objects import Unstructured
from tests.support.answers import pod


def obj(name: str, rv: str = "1", uid: str = "") -> Unstructured:
    tree = pod(name, rv=rv)
    if uid:
        tree["metadata"]["uid"] = uid
    return Unstructured(tree)


def put(kind: DeltaType, what: Unstructured) -> Delta[Unstructured]:
    return Delta(kind, what, what.key)


def gone(name: str, last: Unstructured | None, *, unknown: bool = False) -> Delta[Unstructured]:
    key = f"default/{name}"
    return Delta(DeltaType.DELETED, DeletedObject(key, last, unknown), key)


class Applied:
    """A table with ``a`` at version 1, and what applying deltas to it tells."""

    def __init__(self) -> None:
        self.indexer: Indexer[Unstructured] = Indexer(Unstructured)
        self.indexer.add(obj("a"))
        self._applying = DeltaApplier(self.indexer.table, HandleAdapter(Unstructured))

    def changes(self, *deltas: Delta[Unstructured]) -> list[str]:
        return self._tell(Deltas(deltas))

    def replace(
        self,
        *deltas: Delta[Unstructured],
        initial: bool = False,
        unchanged: bool = False,
        rv: str = "9",
    ) -> list[str]:
        made = Deltas.of(DeltasKind.REPLACE, list(deltas), resource_version=rv)
        return self._tell(made, initial=initial, unchanged=unchanged)

    def other(self, kind: DeltasKind, rv: str = "") -> list[str]:
        return self._tell(Deltas.of(kind, [], resource_version=rv))

    def _tell(
        self, deltas: Deltas[Unstructured], *, initial: bool = False, unchanged: bool = False
    ) -> list[str]:
        source = ChangeSource.INITIAL if initial else ChangeSource.RELIST
        self.told = self._applying.apply(deltas, list_source=source, unchanged=unchanged)
        return [line(change) for change in self.told]


def line(change: Change) -> str:
    states = [each.head.resource_version if each else "-" for each in (change.old, change.new)]
    return f"{change.type.value.lower()} {change.key.split('/')[1]} {' '.join(states)}"


@pytest.fixture
def table() -> Applied:
    return Applied()


@pytest.mark.parametrize("kind", [DeltaType.ADDED, DeltaType.UPDATED])
def test_it_is_the_table_that_decides_what_is_an_addition(table: Applied, kind: DeltaType) -> None:
    assert table.changes(put(kind, obj("a", "2")), put(kind, obj("b", "3"))) == [
        "updated a 1 2",
        "added b - 3",
    ]
    assert {change.source for change in table.told} == {ChangeSource.WATCH}
    assert table.indexer.resource_version == "3"


def test_a_deletion_brings_the_last_state_beside_the_one_that_was_known(table: Applied) -> None:
    assert table.changes(gone("a", obj("a", "2"))) == ["deleted a 1 2"]
    assert len(table.indexer) == 0
    assert table.indexer.resource_version == "2"


def test_a_deletion_without_a_last_state_has_what_was_known(table: Applied) -> None:
    assert table.changes(gone("a", None, unknown=True)) == ["deleted a 1 -"]


def test_what_nobody_was_told_of_ends_without_a_word(table: Applied) -> None:
    assert table.changes(gone("never", None, unknown=True)) == []


def test_a_deletion_of_what_was_never_seen_is_told_with_the_state_it_brings(
    table: Applied,
) -> None:
    assert table.changes(gone("x", obj("x", "5"))) == ["deleted x - 5"]
    assert table.changes(gone("y", obj("y", "6"), unknown=True)) == ["deleted y 6 -"]


def test_another_uid_is_another_object(table: Applied) -> None:
    reborn = obj("a", "2", uid="another")
    assert table.changes(put(DeltaType.UPDATED, reborn)) == ["deleted a 1 -", "added a - 2"]
    assert table.replace(put(DeltaType.REPLACED, obj("a", "3"))) == [
        "deleted a 2 -",
        "added a - 3",
    ]


def test_another_uid_with_the_same_version_is_another_object_still(table: Applied) -> None:
    reborn = obj("a", "1", uid="another")
    assert table.replace(put(DeltaType.REPLACED, reborn)) == ["deleted a 1 -", "added a - 1"]


def test_an_object_without_a_uid_is_taken_for_the_same(table: Applied) -> None:
    tree = pod("a", rv="2")
    del tree["metadata"]["uid"]
    assert table.changes(put(DeltaType.UPDATED, Unstructured(tree))) == ["updated a 1 2"]


@pytest.mark.parametrize("unchanged", [True, False])
def test_a_list_tells_what_is_gone_new_and_changed(table: Applied, unchanged: bool) -> None:
    table.indexer.add(obj("b", "2"))
    table.indexer.add(obj("c", "3"))
    told = table.replace(
        gone("b", None, unknown=True),
        put(DeltaType.REPLACED, obj("a", "1")),
        put(DeltaType.REPLACED, obj("c", "4")),
        put(DeltaType.REPLACED, obj("d", "5")),
        unchanged=unchanged,
    )

    assert told == [
        "deleted b 2 -",
        *(["updated a 1 1"] if unchanged else []),
        "updated c 3 4",
        "added d - 5",
    ]
    assert {change.source for change in table.told} == {ChangeSource.RELIST}
    assert table.indexer.resource_version == "9"
    assert sorted(table.indexer.list_keys()) == ["default/a", "default/c", "default/d"]


def test_objects_without_a_version_are_the_same_if_their_bytes_are(table: Applied) -> None:
    table.changes(put(DeltaType.UPDATED, obj("a", "")))
    assert table.replace(put(DeltaType.REPLACED, obj("a", ""))) == []
    changed = obj("a", "").copy()
    changed["spec"] = {"other": True}
    assert table.replace(put(DeltaType.REPLACED, changed)) == ["updated a  "]


def test_the_first_list_says_that_it_is(table: Applied) -> None:
    table.replace(put(DeltaType.REPLACED, obj("x", "5")), initial=True)
    assert [change.source for change in table.told] == [ChangeSource.INITIAL]


def test_a_bookmark_moves_the_version_alone(table: Applied) -> None:
    assert table.other(DeltasKind.BOOKMARK, "77") == []
    assert table.indexer.resource_version == "77"
    assert len(table.indexer) == 1


def test_a_resync_is_an_update_of_everything_to_the_same(table: Applied) -> None:
    assert table.other(DeltasKind.RESYNC) == ["updated a 1 1"]
    assert table.told[0].source is ChangeSource.RESYNC


def test_replays_and_reminders_are_of_what_is_there_now(table: Applied) -> None:
    table.changes(put(DeltaType.ADDED, obj("b", "2")))
    replay = replay_changes(table.indexer.table)
    table.changes(gone("a", obj("a", "3")))
    reminder = resync_changes(table.indexer.table)

    assert [line(change) for change in replay] == ["added a - 1", "added b - 2"]
    assert {change.source for change in replay} == {ChangeSource.REPLAY}
    assert [line(change) for change in reminder] == ["updated b 2 2"]
    assert {change.type for change in reminder} == {ChangeType.UPDATED}
