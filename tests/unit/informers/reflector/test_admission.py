"""Before any store: what is taken in, changed once, kept from before, or put away."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.informers import ExpiringStore, Indexer, Store
from kinform.informers.reflector import Admission, PlainStoreTarget, StoreTarget
from kinform.objects import PartialObjectMetadata, Record, Unstructured
from tests.support.answers import pod
from tests.support.objects import record_of


def labelled(obj: Unstructured) -> None:
    obj.metadata["labels"] = {"seen": "yes"}


class StoreMetrics:
    """A transform that knows how often it ran."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, obj: Unstructured) -> None:
        self.calls.append(f"{obj.name} {obj.resource_version}")
        labelled(obj)


def record(name: str = "a", rv: str = "1", **more: Any) -> Record:
    return record_of(pod(name, rv=rv, **more))


def test_without_a_transform_the_very_record_is_admitted() -> None:
    arrived = record()
    admitted = Admission(Unstructured).admit(arrived)
    assert admitted is not None
    assert admitted.record is arrived


def test_it_comes_out_in_its_form() -> None:
    assert isinstance(Admission(PartialObjectMetadata).admit(record()), PartialObjectMetadata)


def test_a_transform_may_edit_in_place_or_return_another() -> None:
    def replace(obj: Unstructured) -> Unstructured:
        return Unstructured({**obj.to_dict(), "spec": {"small": True}})

    edited = Admission(Unstructured, transform=labelled).admit(record())
    replaced = Admission(Unstructured, transform=replace).admit(record())
    assert edited is not None
    assert replaced is not None
    assert edited.labels == {"seen": "yes"}
    assert replaced["spec"] == {"small": True}


def test_the_record_that_arrived_is_not_what_a_transform_edits() -> None:
    arrived = record()
    before = arrived.payload
    Admission(Unstructured, transform=labelled).admit(arrived)
    assert arrived.payload == before


@pytest.mark.parametrize(
    "transform",
    [
        lambda obj: 1 / 0,
        lambda obj: "a string",
        lambda obj: obj.metadata.update(name="other"),
        lambda obj: obj.metadata.update(namespace="other"),
        lambda obj: obj.metadata.update(uid="other"),
        lambda obj: obj.metadata.pop("resourceVersion") and None,
    ],
    ids=["raises", "no object", "name", "namespace", "uid", "version"],
)
def test_a_transform_that_breaks_an_object_puts_it_away(transform: Any) -> None:
    admission = Admission(Unstructured, transform=transform)
    assert admission.admit(record("a", "7")) is None
    put = admission.quarantine["default/a"]
    assert put.resource_version == "7"
    assert "default/a" in str(put.error)


def test_an_object_that_becomes_readable_leaves_quarantine() -> None:
    for transform in (None, labelled):
        admission = Admission(Unstructured, transform=transform)
        admission.refuse(DecodeError("bad", key="default/a"), b"{")
        assert "default/a" in admission.quarantine
        admission.admit(record("a", "8"))
        assert not admission.quarantine


def test_a_listed_object_that_is_known_in_this_version_keeps_its_bytes() -> None:
    store = Store()
    transform = StoreMetrics()
    admission = Admission(Unstructured, transform=transform, known=store.table)
    first = admission.admit_listed(record("a", "1"))
    assert first is not None
    store.add(Unstructured.over(first))
    admission.list_finished(())

    again = admission.admit_listed(record("a", "1"))
    assert again is not None
    assert again is first
    newer = admission.admit_listed(record("a", "2"))
    assert newer is not None
    assert newer.head.resource_version == "2"
    assert transform.calls == ["a 1", "a 2"]


def test_another_object_of_the_same_name_and_version_is_another() -> None:
    store = Store()
    store.add(Unstructured.over(record("a", "1")))
    reborn = pod("a", rv="1")
    reborn["metadata"]["uid"] = "another"
    admitted = Admission(Unstructured, known=store.table).admit_listed(record_of(reborn))
    assert admitted is not None
    assert admitted.head.uid == "another"


def test_objects_without_a_version_are_never_the_same() -> None:
    store = Store()
    store.add(Unstructured.over(record("a", "", spec={"old": True})))
    fresh = record("a", "", spec={"new": True})
    admitted = Admission(Unstructured, known=store.table).admit_listed(fresh)
    assert admitted is not None
    assert admitted is fresh


def test_what_a_broken_list_had_transformed_is_not_transformed_again() -> None:
    transform = StoreMetrics()
    admission = Admission(Unstructured, transform=transform)
    for _ in range(2):  # the first list broke off after this object
        admission.admit_listed(record("a", "1"))
    assert transform.calls == ["a 1"]
    admission.list_finished(())
    admission.admit_listed(record("a", "1"))
    assert transform.calls == ["a 1", "a 1"]


def test_a_known_version_is_well_even_if_it_was_put_away_meanwhile() -> None:
    store = Store()
    store.add(Unstructured.over(record("a", "1")))
    admission = Admission(Unstructured, known=store.table)
    admission.refuse(DecodeError("bad", key="default/a"), b"{")
    assert admission.admit_listed(record("a", "1")) is not None
    assert not admission.quarantine


def test_the_last_good_state_is_what_the_store_has() -> None:
    store = Store()
    store.add(Unstructured.over(record("a", "1")))
    admission = Admission(Unstructured, known=store.table)
    good = admission.last_good("default/a")
    assert good is not None
    assert good.head.resource_version == "1"
    assert admission.last_good("default/b") is None
    assert Admission(Unstructured).last_good("default/a") is None


def test_tables_and_strangers_are_left_out() -> None:
    table = record_of({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}})
    own_table = record_of({"kind": "Table", "apiVersion": "shop.test/v1", "metadata": {}})
    anything = Admission(Unstructured)
    assert not anything.is_expected(table)
    assert anything.is_expected(own_table)
    assert anything.is_expected(record())
    only_pods = Admission(Unstructured, expected_kind=GVK("", "v1", "Pod"))
    assert only_pods.is_expected(record())
    assert not only_pods.is_expected(own_table)


def test_only_stores_of_kubernetes_objects_have_known_records() -> None:
    assert StoreTarget(Store()).known_records() is not None
    assert StoreTarget(Indexer(Unstructured)).known_records() is not None
    assert StoreTarget(Store(key_func=str)).known_records() is None
    assert PlainStoreTarget(ExpiringStore(Unstructured, ttl=1)).known_records() is None
