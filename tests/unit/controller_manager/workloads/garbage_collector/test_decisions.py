"""What to do about an object, by what has become of its owners."""

from __future__ import annotations

import pytest

from kinform.controller_manager.workloads.garbage_collector._decisions import (
    Owners,
    classify,
    way_of_deletion,
)
from kinform.models.meta.v1 import OwnerReference
from kinform.objects import PartialObjectMetadata

A, B, C = (OwnerReference(name=each, uid=each) for each in "abc")


def metadata(*finalizers: str, is_deleted: bool = False) -> PartialObjectMetadata:
    found: dict[str, object] = {"name": "x", "finalizers": list(finalizers)}
    if is_deleted:
        found["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return PartialObjectMetadata({"apiVersion": "v1", "kind": "ConfigMap", "metadata": found})


def test_owners_exist_or_are_gone_or_wait() -> None:
    found = {
        "a": metadata("foregroundDeletion"),
        "b": None,
        "c": metadata("foregroundDeletion", is_deleted=True),
    }
    assert classify([A, B, C], found) == Owners(solid=[A], gone=[B], waiting=[C])


def test_owner_that_is_being_deleted_in_the_background_still_counts() -> None:
    found = {"a": metadata("example.com/hold", is_deleted=True)}
    assert classify([A], found) == Owners(solid=[A], gone=[], waiting=[])


@pytest.mark.parametrize(
    ("finalizers", "waiting", "has_dependents", "way"),
    [
        ((), [], True, "Background"),
        ((), [C], False, "Background"),
        ((), [C], True, "Foreground"),
        (("orphan",), [], True, "Orphan"),
        (("foregroundDeletion",), [], False, "Foreground"),
        (("orphan",), [C], True, "Foreground"),
    ],
)
def test_way_of_a_deletion(
    finalizers: tuple[str, ...], waiting: list[OwnerReference], has_dependents: bool, way: str
) -> None:
    owners = Owners(solid=[], gone=[], waiting=waiting)
    found = way_of_deletion(metadata(*finalizers), owners, has_dependents=has_dependents)
    assert found == way
