"""The JSON codec: heads, parts and wholes out of bytes, and a clear no to anything else."""

from __future__ import annotations

import datetime
import json
import math
import pickle
from types import MappingProxyType
from typing import Any

import pytest

from kinform.api import GVK
from kinform.errors import DecodeError, EncodeError
from kinform.objects import JSON, JsonCodec, Record
from tests.support.objects import POD, payload_of, pod_tree

PAYLOAD = payload_of(pod_tree())
DEEP = 200_000


def test_the_head_holds_what_keys_indexes_and_selectors_need() -> None:
    head, gvk = JSON.read_head(PAYLOAD)
    assert gvk == POD
    assert head.key == "default/web-1"
    assert head.uid == "b1946ac9-2d4c-4ba3-9e0b-000000000001"
    assert (head.resource_version, head.generation) == ("1042", 3)
    assert head.deletion_timestamp is None
    assert head.labels == {"app": "web", "app.kubernetes.io/part-of": "shop"}
    assert head.owner_uids == ("u-rs", "u-j")
    assert head.controller_uid == "u-j"


def test_a_bare_head_has_empty_everything() -> None:
    head, gvk = JSON.read_head(b'{"metadata":{}}')
    assert gvk is None
    assert (head.key, head.uid, head.resource_version, head.generation) == ("", "", "", 0)
    assert (head.labels, head.owner_uids, head.controller_uid) == ({}, (), None)


def test_nulls_where_servers_write_them_are_absence() -> None:
    metadata = {
        "name": "a",
        "labels": None,
        "ownerReferences": None,
        "deletionTimestamp": None,
        "creationTimestamp": None,
    }
    head, _ = JSON.read_head(payload_of({"metadata": metadata}))
    assert (head.labels, head.owner_uids, head.deletion_timestamp) == ({}, (), None)


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        (b"", "0 bytes"),
        (b"<html><body>502 Bad Gateway</body></html>", "begins b'<html><body>502"),
        (b"null", "got `null`"),
        (b"[]", "got `array`"),
        (b'{"metadata":', "truncated"),
        (b"{}", "missing required field `metadata`"),
        (b'{"metadata":null}', "$.metadata"),
        (b'{"metadata":{"name":7}}', "$.metadata.name"),
        (b'{"kind":"Pod","metadata":{"name":"a"}}', "'' is not an apiVersion"),
        (b'{"kind":"Pod","apiVersion":"a/b/c","metadata":{}}', "'a/b/c' is not an apiVersion"),
        (b'{"kind":"My Pod","apiVersion":"v1","metadata":{}}', "cannot be a kind"),
        (b'{"metadata":{"name":"\xff"}}', "utf-8"),
        (b'{"metadata":{},"spec":' + b"[" * DEEP, "recursion"),
        (b'{"metadata":{}} trailing', "trailing characters"),
        (b'{"metadata":{},"spec":{]}}', "malformed"),
    ],
)
def test_what_is_no_object_has_no_head(payload: bytes, complaint: str) -> None:
    with pytest.raises(DecodeError) as caught:
        JSON.read_head(payload)
    assert complaint in str(caught.value)
    assert len(str(caught.value)) < 400
    assert caught.value.__cause__ is not None


def test_an_object_with_a_bad_head_is_named() -> None:
    tree = pod_tree()
    tree["metadata"]["labels"] = {"app": 7}
    with pytest.raises(DecodeError, match=r"Pod 'default/web-1' .*\$\.metadata\.labels"):
        JSON.read_head(payload_of(tree))


@pytest.mark.parametrize(
    ("metadata", "key", "resource_version"),
    [
        ({"name": "a", "namespace": "n", "resourceVersion": "7", "labels": 1}, "n/a", "7"),
        ({"name": "a", "labels": 1}, "a", ""),
        ({"namespace": "n", "resourceVersion": "7", "labels": 1}, "", "7"),
        ({"name": 7, "namespace": "n", "resourceVersion": ["7"]}, "", ""),
    ],
)
def test_an_error_carries_key_and_version_as_far_as_they_can_be_read(
    metadata: dict[str, Any], key: str, resource_version: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        JSON.read_head(payload_of({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}))
    assert (caught.value.key, caught.value.resource_version) == (key, resource_version)


def test_an_object_that_breaks_below_its_head_still_says_whose_it_is() -> None:
    metadata = b'{"name":"a","namespace":"n","resourceVersion":"7"}'
    broken = b'{"kind":"Pod","apiVersion":"v1","metadata":' + metadata + b',"spec":"\xff"}'
    for decode in (JSON.decode, lambda payload: JSON.decode_part(payload, "spec")):
        with pytest.raises(DecodeError) as caught:
            decode(broken)
        assert (caught.value.key, caught.value.resource_version) == ("n/a", "7")


def test_bytes_that_are_no_json_have_no_key() -> None:
    with pytest.raises(DecodeError) as caught:
        JSON.read_head(b'{"metadata":{"name":"a","resourceVersion":"7"}')
    assert (caught.value.key, caught.value.resource_version) == ("", "")


def test_a_record_without_a_kind_says_whose_it_is() -> None:
    with pytest.raises(DecodeError, match="does not contain its kind") as caught:
        Record.read(b'{"metadata":{"name":"a","namespace":"n","resourceVersion":"7"}}', JSON)
    assert (caught.value.key, caught.value.resource_version) == ("n/a", "7")


def test_an_error_never_quotes_what_may_be_a_secret() -> None:
    broken = b'{"apiVersion":"v1","data":{"password":"aHVudGVyMg=="},"kind":"Secret"'
    for decode in (JSON.read_head, JSON.decode, JSON.keep_metadata):
        with pytest.raises(DecodeError) as caught:
            decode(broken)
        assert "aHVudGVyMg" not in str(caught.value)


def test_a_part_is_decoded_alone() -> None:
    assert JSON.decode_part(PAYLOAD, "status") == pod_tree()["status"]
    broken_spec = b'{"metadata":{},"spec":"\xff","status":{"phase":"Running"}}'
    assert JSON.decode_part(broken_spec, "status") == {"phase": "Running"}


def test_an_absent_part_and_a_null_one_are_told_apart() -> None:
    assert JSON.decode_part(b'{"metadata":{},"spec":null}', "spec") is None
    with pytest.raises(KeyError, match="spec"):
        JSON.decode_part(b'{"metadata":{}}', "spec")


@pytest.mark.parametrize("part", ["", 'a"b', "a\\b", "a\nb", "é", "value", "__slots__", "x.y/z"])
def test_a_part_may_have_any_name(part: str) -> None:
    payload = payload_of({"metadata": {}, part: [7]})
    assert JSON.decode_part(payload, part) == [7]
    with pytest.raises(KeyError):
        JSON.decode_part(b'{"metadata":{}}', part)


def test_each_decode_is_fresh() -> None:
    first, second = JSON.decode_part(PAYLOAD, "spec"), JSON.decode_part(PAYLOAD, "spec")
    first["containers"].clear()
    assert second == pod_tree()["spec"]
    assert JSON.decode(PAYLOAD) is not JSON.decode(PAYLOAD)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b'{"spec":"\xff"}',
        b'{"spec":1e999}',
        b'{"spec":' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"spec":',
    ],
)
def test_bytes_that_are_no_json_object_do_not_decode(payload: bytes) -> None:
    with pytest.raises(DecodeError, match="does not decode"):
        JSON.decode(payload)
    with pytest.raises(DecodeError, match=r"'spec' of .* does not decode"):
        JSON.decode_part(payload, "spec")


def test_what_is_encoded_comes_back_the_same() -> None:
    tree = pod_tree() | {"big": 2**70, "text": "é\u0085\U0001f600\x00", "tiny": 5e-324}
    assert JSON.decode(JSON.encode(tree)) == tree
    assert json.loads(JSON.encode(tree)) == tree


@pytest.mark.parametrize(
    ("tree", "complaint"),
    [
        ({"spec": {"when": datetime.datetime(2026, 1, 1)}}, "spec.when is a datetime"),
        ({"spec": {"hosts": [{"a", "b"}]}}, "spec.hosts.0 is a set"),
        ({"data": {"key": b"raw"}}, "data.key is a bytes"),
        ({"spec": {"ratio": math.nan}}, "spec.ratio is nan"),
        ({"spec": [math.inf]}, "spec.0 is inf"),
        ({"spec": {"ports": {80: "http"}}}, "spec.ports has the key 80"),
        ({None: 1}, "the object has the key None"),
        ({"spec": object()}, "spec is a object"),
        ({"spec": MappingProxyType({})}, "spec is a mappingproxy"),
        ({"spec": "\ud800"}, "surrogates"),
        (set(), "the object is a set"),
    ],
)
def test_what_json_cannot_say_is_refused_by_its_path(tree: Any, complaint: str) -> None:
    with pytest.raises(EncodeError) as caught:
        JSON.encode(tree)
    assert complaint in str(caught.value)


def test_an_object_that_contains_itself_is_refused() -> None:
    tree: dict[str, Any] = {"spec": {}}
    tree["spec"]["again"] = tree
    with pytest.raises(EncodeError, match="contains itself"):
        JSON.encode(tree)


def test_a_list_can_be_a_body_for_a_json_patch_is_one() -> None:
    assert JSON.encode([{"op": "remove", "path": "/spec"}]) == b'[{"op":"remove","path":"/spec"}]'


def test_metadata_is_kept_to_the_byte_and_the_rest_dropped() -> None:
    codec, kept = JSON.keep_metadata(b'{"spec":{},"metadata":{"name":"a" , "x":1.0},"kind":"Pod"}')
    assert codec is JSON
    assert b'{"name":"a" , "x":1.0}' in kept
    assert JSON.decode(kept) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "a", "x": 1.0},
    }
    assert JSON.read_head(kept)[1] == GVK.of("meta.k8s.io/v1", "PartialObjectMetadata")


@pytest.mark.parametrize("payload", [b"{}", b"", b"[]", b'{"kind":"Pod"}'])
def test_there_is_no_metadata_to_keep_where_there_is_none(payload: bytes) -> None:
    with pytest.raises(DecodeError, match="no metadata to keep"):
        JSON.keep_metadata(payload)


def test_the_codec_survives_a_process_boundary() -> None:
    twin = pickle.loads(pickle.dumps(JSON))
    assert isinstance(twin, JsonCodec)
    assert twin.decode(PAYLOAD) == pod_tree()
