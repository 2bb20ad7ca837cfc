"""Objects of known kinds: parts decoded on touch, read-only over bytes, editable when one's own."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kinform.api import GVK
from kinform.errors import DecodeError, EncodeError, ReadOnlyError
from kinform.models.apps.v1 import Deployment
from kinform.models.core.v1 import (
    ConfigMap,
    Container,
    Pod,
    PodExecOptions,
    PodSpec,
    PodStatus,
    Secret,
)
from kinform.models.meta.v1 import ObjectMeta, Status
from kinform.objects import JSON, Record, Unstructured
from tests.support.objects import CountingCodec, payload_of, pod_tree, record_of


def pod(tree: dict[str, Any] | None = None) -> Pod:
    return Pod.over(record_of(tree or pod_tree()))


class TestReading:
    def test_a_touched_part_is_the_only_one_decoded_and_only_once(self) -> None:
        codec = CountingCodec()
        handle = Pod.over(Record.read(payload_of(pod_tree()), codec))
        assert handle.status.phase == "Running"
        assert handle.status is handle.status
        assert codec.calls == ["head", "status"]

    def test_names_and_labels_cost_no_part(self) -> None:
        codec = CountingCodec()
        handle = Pod.over(Record.read(payload_of(pod_tree()), codec))
        assert (handle.name, handle.key, handle.uid[:4]) == ("web-1", "default/web-1", "b194")
        assert handle.labels["app"] == "web"
        assert handle.generation == 3
        assert codec.calls == ["head"]

    def test_small_parts_come_together_and_large_ones_apart(self) -> None:
        tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        codec = CountingCodec()
        handle = ConfigMap.over(Record.read(payload_of({**tree, "data": {"k": "v"}}), codec))
        assert (handle.data, handle.binary_data, handle.immutable) == ({"k": "v"}, {}, None)
        assert codec.calls == ["head", "immutable+data+binaryData"]

    def test_each_handle_has_parts_of_its_own(self) -> None:
        record = record_of(pod_tree())
        one, other = Pod.over(record), Pod.over(record)
        list.clear(one.spec.containers)  # as nothing but a deliberate call can
        assert len(other.spec.containers) == 2
        assert len(Pod.over(record).spec.containers) == 2

    def test_absent_parts_read_as_empty(self) -> None:
        handle = pod({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
        assert handle.spec == PodSpec()
        assert handle.status.conditions == []

    def test_a_null_part_reads_as_empty(self) -> None:
        handle = pod({**pod_tree(), "status": None})
        assert handle.status == PodStatus()
        assert handle.to_dict()["status"] is None

    def test_a_path_is_read_as_json_has_it(self) -> None:
        for handle in (pod(), pod().copy()):
            assert handle.get_path("spec.containers.0.ports.0.containerPort") == 80
            assert handle.get_path("futurePart.x.2") == "three"
            assert handle.get_path("spec.nothing", "default") == "default"
            assert handle.get_path("nothing", "default") == "default"

    def test_an_item_of_a_list_knows_its_kind_by_every_way(self) -> None:
        tree = {"metadata": {"name": "a"}}
        handle = Pod.over(record_of(tree, default_gvk=GVK.of("v1", "Pod")))
        assert (handle.kind, handle.api_version) == ("Pod", "v1")
        assert handle.get_path("kind") == "Pod"
        assert handle.to_dict() == {"apiVersion": "v1", "kind": "Pod", **tree}
        assert handle == handle.copy()


class TestReadOnly:
    def test_parts_and_names_cannot_be_set(self) -> None:
        handle = pod()
        with pytest.raises(ReadOnlyError, match=r"web-1.*copy\(\)"):
            handle.spec = PodSpec()
        with pytest.raises(ReadOnlyError, match="web-1"):
            handle.name = "b"
        with pytest.raises(ReadOnlyError, match="web-1"):
            handle.labels = {}
        with pytest.raises(ReadOnlyError):
            handle.labels["a"] = "b"

    def test_an_edit_in_place_is_told_when_it_would_be_lost(self) -> None:
        handle = pod()
        assert handle.status.phase
        list.append(handle.spec.containers, Container(name="second"))
        with pytest.raises(ReadOnlyError, match=r"web-1.*its spec was edited.*copy\(\)"):
            handle.to_bytes()

    def test_bytes_of_an_untouched_one_are_what_came(self) -> None:
        handle = pod()
        assert handle.spec.containers
        assert JSON.decode(handle.to_bytes()) == pod_tree()


class TestMaking:
    def test_by_keyword(self) -> None:
        made = Pod(
            metadata=ObjectMeta(name="a", namespace="b"),
            spec=PodSpec(containers=[Container(name="main", image="web:1")]),
        )
        assert made.to_dict() == {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "namespace": "b"},
            "spec": {"containers": [{"name": "main", "image": "web:1"}]},
        }
        assert JSON.decode(made.to_bytes()) == made
        assert (made.key, made.gvk, made.record) == ("b/a", GVK.of("v1", "Pod"), None)

    def test_a_misspelt_keyword_is_refused(self) -> None:
        with pytest.raises(TypeError, match="speck"):
            Pod(speck=PodSpec())  # type: ignore[call-arg]  # that is the point
        with pytest.raises(TypeError, match="imgae"):
            Container(imgae="web")  # type: ignore[call-arg]  # that is the point

    def test_a_misspelt_attribute_is_refused(self) -> None:
        with pytest.raises(AttributeError, match="statsu"):
            Pod().statsu = PodStatus()  # type: ignore[attr-defined]  # that is the point
        with pytest.raises(AttributeError, match="imgae"):
            Container().imgae = "web"  # type: ignore[attr-defined]  # that is the point

    def test_a_part_of_another_type_is_refused_with_the_way_out(self) -> None:
        with pytest.raises(EncodeError, match=r"Pod\.spec takes a PodSpec, not a dict.*from_dict"):
            Pod(spec={"containers": []})  # type: ignore[arg-type]  # that is the point
        with pytest.raises(EncodeError, match=r"Pod\.status takes a PodStatus, not a PodSpec"):
            Pod().status = PodSpec()  # type: ignore[assignment]  # that is the point
        with pytest.raises(EncodeError, match=r"ConfigMap\.data takes a dict, not a list"):
            ConfigMap(data=["a"])  # type: ignore[arg-type]  # that is the point

    def test_absent_parts_can_be_filled_in_place(self) -> None:
        made = Pod()
        made.metadata.name = "a"
        made.labels["app"] = "web"
        made.spec.containers.append(Container(name="main"))
        assert made.status.phase == ""
        assert made.to_dict() == {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main"}]},
        }

    def test_absent_maps_at_the_top_can_be_filled_in_place(self) -> None:
        made = ConfigMap.from_dict({"metadata": {"name": "a"}})
        made.data["k"] = "v"
        assert made.to_dict()["data"] == {"k": "v"}

    def test_names_can_be_set(self) -> None:
        made = Pod()
        made.name, made.namespace, made.resource_version = "a", "b", "7"
        made.labels = {"c": "d"}
        assert made.to_dict()["metadata"] == {
            "name": "a", "namespace": "b", "resourceVersion": "7", "labels": {"c": "d"},
        }  # fmt: skip
        assert (made.key, made.resource_version, made.labels) == ("b/a", "7", {"c": "d"})
        assert (made.uid, made.generation) == ("", 0)

    def test_kinds_with_other_metadata_or_none_have_no_name(self) -> None:
        for made in (Status(message="no"), PodExecOptions(container="main")):
            assert (made.name, made.key, made.labels) == ("", "", {})
            assert "no name" in repr(made)
            with pytest.raises(EncodeError, match="has no name"):
                made.name = "a"

    def test_what_a_class_says_of_itself(self) -> None:
        assert Deployment.class_gvk == GVK("apps", "v1", "Deployment")
        assert Deployment.resource is not None
        assert Deployment.resource.gvr.resource == "deployments"
        assert Deployment.resource.namespaced
        assert PodExecOptions.resource is None


class TestFromDict:
    def test_unknown_fields_are_kept_and_the_dict_is_not_shared(self) -> None:
        tree = pod_tree()
        made = Pod.from_dict(tree)
        tree["spec"]["containers"].clear()
        assert made.to_dict() == pod_tree()
        assert made.spec.containers[1].name == "side"

    def test_kind_and_version_may_be_left_out(self) -> None:
        assert Pod.from_dict({"metadata": {"name": "a"}}).to_dict()["kind"] == "Pod"

    @pytest.mark.parametrize(
        "said", [{"kind": "Service"}, {"apiVersion": "v2"}, {"apiVersion": "apps/v1"}]
    )
    def test_another_kind_is_refused(self, said: dict[str, str]) -> None:
        with pytest.raises(DecodeError, match="not a v1/Pod"):
            Pod.from_dict({"apiVersion": "v1", "kind": "Pod", **said})

    def test_a_value_of_another_type_is_named_by_its_path(self) -> None:
        tree = pod_tree()
        tree["spec"]["containers"][1]["image"] = 5
        with pytest.raises(
            DecodeError, match=r"spec\.containers\[1\]\.image: expected str, got int"
        ):
            Pod.from_dict(tree)

    def test_structs_and_times_are_taken_where_they_stand(self) -> None:
        made = Pod.from_dict({"metadata": ObjectMeta(name="a"), "spec": {"nodeName": "n"}})
        assert made.to_dict()["metadata"] == {"name": "a"}


class TestComparing:
    def test_with_whatever_says_the_same(self) -> None:
        handle = pod()
        assert handle == pod_tree()
        assert handle == pod()
        assert handle == handle.copy()
        assert handle == Unstructured(pod_tree())
        assert Unstructured(pod_tree()) == handle
        assert Pod.from_dict(pod_tree()) == handle

    def test_with_what_says_something_else(self) -> None:
        edited = pod().copy()
        edited.spec.node_name = "other"
        assert edited != pod()
        assert pod() != Unstructured({**pod_tree(), "spec": {}})
        assert pod() != "web-1"
        assert Pod(metadata=ObjectMeta(name="a")) != Deployment(metadata=ObjectMeta(name="a"))

    def test_an_object_says_what_it_is(self) -> None:
        assert repr(pod()) == "<Pod v1/Pod default/web-1 rv=1042>"
        assert repr(pod().copy()) == "<Pod v1/Pod default/web-1 rv=1042 editable>"
        assert repr(Pod()) == "<Pod v1/Pod no name editable>"

    def test_a_struct_shows_what_it_has_and_nothing_else(self) -> None:
        assert repr(Container(name="a", tty=True)) == "Container(name='a', tty=True)"


class TestCopying:
    def test_a_copy_of_a_read_only_one_is_editable_and_apart(self) -> None:
        handle = pod()
        for copied in (handle.copy(), copy.copy(handle), copy.deepcopy(handle)):
            copied.spec.containers[0].image = "web:2"
            copied.labels["new"] = "1"
            assert copied.to_dict()["spec"]["containers"][0]["image"] == "web:2"
        assert handle == pod_tree()
        assert handle.spec.containers[0].image == "web:1"

    def test_a_copy_of_an_editable_one_has_its_edits_and_is_apart(self) -> None:
        edited = pod().copy()
        edited.spec.containers[0].image = "web:2"
        second = edited.copy()
        edited.spec.containers[0].image = "web:3"
        second.metadata.annotations["note"] = "second"
        assert second.spec.containers[0].image == "web:2"
        assert edited.metadata.annotations["note"] == "first"
        assert second.to_dict()["futurePart"] == pod_tree()["futurePart"]

    def test_a_copy_decodes_nothing_until_it_is_touched(self) -> None:
        codec = CountingCodec()
        copied = Pod.over(Record.read(payload_of(pod_tree()), codec)).copy()
        assert codec.calls == ["head"]
        assert copied.status.phase == "Running"
        assert "spec" not in codec.calls

    def test_a_dict_of_it_is_the_callers_own(self) -> None:
        tree = pod_tree()
        tree["spec"]["future"] = {"list": []}
        copied = pod(tree).copy()
        assert copied.spec.containers
        for _ in range(2):
            taken = copied.to_dict()
            assert taken == tree
            taken["spec"]["future"]["list"].append(1)
            taken["spec"]["containers"].clear()

    def test_another_kinds_bytes_are_base64_in_dicts_and_plain_in_objects(self) -> None:
        made = Secret(data={"key": b"\x00\xff"})
        assert made.to_dict()["data"] == {"key": "AP8="}
        assert Secret.from_dict(made.to_dict()).data == {"key": b"\x00\xff"}
