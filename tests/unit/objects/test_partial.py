"""An object of which only the metadata is seen, whatever the bytes behind it hold."""

from __future__ import annotations

import pytest

from kinform.api import GVK
from kinform.objects import PartialObjectMetadata, Record, Unstructured
from tests.support.objects import CountingCodec, payload_of, pod_tree, record_of


def test_a_metadata_view_of_a_whole_object_shows_kind_and_metadata_only() -> None:
    record = record_of(pod_tree())
    partial = PartialObjectMetadata.over(record)
    shown = {part: pod_tree()[part] for part in ("apiVersion", "kind", "metadata")}
    assert partial == shown
    assert partial.to_dict() == shown
    assert list(partial) == ["apiVersion", "kind", "metadata"]
    assert "spec" not in partial
    assert partial.get_path("spec.nodeName") is None
    with pytest.raises(KeyError):
        partial["spec"]
    assert (partial.name, partial.labels["app"], partial.annotations["note"]) == (
        "web-1",
        "web",
        "first",
    )


def test_a_metadata_view_never_decodes_the_rest() -> None:
    codec = CountingCodec()
    partial = PartialObjectMetadata.over(Record.read(payload_of(pod_tree()), codec))
    codec.calls.clear()
    partial.copy()
    len(partial)
    assert set(codec.calls) == {"metadata"}


def test_a_metadata_view_and_a_whole_view_of_one_record_say_different_things() -> None:
    record = record_of(pod_tree())
    assert PartialObjectMetadata.over(record) != Unstructured.over(record)
    assert PartialObjectMetadata.over(record) == PartialObjectMetadata.over(record)


def test_what_the_server_sends_as_partial_keeps_its_own_kind() -> None:
    record = record_of(pod_tree()).only_metadata()
    partial = PartialObjectMetadata.over(record)
    assert partial.gvk == GVK.of("meta.k8s.io/v1", "PartialObjectMetadata")
    assert partial["metadata"] == pod_tree()["metadata"]
    assert repr(partial).startswith("<PartialObjectMetadata meta.k8s.io/v1/PartialObjectMetadata")
