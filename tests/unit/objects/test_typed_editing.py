"""Copy, edit, send: what was edited is sent as it is now, and everything else as it came."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import msgspec
import pytest

from kinform.api import GVK
from kinform.errors import EncodeError
from kinform.models.apps.v1 import StatefulSet
from kinform.models.core.v1 import (
    ConfigMap,
    Container,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Secret,
)
from kinform.models.meta.v1 import ObjectMeta
from kinform.models.policy.v1 import Eviction
from kinform.models.resource.v1 import ResourceSlice
from kinform.objects import JSON, Always, Model, Part, Quantity, TypedObject
from tests.support.objects import record_of


def pod(spec: dict[str, Any], **parts: Any) -> Pod:
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec, **parts}
    return Pod.over(record_of(tree)).copy()


def sent(edited: Pod) -> dict[str, Any]:
    tree: dict[str, Any] = JSON.decode(edited.to_bytes())["spec"]
    return tree


def containers(*names: str) -> dict[str, Any]:
    """Containers that a newer server says more of."""
    return {"containers": [{"name": name, "future": {"of": name}} for name in names]}


class TestUnknownFields:
    def test_they_stay_beside_an_edit_at_every_depth(self) -> None:
        edited = pod(
            {
                "future": 1,
                "securityContext": {"future": 2, "seLinuxOptions": {"future": 3, "level": "x"}},
                "containers": [{"name": "a", "env": [{"name": "b", "future": [4]}]}],
            },
            future={"part": 5},
        )
        edited.spec.node_name = "n"
        edited.spec.containers[0].env[0].value = "c"
        assert edited.spec.security_context is not None
        assert edited.spec.security_context.se_linux_options is not None
        edited.spec.security_context.se_linux_options.level = "y"
        assert sent(edited) == {
            "future": 1,
            "nodeName": "n",
            "securityContext": {"future": 2, "seLinuxOptions": {"future": 3, "level": "y"}},
            "containers": [{"name": "a", "env": [{"name": "b", "value": "c", "future": [4]}]}],
        }
        assert edited.to_dict()["future"] == {"part": 5}

    @pytest.mark.parametrize(
        ("edit", "names"),
        [
            (lambda spec: spec.containers.reverse(), "cba"),
            (lambda spec: spec.containers.pop(0), "bc"),
            (lambda spec: spec.containers.insert(1, spec.containers.pop()), "acb"),
            (lambda spec: setattr(spec, "containers", spec.containers[1:2]), "b"),
        ],
        ids=["reordered", "shortened", "moved", "replaced"],
    )
    def test_they_follow_their_struct_through_a_list(
        self, edit: Callable[[PodSpec], object], names: str
    ) -> None:
        edited = pod(containers("a", "b", "c"))
        edit(edited.spec)
        assert sent(edited) == containers(*names)

    def test_a_new_struct_in_a_list_has_none_of_them(self) -> None:
        edited = pod(containers("a", "b"))
        edited.spec.containers[0] = Container(name="new")
        edited.spec.containers.insert(0, Container(name="first"))
        assert sent(edited)["containers"] == [
            {"name": "first"},
            {"name": "new"},
            *containers("b")["containers"],
        ]

    def test_they_stay_in_maps_of_structs(self) -> None:
        device = {"name": "d", "capacity": {"m": {"value": "1Gi", "future": 1}, "n": {"value": 2}}}
        tree = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "a"},
            "spec": {"devices": [device]},
        }
        edited = ResourceSlice.over(record_of(tree)).copy()
        capacity = edited.spec.devices[0].capacity
        capacity["moved"] = capacity.pop("m")
        assert edited.to_dict()["spec"]["devices"][0]["capacity"] == {
            "n": {"value": 2},
            "moved": {"value": "1Gi", "future": 1},
        }

    def test_they_stay_through_a_second_copy(self) -> None:
        edited = pod(containers("a", "b"))
        edited.spec.containers[0].image = "x"
        again = edited.copy()
        again.spec.containers[0].image = ""
        assert sent(again) == containers("a", "b")

    def test_a_part_set_anew_has_none_of_them(self) -> None:
        edited = pod({"future": 1, "nodeName": "n"})
        edited.spec = PodSpec(node_name="m")
        assert sent(edited) == {"nodeName": "m"}


class TestEmptyValues:
    AS_THEY_CAME: dict[str, Any] = {  # noqa: RUF012  # a constant
        "nodeName": "",
        "hostNetwork": False,
        "priority": None,
        "terminationGracePeriodSeconds": 0,
        "securityContext": {},
        "affinity": None,
        "nodeSelector": {},
        "tolerations": None,
        "volumes": [{"emptyDir": {}}, {}],
        "containers": [{"name": None, "args": [], "resources": {"limits": None}, "env": None}],
    }

    def test_they_go_as_they_came(self) -> None:
        edited = pod(self.AS_THEY_CAME, status=None)
        assert edited.status == PodStatus()
        edited.spec.hostname = "h"
        assert sent(edited) == {**self.AS_THEY_CAME, "hostname": "h"}
        assert edited.to_dict()["status"] is None

    def test_once_filled_they_go_as_they_are(self) -> None:
        edited = pod(self.AS_THEY_CAME, status={})
        edited.status.phase = "Running"
        edited.spec.containers[0].name = "a"
        edited.spec.containers[0].resources.limits["cpu"] = Quantity("1")
        assert edited.to_dict()["status"] == {"phase": "Running"}
        assert sent(edited)["containers"] == [
            {"name": "a", "args": [], "resources": {"limits": {"cpu": "1"}}, "env": None}
        ]

    def test_a_cleared_value_is_gone(self) -> None:
        edited = pod(
            {
                "nodeName": "n",
                "priority": 5,
                "terminationGracePeriodSeconds": 0,
                "nodeSelector": {"a": "b"},
                "volumes": [{"name": "v", "emptyDir": {}}],
                "containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}],
            },
            status={"phase": "Running"},
        )
        edited.spec.node_name = ""
        edited.spec.priority = edited.spec.termination_grace_period_seconds = None
        edited.spec.node_selector.clear()
        edited.spec.volumes[0].empty_dir = None
        edited.spec.containers[0].resources = ResourceRequirements()
        edited.status = PodStatus()
        assert sent(edited) == {"volumes": [{"name": "v"}], "containers": [{"name": "a"}]}
        assert "status" not in edited.to_dict()

    def test_a_part_set_to_none_is_gone(self) -> None:
        tree = {"apiVersion": "v1", "kind": "ConfigMap", "immutable": False, "data": {"a": "b"}}
        edited = ConfigMap.from_dict(tree)
        assert edited.to_dict()["immutable"] is False
        edited.immutable = None
        edited.data = {}
        assert edited.to_dict() == {"apiVersion": "v1", "kind": "ConfigMap"}


def test_amounts_and_bytes_that_nobody_changed_go_as_they_came() -> None:
    limits: dict[str, Any] = {"cpu": 2, "memory": "1Gi", "share": 0.5}
    edited = pod({"containers": [{"resources": {"limits": limits}}]})
    edited.spec.containers[0].resources.limits["memory"] = Quantity("2Gi")
    assert sent(edited)["containers"] == [
        {"resources": {"limits": {"cpu": 2, "memory": "2Gi", "share": 0.5}}}
    ]
    secret = Secret.from_dict({"data": {"a": "AP8="}, "type": "Opaque"})
    secret.data["b"] = b""
    assert secret.to_dict()["data"] == {"a": "AP8=", "b": ""}


class TestObjectsInsideObjects:
    @pytest.mark.parametrize("said", [{}, {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}])
    def test_a_claim_keeps_what_it_came_with(self, said: dict[str, str]) -> None:
        claim = {**said, "metadata": {"name": "data", "future": 1}, "spec": {"volumeName": "v"}}
        tree = {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "a"},
            "spec": {"volumeClaimTemplates": [claim], "replicas": 1},
        }
        handle = StatefulSet.over(record_of(tree))
        assert handle.spec.volume_claim_templates[0].name == "data"
        assert handle.spec.copy() == handle.spec
        edited = handle.copy()
        edited.spec.volume_claim_templates[0].spec.volume_name = "w"
        expected = {**claim, "spec": {"volumeName": "w"}}
        assert edited.to_dict()["spec"]["volumeClaimTemplates"] == [expected]
        assert handle == tree

    def test_one_inside_another_kind(self) -> None:
        tree = {"deleteOptions": {"gracePeriodSeconds": 0, "future": 1}}
        eviction = Eviction.from_dict(tree)
        assert eviction.delete_options is not None
        assert eviction.delete_options.grace_period_seconds == 0
        assert eviction.to_dict()["deleteOptions"] == tree["deleteOptions"]


def test_a_part_that_contains_itself_is_refused() -> None:
    cycle: dict[str, Any] = {}
    cycle["again"] = cycle
    with pytest.raises(EncodeError, match="data contains itself"):
        ConfigMap(data=cycle).to_bytes()


def test_a_time_without_a_zone_is_named_with_its_object_and_path() -> None:
    edited = pod({})
    edited.status.start_time = datetime(2026, 1, 2)
    with pytest.raises(EncodeError, match=r"^<Pod v1/Pod a editable>: status\.startTime: 2026"):
        edited.to_bytes()


def test_an_item_of_a_list_is_sent_with_its_kind() -> None:
    tree = {"metadata": {"name": "a"}}
    edited = Pod.over(record_of(tree, default_gvk=GVK.of("v1", "Pod"))).copy()
    edited.labels["a"] = "b"
    assert JSON.decode(edited.to_bytes()) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"a": "b"}},
    }


class Limits(Model):
    most: int = 5
    note: str = ""


class Gadget(TypedObject, group="example.com", version="v1", kind="Gadget", plural="gadgets"):
    """Written by hand: its parts, and nothing else."""

    __slots__ = ()

    metadata: Part[ObjectMeta] = Part("metadata", ObjectMeta, ObjectMeta)
    spec: Part[Limits] = Part("spec", Limits, Limits)


def test_a_class_written_by_hand_is_made_by_keyword_too() -> None:
    gadget = Gadget(metadata=ObjectMeta(name="a"), spec=Limits(note="x"))
    assert gadget.to_dict()["spec"] == {"note": "x"}
    with pytest.raises(TypeError, match="Gadget has no part spek; it has metadata, spec"):
        Gadget(spek=Limits())


def test_a_default_that_nobody_touched_is_not_written() -> None:
    gadget = Gadget.from_dict({"spec": {"note": "x"}})
    gadget.spec.note = "y"
    assert gadget.to_dict()["spec"] == {"note": "y"}
    gadget.spec.most = 6
    assert gadget.to_dict()["spec"] == {"note": "y", "most": 6}


def test_a_text_where_bytes_belong_is_refused_and_not_taken_for_base64() -> None:
    with pytest.raises(EncodeError, match=r"data\[password\]: expected bytes, got a str"):
        Secret(data={"password": cast(Any, "passw0rd")}).to_bytes()


class Rate(Model):
    limit: Always[int] = 0


class Flow(Model):
    rate: Always[Rate] = msgspec.field(default_factory=Rate)
    size: int = 0


class Pipe(TypedObject, group="example.com", version="v1", kind="Pipe", plural="pipes"):
    __slots__ = ()

    spec: Part[Flow] = Part("spec", Flow, Flow)


def test_what_is_demanded_of_a_struct_that_did_not_come_is_not_sent() -> None:
    tree = {
        "apiVersion": "example.com/v1",
        "kind": "Pipe",
        "metadata": {"name": "a"},
        "spec": {"size": 1},
    }
    edited = Pipe.over(record_of(tree)).copy()
    edited.spec.size = 2
    assert edited.to_dict()["spec"] == {"size": 2}
    edited.spec.rate.limit = 3
    assert edited.to_dict()["spec"] == {"size": 2, "rate": {"limit": 3}}
    assert Pipe(spec=Flow(size=1)).to_dict()["spec"] == {"size": 1, "rate": {"limit": 0}}
