"""Records: read once, never changed, and honest about the memory that they hold."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from kinform.errors import DecodeError
from kinform.objects import JSON, Record, Unstructured
from tests.support.objects import POD, payload_of, pod_tree, record_of


def test_a_record_keeps_the_bytes_as_they_came() -> None:
    payload = payload_of(pod_tree()).replace(b", ", b" ,\n")
    record = Record.read(payload, JSON)
    assert record.payload is payload
    assert record.gvk == POD
    assert record.head.key == "default/web-1"


def test_an_object_without_a_kind_needs_someone_who_knows_it() -> None:
    payload = b'{"metadata":{"name":"a","namespace":"b"}}'
    assert Record.read(payload, JSON, default_gvk=POD).gvk == POD
    with pytest.raises(DecodeError, match="object 'b/a' does not contain its kind"):
        Record.read(payload, JSON)


def test_records_of_one_kind_share_the_kind() -> None:
    assert record_of(pod_tree("a")).gvk is record_of(pod_tree("b")).gvk


def test_a_record_is_itself_and_no_other() -> None:
    record, twin = record_of(pod_tree()), record_of(pod_tree())
    assert record != twin
    assert len({record, twin}) == 2


SHAPES: dict[str, dict[str, Any]] = {
    "bare": {},
    "short keys": {"labels": {"app": "web", "tier": "front"}},
    "many labels": {"labels": {f"example.com/label-{n}": f"value-{n}" for n in range(12)}},
    "long keys": {"labels": {f"a-rather-long-prefix.example.com/label-{n}": "x" for n in range(6)}},
    "owned": {
        "ownerReferences": [
            {"uid": "b1946ac9-2d4c-4ba3-9e0b-000000000001", "controller": True, "kind": "A"},
            {"uid": "b1946ac9-2d4c-4ba3-9e0b-000000000002", "kind": "B"},
        ]
    },
    "going": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    "unicode": {"namespace": "größe", "labels": {"app": "größe"}},
}


@pytest.mark.parametrize("size", [0, 9_000])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_memory_figures_add_up_to_what_is_allocated(shape: dict[str, Any], size: int) -> None:
    texts = [
        payload_of(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"web-{number:05}",
                    "namespace": "default",
                    "uid": f"b1946ac9-2d4c-4ba3-9e0b-{number:012}",
                    "resourceVersion": str(100_000 + number),
                }
                | shape,
                "spec": {"text": "x" * size},
            }
        )
        for number in range(2_000)
    ]
    records: list[Record | None] = [None] * len(texts)
    Record.read(texts[0], JSON)
    gc.collect()
    tracemalloc.start()
    try:
        for index, text in enumerate(texts):
            records[index] = Record.read(bytes(bytearray(text)), JSON)
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    told = sum(record.memory for record in records if record is not None)
    assert told == pytest.approx(allocated, rel=0.05)


def test_reading_through_handles_does_not_grow_a_record() -> None:
    record = record_of(pod_tree())
    before = record.memory
    handles = [Unstructured.over(record) for _ in range(3)]
    for handle in handles:
        handle.to_dict()
        list(handle.values())
    assert record.memory == before
    assert {handle.memory for handle in handles} == {before}
