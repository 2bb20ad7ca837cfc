"""The seam itself: heads, forms that are made of others, and what is said of broken bytes."""

from __future__ import annotations

import json

import pytest

from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.informers import label_index
from kinform.models.core.v1 import ConfigMap
from kinform.objects import JSON, PARTIAL_JSON, PartialObjectMetadata, Record, Unstructured
from kinform.protobuf import ProtobufCodec, codec_for
from tests.unit.protobuf.sample import POD, config_map, metadata, put, status

pytestmark = pytest.mark.usefixtures("either_way")

NEWER = put(1000, "a field of tomorrow")


def codec(kind: str) -> ProtobufCodec:
    found = codec_for(GVK("", "v1", kind))
    assert found is not None
    return found


def test_there_is_one_codec_a_kind_and_none_for_strangers() -> None:
    assert codec("Pod") is codec("Pod")
    assert codec("Pod") is not codec("Node")
    for gvk in (GVK("", "v1", "Nonsense"), GVK("example.com", "v1", "Pod"), GVK("", "v2", "Pod")):
        assert codec_for(gvk) is None


def test_a_head_is_what_json_gives() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", **POD.tree}).encode()
    head, gvk = codec("Pod").read_head(POD.message)
    assert (head, gvk) == JSON.read_head(text)
    assert head.controller_uid == "uid-web"
    assert head.deletion_timestamp == "2026-01-02T03:04:06Z"


def test_the_metadata_of_a_status_is_not_taken_for_that_of_an_object() -> None:
    raw = put(1, put(1, "link") + put(2, "9") + put(3, "token")) + put(2, "Failure")
    head, _ = codec("Status").read_head(raw)
    assert (head.name, head.namespace, head.resource_version) == ("", "", "9")
    with pytest.raises(DecodeError, match="no metadata"):
        codec("PodExecOptions").read_head(put(1, put(1, "x")))


def test_other_forms_are_views_over_the_same_record() -> None:
    record = Record.read(POD.message, codec("Pod"))
    untyped = Unstructured.over(record)
    assert untyped["spec"] == POD.tree["spec"]
    assert untyped.get_path("spec.containers.0.image") == "web:1"
    assert untyped.to_dict() == {"apiVersion": "v1", "kind": "Pod", **POD.tree}
    bare = PartialObjectMetadata.over(record)
    assert bare.annotations == {"note": ""}
    assert set(bare) == {"apiVersion", "kind", "metadata"}
    kept = PartialObjectMetadata.over(record.only_metadata())
    assert kept.metadata == POD.tree["metadata"]
    assert kept.kind == "PartialObjectMetadata"


def test_selectors_and_indexes_read_heads_of_either_form() -> None:
    index = label_index("app")
    record = Record.read(config_map("a", labels={"app": "web"}), codec("ConfigMap"))
    assert list(index(ConfigMap.over(record))) == ["web"]
    assert ConfigMap.over(record).labels == {"app": "web"}


def test_a_copy_knows_whether_it_is_all_of_the_object() -> None:
    assert codec("ConfigMap").editable(config_map("a"))[0] is JSON
    deeper = put(1, metadata("a", more=NEWER))
    for message in (config_map("a") + NEWER, deeper):
        assert codec("ConfigMap").editable(message)[0] is PARTIAL_JSON


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_an_object_that_was_cut_off_is_called_by_its_name(cut: int) -> None:
    message = config_map("a", rv="12")[:-cut]
    for read in (codec("ConfigMap").read_head, codec("ConfigMap").decode):
        with pytest.raises(DecodeError, match="ConfigMap 'default/a'") as caught:
            read(message)
        assert (caught.value.key, caught.value.resource_version) == ("default/a", "12")


@pytest.mark.parametrize(
    "message",
    [b"\xff", b"\x0a", b"\x0a\xff\xff\xff\xff\xff\xff", b"\x0a\x7f", b"\x0b", status(1, "", "")],
)
def test_bytes_that_are_nothing_are_an_error_of_ours(message: bytes) -> None:
    for read in (
        codec("Pod").read_head,
        codec("Pod").decode,
        codec("Pod").keep_metadata,
        codec("Pod").editable,
    ):
        with pytest.raises(DecodeError):
            read(message)
