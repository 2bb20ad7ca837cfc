"""The numbers of a store: kept by its changes, and always those that a count would give."""

from __future__ import annotations

import random

from kinform.informers import (
    ChangeSource,
    DeletedObject,
    Delta,
    Deltas,
    DeltasKind,
    DeltaType,
    Indexer,
)
from kinform.informers._delta_applier import DeltaApplier
from kinform.informers._store_metrics import StoreMetrics
from kinform.informers.store._entries import HandleAdapter
from kinform.metrics import NO_METRICS, NoMetrics
from kinform.objects import Unstructured
from tests.support.answers import pod


class Sizes(NoMetrics):
    def __init__(self) -> None:
        self.store: list[tuple[str, int, int, str]] = []
        self.depths: list[int] = []
        self.seconds: list[float] = []
        self.stopped: list[str] = []

    def store_changed(self, informer: str, objects: int, bytes: int, resource_version: str) -> None:
        self.store.append((informer, objects, bytes, resource_version))

    def queue_depth(self, informer: str, depth: int) -> None:
        self.depths.append(depth)

    def processed(self, informer: str, seconds: float) -> None:
        self.seconds.append(seconds)

    def informer_stopped(self, informer: str) -> None:
        self.stopped.append(informer)


class Counted:
    """A table that deltas are applied to and counted for, as an informer does it."""

    def __init__(self) -> None:
        self.metrics = Sizes()
        self.indexer: Indexer[Unstructured] = Indexer(Unstructured)
        self.counting = StoreMetrics("pods", self.indexer.table, self.metrics)
        self._applying = DeltaApplier(self.indexer.table, HandleAdapter(Unstructured))

    def apply(self, kind: DeltasKind, *deltas: Delta[Unstructured], rv: str = "") -> None:
        made = Deltas.of(kind, list(deltas), resource_version=rv)
        changes = self._applying.apply(made, list_source=ChangeSource.RELIST, unchanged=False)
        is_list = kind is DeltasKind.REPLACE
        self.counting.applied(changes, is_list=is_list, queue_depth=3, seconds=0.5)


def put(kind: DeltaType, name: str, rv: int, size: int = 0) -> Delta[Unstructured]:
    obj = Unstructured(pod(name, rv=str(rv), spec={"text": "x" * size}))
    return Delta(kind, obj, obj.key)


def gone(name: str, rv: int, size: int = 0) -> Delta[Unstructured]:
    last = put(DeltaType.DELETED, name, rv, size)
    assert isinstance(last.object, Unstructured)
    return Delta(DeltaType.DELETED, DeletedObject(last.key, last.object), last.key)


def test_the_bytes_are_right_after_any_history() -> None:
    counted, dice = Counted(), random.Random(4)
    listed = [put(DeltaType.REPLACED, f"n{number}", 1, number) for number in range(20)]
    counted.apply(DeltasKind.REPLACE, *listed, rv="1")
    for rv in range(2, 400):
        name, size = f"n{dice.randrange(30)}", dice.randrange(3000)
        if dice.random() < 0.3:
            counted.apply(DeltasKind.CHANGES, gone(name, rv, size))
        else:
            counted.apply(DeltasKind.CHANGES, put(DeltaType.UPDATED, name, rv, size))
        assert counted.metrics.store[-1] == (
            "pods",
            len(counted.indexer),
            counted.indexer.memory,
            counted.indexer.resource_version,
        )


def test_a_list_with_nothing_new_leaves_the_bytes_as_they_are() -> None:
    counted = Counted()
    counted.apply(DeltasKind.REPLACE, put(DeltaType.REPLACED, "a", 1, 500), rv="1")
    counted.apply(DeltasKind.REPLACE, put(DeltaType.REPLACED, "a", 1, 500), rv="2")

    first, second = counted.metrics.store
    assert first[1:3] == second[1:3]
    assert second[3] == "2"


def test_another_object_under_the_same_name_takes_its_place() -> None:
    counted = Counted()
    counted.apply(DeltasKind.CHANGES, put(DeltaType.ADDED, "a", 1, 1000))
    tree = pod("a", rv="2")
    tree["metadata"]["uid"] = "another"
    reborn = Unstructured(tree)
    counted.apply(DeltasKind.CHANGES, Delta(DeltaType.UPDATED, reborn, reborn.key))

    assert counted.metrics.store[-1][1:3] == (1, counted.indexer.memory)


def test_queue_and_time_are_passed_on_and_the_end_is_told() -> None:
    counted = Counted()
    counted.apply(DeltasKind.BOOKMARK, rv="5")
    counted.counting.stopped()

    assert (counted.metrics.depths, counted.metrics.seconds) == ([3], [0.5])
    assert counted.metrics.store == [("pods", 0, 0, "5")]
    assert counted.metrics.stopped == ["pods"]


def test_nothing_is_counted_for_nobody() -> None:
    indexer: Indexer[Unstructured] = Indexer(Unstructured)
    assert not StoreMetrics("pods", indexer.table, NO_METRICS).is_enabled
    assert StoreMetrics("pods", indexer.table, NoMetrics()).is_enabled
