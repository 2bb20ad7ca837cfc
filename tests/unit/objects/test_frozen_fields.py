"""18.5: lists, dicts and objects in parts of read-only objects refuse edits, in both formats."""

from __future__ import annotations

import copy
import json
import operator
import pickle
from collections.abc import Callable
from typing import Any, Literal

import msgspec
import pytest

from kinform.errors import DecodeError, ReadOnlyError
from kinform.informers import Admission
from kinform.models.apiextensions.v1 import CustomResourceDefinition
from kinform.models.apps.v1 import ControllerRevision, StatefulSet
from kinform.models.authorization.v1 import SubjectAccessReview
from kinform.models.core.v1 import ConfigMap, Container, Pod
from kinform.models.rbac.v1 import Role
from kinform.objects import (
    JSON,
    FrozenItems,
    FrozenValues,
    Model,
    Part,
    Quantity,
    Record,
    TypedObject,
    Unstructured,
    freeze,
    freezer,
)
from kinform.protobuf import codec_for

pytestmark = pytest.mark.usefixtures("either_way")

both_forms = pytest.mark.parametrize("form", ["JSON", "protobuf"])

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"app": "web"}, "finalizers": ["b"]},
    "spec": {
        "nodeSelector": {"disk": "ssd"},
        "containers": [
            {
                "name": "main",
                "args": ["-v"],
                "env": [{"name": "A", "value": "1"}],
                "resources": {"limits": {"cpu": "1"}},
            }
        ],
    },
}
CLAIM = {"metadata": {"name": "data", "labels": {"a": "b"}}, "spec": {"accessModes": ["x"]}}
SET: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "a"},
    "spec": {"volumeClaimTemplates": [CLAIM], "template": {"spec": POD["spec"]}},
}


def view(model: Any, tree: dict[str, Any], form: str) -> Any:
    codec = JSON if form == "JSON" else codec_for(model.class_gvk)
    assert codec is not None
    return model.over(Record.read(codec.encode(tree), codec, default_gvk=model.class_gvk))


def pod_in(form: str) -> Any:
    return view(Pod, POD, form)


LISTS: dict[str, Callable[[Any], Any]] = {
    "containers": lambda pod: pod.spec.containers,
    "texts": lambda pod: pod.spec.containers[0].args,
    "structs, deeper": lambda pod: pod.spec.containers[0].env,
    "in metadata": lambda pod: pod.metadata.finalizers,
    "absent": lambda pod: pod.spec.volumes,
    "absent, deeper": lambda pod: pod.spec.containers[0].ports,
    "of an absent part": lambda pod: pod.status.conditions,
}
DICTS: dict[str, Callable[[Any], Any]] = {
    "labels of the object": lambda pod: pod.labels,
    "labels": lambda pod: pod.metadata.labels,
    "selector": lambda pod: pod.spec.node_selector,
    "quantities, deeper": lambda pod: pod.spec.containers[0].resources.limits,
    "absent annotations": lambda pod: pod.metadata.annotations,
    "absent requests": lambda pod: pod.spec.containers[0].resources.requests,
}
LIST_EDITS: dict[str, Callable[[Any], Any]] = {
    "append": lambda found: found.append(1),
    "clear": lambda found: found.clear(),
    "extend": lambda found: found.extend([1]),
    "insert": lambda found: found.insert(0, 1),
    "pop": lambda found: found.pop(),
    "remove": lambda found: found.remove(1),
    "reverse": lambda found: found.reverse(),
    "sort": lambda found: found.sort(key=repr, reverse=True),
    "item": lambda found: operator.setitem(found, 0, 1),
    "slice": lambda found: operator.setitem(found, slice(None), []),
    "del": lambda found: operator.delitem(found, 0),
    "del slice": lambda found: operator.delitem(found, slice(None)),
    "+=": lambda found: found.__iadd__([1]),
    "*=": lambda found: found.__imul__(2),
}
DICT_EDITS: dict[str, Callable[[Any], Any]] = {
    "item": lambda found: operator.setitem(found, "a", "b"),
    "del": lambda found: operator.delitem(found, "app"),
    "clear": lambda found: found.clear(),
    "pop": lambda found: found.pop("app", None),
    "popitem": lambda found: found.popitem(),
    "setdefault": lambda found: found.setdefault("app", "x"),
    "update": lambda found: found.update(a="b"),
    "|=": lambda found: found.__ior__({"a": "b"}),
}


def mutators(kind: type, immutable: type) -> set[str]:
    """The public methods that a mutable class has and a similar immutable one has not."""
    return {name for name in set(dir(kind)) - set(dir(immutable)) if not name.startswith("_")}


def test_every_mutating_method_is_tried() -> None:
    assert mutators(list, tuple) - {"copy"} <= LIST_EDITS.keys()
    of_dicts = {"clear", "pop", "popitem", "setdefault", "update"}
    assert (
        mutators(dict, object) - {"copy", "fromkeys", "get", "items", "keys", "values"} == of_dicts
    )
    assert of_dicts <= DICT_EDITS.keys()


@both_forms
@pytest.mark.parametrize("edit", LIST_EDITS.values(), ids=LIST_EDITS)
@pytest.mark.parametrize("place", LISTS.values(), ids=LISTS)
def test_edits_of_lists_are_refused(form: str, place: Callable[[Any], Any], edit: Any) -> None:
    """18.5: at the edit, and nothing changes."""
    pod = pod_in(form)
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        edit(place(pod))
    assert place(pod) == place(pod_in(form))
    assert pod.to_bytes() == pod_in(form).to_bytes()


@both_forms
@pytest.mark.parametrize("edit", DICT_EDITS.values(), ids=DICT_EDITS)
@pytest.mark.parametrize("place", DICTS.values(), ids=DICTS)
def test_edits_of_dicts_are_refused(form: str, place: Callable[[Any], Any], edit: Any) -> None:
    """18.5: at the edit, and nothing changes."""
    pod = pod_in(form)
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        edit(place(pod))
    assert place(pod) == place(pod_in(form))
    assert pod.to_bytes() == pod_in(form).to_bytes()


@both_forms
@pytest.mark.parametrize("place", (LISTS | DICTS).values(), ids=[*LISTS, *DICTS])
def test_a_field_is_a_list_or_dict_and_always_the_same(form: str, place: Any) -> None:
    """18.5: so that code that checks for one, compares or encodes it is not affected."""
    pod = pod_in(form)
    found, mine = place(pod), place(pod.copy())
    assert isinstance(found, type(mine))
    assert found == mine
    assert mine == found
    assert not found != mine  # noqa: SIM202  # both operators are to be tested
    assert repr(found) == repr(mine)
    if place is not DICTS["labels of the object"]:  # which makes one for each caller
        assert place(pod) is found


@both_forms
@pytest.mark.parametrize("place", (LISTS | DICTS).values(), ids=[*LISTS, *DICTS])
def test_copies_are_plain(form: str, place: Callable[[Any], Any]) -> None:
    """18.5: of the object, of a part, of the list, and by the standard library."""
    pod = pod_in(form)
    found = place(pod)
    copies = [place(each) for each in (pod.copy(), copy.copy(pod), copy.deepcopy(pod))]
    copies += [found.copy(), copy.copy(found), copy.deepcopy(found)]
    copies.append(pickle.loads(pickle.dumps(found)))
    for mine in copies:
        assert type(mine) in (list, dict)
        assert mine == found
        if isinstance(mine, list):
            mine.append("x")
        else:
            mine["x"] = "y"
    assert found == place(pod_in(form))


@both_forms
def test_copies_of_parts_are_plain_at_any_depth(form: str) -> None:
    """18.5: before and after their lists were read."""
    for is_read in (False, True):
        spec = pod_in(form).spec
        if is_read:
            assert spec.containers[0].env
        copies = (spec.copy(), copy.copy(spec), copy.deepcopy(spec))
        for mine in (*copies, pickle.loads(pickle.dumps(spec))):
            assert mine == spec
            assert type(mine.containers) is list
            assert type(mine.containers[0]) is Container
            assert type(mine.containers[0].env) is list
            mine.containers[0].env.append(mine.containers[0].env[0])
            mine.containers[0].resources.limits["memory"] = Quantity("1Gi")
        assert spec == pod_in(form).spec


@both_forms
def test_an_edited_copy_is_sent_with_its_edits(form: str) -> None:
    """18.5: the way out that the error names."""
    pod = pod_in(form).copy()
    pod.metadata.labels["a"] = "b"
    pod.spec.containers.append(Container(name="second"))
    pod.spec.containers[0].args += ["-x"]
    tree = pod.to_dict()
    assert tree["metadata"]["labels"] == {"app": "web", "a": "b"}
    assert [each["name"] for each in tree["spec"]["containers"]] == ["main", "second"]
    assert tree["spec"]["containers"][0]["args"] == ["-v", "-x"]


@both_forms
def test_what_is_made_of_a_list_or_dict_is_plain(form: str) -> None:
    """18.5: new lists and dicts belong to the caller; the structs in them stay read-only."""
    spec, labels = pod_in(form).spec, pod_in(form).metadata.labels
    made: list[Any] = [
        *(list(spec.containers), spec.containers[:], spec.containers * 1),
        *(operator.add(spec.containers, []), operator.add([], spec.containers)),
        sorted(spec.containers, key=repr),
    ]
    for each in made:
        assert type(each) is list
        each.append(1)
        with pytest.raises(ReadOnlyError):
            each[0].name = "x"
    for each in (dict(labels), {**labels}, labels | {}, {} | labels):
        assert type(each) is dict
        each["a"] = "b"
    assert len(spec.containers) == 1
    assert labels == {"app": "web"}


@both_forms
def test_lists_and_dicts_are_encoded_as_ever(form: str) -> None:
    """18.5: by all encoders."""
    pod = pod_in(form)
    labels, arguments = pod.metadata.labels, pod.spec.containers[0].args
    encoders: list[Callable[[Any], str | bytes]] = [json.dumps, msgspec.json.encode]
    for encode in encoders:
        assert json.loads(encode(labels)) == {"app": "web"}
        assert json.loads(encode(arguments)) == ["-v"]
    assert pod.spec.to_dict() == pod_in(form).copy().spec.to_dict()
    made = Pod(metadata=pod.metadata, spec=pod.spec).to_dict()
    assert made["spec"] == Pod(spec=pod.spec.copy()).to_dict()["spec"]


@both_forms
def test_parts_that_are_dicts_or_lists_are_read_only(form: str) -> None:
    """18.5: those of a ConfigMap and of a Role, present or absent."""
    found = view(ConfigMap, {"metadata": {"name": "a"}, "data": {"k": "v"}}, form)
    for part in (found.data, found.binary_data):
        with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
            part["k"] = "w"
    role = view(Role, {"metadata": {"name": "a"}, "rules": [{"verbs": ["get"]}]}, form)
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        role.rules.clear()
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        role.rules[0].verbs.append("list")
    mine = role.copy()
    mine.rules[0].verbs.append("list")
    assert mine.to_dict()["rules"] == [{"verbs": ["get", "list"]}]


@both_forms
def test_json_inside_of_a_part_is_read_only_like_a_tree(form: str) -> None:
    """18.5: as that of an Unstructured, at any depth."""
    data = {"spec": {"a": [{"b": 1}]}}
    tree = {"metadata": {"name": "a"}, "revision": 1, "data": data}
    found = view(ControllerRevision, tree, form)
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        found.data["spec"]["a"][0]["b"] = 2
    assert found.data == data == found.copy().data
    found.copy().data["spec"]["a"][0]["b"] = 2
    whole = Unstructured.over(Record.read(JSON.encode(tree), JSON, default_gvk=found.gvk))
    assert type(found.data) is type(whole["data"])


@both_forms
def test_lists_in_dicts_are_read_only(form: str) -> None:
    """18.5: with values and with structs."""
    review = view(
        SubjectAccessReview, {"metadata": {"name": "x"}, "spec": {"extra": {"a": ["b"]}}}, form
    )
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        review.spec.extra["a"].append("c")
    assert review.spec.copy().extra == {"a": ["b"]}
    schema = {"properties": {"a": {"enum": [{"x": 1}], "items": {"type": "string"}}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    tree = {"metadata": {"name": "a"}, "spec": {"versions": [version]}}
    crd = view(CustomResourceDefinition, tree, form)
    properties = crd.spec.versions[0].schema.open_api_v3_schema.properties
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        properties["b"] = properties["a"]
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        properties["a"].enum[0]["x"] = 2


# -- objects in parts ------------------------------------------------------------------------------


@both_forms
def test_objects_inside_of_parts_are_read_only(form: str) -> None:
    """18.5: the claims of a StatefulSet, with their names, parts, lists and dicts."""
    found = view(StatefulSet, SET, form)
    claim = found.spec.volume_claim_templates[0]
    edits: list[Callable[[], Any]] = [
        lambda: setattr(claim, "name", "x"),
        lambda: setattr(claim, "labels", {}),
        lambda: setattr(claim, "spec", None),
        lambda: setattr(claim.spec, "volume_name", "x"),
        lambda: claim.labels.clear(),
        lambda: claim.metadata.labels.clear(),
        lambda: claim.spec.access_modes.append("y"),
        lambda: found.spec.template.spec.containers.clear(),
    ]
    for edit in edits:
        with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
            edit()
    assert (claim.name, claim.labels, claim.kind) == ("data", {"a": "b"}, "PersistentVolumeClaim")
    assert found == view(StatefulSet, SET, form)
    assert found.spec == view(StatefulSet, SET, form).spec


@both_forms
def test_copies_of_objects_inside_of_parts_can_be_edited(form: str) -> None:
    """18.5: of the claim, of the spec and of the whole object."""
    found = view(StatefulSet, SET, form)
    claim = found.spec.volume_claim_templates[0]
    claims = (
        claim.copy(),
        found.spec.copy().volume_claim_templates[0],
        found.spec.volume_claim_templates.copy()[0],
        found.copy().spec.volume_claim_templates[0],
    )
    for mine in claims:
        assert mine == claim
        mine.name = "x"
        mine.spec.access_modes.append("y")
        mine.labels["c"] = "d"
        assert mine.to_dict()["metadata"] == {"name": "x", "labels": {"a": "b", "c": "d"}}
    assert claim.name == "data"


@both_forms
def test_objects_inside_of_parts_are_written_as_they_came(form: str) -> None:
    """18.5: with the kind only if they had one."""
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    for template in (CLAIM, kind | CLAIM):
        tree = {**SET, "spec": {**SET["spec"], "volumeClaimTemplates": [template]}}
        found = view(StatefulSet, tree, form)
        was = found.to_dict()["spec"]["volumeClaimTemplates"]
        assert found.spec.to_dict()["volumeClaimTemplates"] == was
        assert found.spec.copy().to_dict()["volumeClaimTemplates"] == was
        mine = found.copy()
        mine.spec.replicas = 2
        assert mine.to_dict()["spec"]["volumeClaimTemplates"] == was
        assert found.to_bytes()  # reading it was no edit


def test_an_object_inside_may_lack_metadata() -> None:
    """18.5: or have nulls in it; it is read as before."""
    for metadata in (None, {}, {"name": None, "creationTimestamp": None}):
        claim = {"metadata": metadata, "spec": {"accessModes": ["x"]}}
        tree = {**SET, "spec": {"volumeClaimTemplates": [claim, {"spec": {}}]}}
        found = view(StatefulSet, tree, "JSON").spec.volume_claim_templates
        assert [each.name for each in found] == ["", ""]
        assert found[0].to_nested() == claim


def test_an_object_inside_with_malformed_metadata_is_named() -> None:
    """18.5: by its path in the part."""
    tree = {**SET, "spec": {"volumeClaimTemplates": [CLAIM, {"metadata": {"name": 5}}]}}
    found = view(StatefulSet, tree, "JSON")
    with pytest.raises(DecodeError, match=r"volumeClaimTemplates\[1\]: its metadata is malformed"):
        _ = found.spec


# -- models of others ------------------------------------------------------------------------------


class Leaf(Model):
    size: int = 0


class Tree(Model):
    by_name: dict[str, list[Leaf]] = msgspec.field(default_factory=dict)
    rows: list[list[Leaf]] = msgspec.field(default_factory=list)
    either: Leaf | list[Leaf] | None = None
    anything: Any = None


class Plant(TypedObject, group="example.org", version="v1", kind="Plant"):
    spec: Part[Tree] = Part("spec", Tree, Tree)


def plant() -> Any:
    leaves = [{"size": 1}]
    spec = {"byName": {"a": leaves}, "rows": [leaves], "either": leaves, "anything": {"a": [1]}}
    return view(Plant, {"metadata": {"name": "a"}, "spec": spec}, "JSON")


def test_containers_in_containers_are_read_only_and_their_copies_are_not() -> None:
    """18.5: with structs in them, too."""
    spec = plant().spec
    edits: list[Callable[[Any], Any]] = [
        lambda spec: spec.by_name.clear(),
        lambda spec: spec.by_name["a"].append(Leaf()),
        lambda spec: setattr(spec.by_name["a"][0], "size", 2),
        lambda spec: spec.rows[0].append(Leaf()),
        lambda spec: setattr(spec.rows[0][0], "size", 2),
        lambda spec: spec.either.append(Leaf()),
        lambda spec: spec.anything["a"].append(2),
    ]
    for edit in edits:
        with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
            edit(spec)
    for edit in edits:
        mine = spec.copy()
        assert mine == spec
        edit(mine)
        assert mine != spec
    assert type(spec.by_name.copy()["a"][0]) is Leaf
    assert spec == plant().spec


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (str, None),
        (Leaf, None),
        (Leaf | None, None),
        (list[str], FrozenItems),
        (list[Leaf] | None, FrozenItems),
        (dict[str, bytes], FrozenValues),
        (dict[str, list[str]], freeze),
        (list[str] | dict[str, str], freeze),
        (Any, freeze),
        (object, freeze),
        (dict, freeze),
        (list[Literal["a"]], freeze),
    ],
)
def test_a_type_decides_how_a_field_is_frozen(hint: Any, expected: Any) -> None:
    """18.5: most need no look at the elements."""
    assert freezer(hint) is expected


@both_forms
def test_transforms_of_informers_get_what_they_may_edit(form: str) -> None:
    """18.5: an editable copy; what is admitted is read-only."""

    def shorten(pod: Pod) -> None:
        pod.metadata.labels["seen"] = "yes"
        pod.spec.containers[0].env.clear()

    found = Admission(Pod, transform=shorten).admit(pod_in(form).record)
    assert found is not None
    assert found.metadata.labels == {"app": "web", "seen": "yes"}
    assert found.spec.containers[0].env == []
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        found.metadata.labels.clear()
