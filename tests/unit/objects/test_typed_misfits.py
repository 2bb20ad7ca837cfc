"""One wrong value in an object: an error that says where, and everything else still readable."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.errors import DecodeError
from kinform.informers import Indexer
from kinform.models.apps.v1 import StatefulSet
from kinform.models.core.v1 import ConfigMap, Pod
from tests.support.objects import pod_tree, record_of


def broken_pod(part: str, member: str, value: Any) -> Pod:
    tree = pod_tree()
    tree[part][member] = value
    return Pod.over(record_of(tree))


def test_the_error_names_the_object_and_the_path() -> None:
    handle = broken_pod("spec", "containers", [{"name": "a"}, {"ports": [{"hostPort": "x"}]}])
    place = r"<Pod v1/Pod default/web-1 rv=1042>: spec\.containers\[1\]\.ports\[0\]\.hostPort: "
    for _ in range(2):
        with pytest.raises(DecodeError, match=f"^{place}expected int, got str$"):
            _ = handle.spec


def test_the_other_parts_and_the_whole_tree_can_be_read() -> None:
    handle = broken_pod("spec", "containers", "none")
    with pytest.raises(DecodeError, match=r"spec\.containers"):
        _ = handle.spec
    assert handle.status.phase == "Running"
    assert handle.metadata.annotations == {"note": "first"}
    assert handle.to_dict()["spec"]["containers"] == "none"
    assert handle.get_path("spec.containers") == "none"
    assert handle == handle.copy()
    assert handle.to_bytes()


def test_a_copy_can_be_edited_beside_it_and_sends_it_as_it_came() -> None:
    copied = broken_pod("spec", "containers", "none").copy()
    with pytest.raises(DecodeError, match=r"^Pod: spec\.containers: "):
        _ = copied.spec
    copied.status.phase = "Failed"
    tree = copied.to_dict()
    assert (tree["spec"]["containers"], tree["status"]["phase"]) == ("none", "Failed")


def test_a_key_of_a_map_is_named() -> None:
    handle = broken_pod("spec", "nodeSelector", {"fine": "x", "a.b/c": 5, "d": "y"})
    with pytest.raises(DecodeError, match=r"spec\.nodeSelector\[a\.b/c\]: expected str, got int"):
        _ = handle.spec


def test_a_part_that_is_something_else_altogether_is_named() -> None:
    tree = {**pod_tree(), "spec": "text"}
    with pytest.raises(DecodeError, match=r"spec: expected object \| null, got str"):
        _ = Pod.over(record_of(tree)).spec


def test_parts_that_are_decoded_together_do_not_break_together() -> None:
    tree = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"k": 1},
        "binaryData": {"b": "AA=="},
        "immutable": True,
    }
    handle = ConfigMap.over(record_of(tree))
    assert handle.immutable is True
    assert handle.binary_data == {"b": b"\x00"}
    with pytest.raises(DecodeError, match=r"data\[k\]: expected str, got int"):
        _ = handle.data


def test_an_object_with_broken_metadata_still_says_what_it_is() -> None:
    handle = broken_pod("metadata", "annotations", ["x"])
    assert repr(handle) == "<Pod v1/Pod default/web-1 rv=1042>"
    copied = handle.copy()
    assert repr(copied) == "<Pod v1/Pod broken metadata editable>"
    assert copied.spec.node_name == "node-1"
    with pytest.raises(DecodeError, match=r"metadata\.annotations: expected object, got array"):
        _ = copied.name


def test_a_store_keeps_it_and_hands_out_the_others() -> None:
    store = Indexer(Pod, indexers={"node": lambda pod: [pod.spec.node_name]})
    store.add(Pod.over(record_of(pod_tree("good"))))
    store.add(broken_pod("spec", "nodeName", 5))
    assert store.list_keys() == ["default/good", "default/web-1"]
    assert [pod.name for pod in store.by_index("node", "node-1")] == ["good"]
    (problem,) = store.index_errors.values()
    assert "spec.nodeName: expected str, got int" in str(problem)
    assert [pod.status.phase for pod in store.list()] == ["Running", "Running"]


def test_an_object_inside_is_read_by_itself() -> None:
    claims = [{"metadata": {"name": "a"}, "spec": {"accessModes": 1}}]
    tree = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "a"},
        "spec": {"volumeClaimTemplates": claims, "replicas": 2},
    }
    handle = StatefulSet.over(record_of(tree))
    assert handle.spec.replicas == 2
    assert handle.spec.volume_claim_templates[0].name == "a"
    with pytest.raises(DecodeError, match=r"PersistentVolumeClaim .*: spec\.accessModes: "):
        _ = handle.spec.volume_claim_templates[0].spec
