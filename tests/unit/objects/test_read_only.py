"""18.5: parts of read-only objects refuse assignments, whichever format they came in."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kinform.errors import ReadOnlyError
from kinform.models.apiextensions.v1 import CustomResourceDefinition, JSONSchemaProps
from kinform.models.core.v1 import Container, Pod, PodSpec
from kinform.objects import JSON, Model, Part, Record, TypedObject, read_only_class
from kinform.protobuf import codec_for

pytestmark = pytest.mark.usefixtures("either_way")

TREE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "ownerReferences": [{"name": "b", "uid": "u"}]},
    "spec": {"containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}]},
}


def pod_in(form: str) -> Pod:
    codec = JSON if form == "JSON" else codec_for(Pod.class_gvk)
    assert codec is not None
    return Pod.over(Record.read(codec.encode(TREE), codec))


both_forms = pytest.mark.parametrize("form", ["JSON", "protobuf"])


@both_forms
@pytest.mark.parametrize(
    "place",
    [
        lambda pod: pod.metadata,
        lambda pod: pod.metadata.owner_references[0],
        lambda pod: pod.spec,
        lambda pod: pod.spec.containers[0],
        lambda pod: pod.spec.containers[0].env[0],
        lambda pod: pod.spec.containers[0].resources,  # absent
        lambda pod: pod.status,  # absent
    ],
    ids=["metadata", "owner", "spec", "container", "env", "absent struct", "absent part"],
)
def test_every_assignment_is_refused(form: str, place: Callable[[Pod], Any]) -> None:
    """18.5: an edit that would be lost raises at once, and changes nothing."""
    pod = pod_in(form)
    part = place(pod)
    first = part.__struct_fields__[0]
    before = getattr(part, first)
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        setattr(part, first, "x")
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        delattr(part, first)
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        part.misspelt = "x"
    assert getattr(part, first) == before
    assert pod == pod_in(form)


@both_forms
def test_copies_can_be_edited_at_any_depth(form: str) -> None:
    """18.5: of the object, of a part, and by the standard library."""
    pod = pod_in(form).copy()
    pod.spec.containers[0].env[0].value = "2"
    pod.status.phase = "Running"
    assert pod.to_dict()["spec"]["containers"][0]["env"] == [{"name": "A", "value": "2"}]
    spec = pod_in(form).spec
    copies = (spec.copy(), copy.copy(spec), copy.deepcopy(spec), pickle.loads(pickle.dumps(spec)))
    for mine in copies:
        assert type(mine) is PodSpec
        assert mine == spec
        mine.node_name = "n1"
    for mine in copies[:3]:
        assert type(mine.containers[0]) is Container
        mine.containers[0].image = "web:2"
    assert spec == pod_in(form).spec


@both_forms
def test_a_read_only_part_is_an_instance_of_its_model(form: str) -> None:
    """18.5: with its fields, its name and its text."""
    spec = pod_in(form).spec
    assert isinstance(spec, PodSpec)
    assert isinstance(spec.containers[0], Container)
    assert type(spec.containers[0]).__name__ == "Container"
    assert spec.__struct_fields__ == PodSpec.__struct_fields__
    assert repr(spec) == repr(spec.copy())
    assert spec.to_dict() == spec.copy().to_dict()
    assert Pod(spec=spec).to_dict()["spec"] == Pod(spec=spec.copy()).to_dict()["spec"]


def test_models_that_contain_themselves_are_read_only_too() -> None:
    """18.5: a schema has schemas."""
    schema = {"properties": {"a": {"properties": {"b": {"type": "string"}}}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    tree = {"metadata": {"name": "a"}, "spec": {"versions": [version]}}
    crd = CustomResourceDefinition.over(
        Record.read(JSON.encode(tree), JSON, default_gvk=CustomResourceDefinition.class_gvk)
    )
    found = crd.spec.versions[0].schema
    assert found is not None
    top = found.open_api_v3_schema
    assert top is not None
    inner = top.properties["a"].properties["b"]
    assert isinstance(inner, JSONSchemaProps)
    with pytest.raises(ReadOnlyError):
        inner.type = "integer"


class Counted(Model):
    """A model with its own behaviour, which assigns."""

    size: int = 0

    def __post_init__(self) -> None:
        self.size += 1


class Named(Model):
    title: str = msgspec.field(default="none", name="the-title")
    parts: list[Counted] = msgspec.field(default_factory=list)
    by_name: dict[str, Named] = msgspec.field(default_factory=dict)


class Book(TypedObject, group="example.org", version="v1", kind="Book"):
    spec: Part[Named] = Part("spec", Named, Named)


def test_own_models_keep_their_names_defaults_and_behaviour() -> None:
    """18.5: and a model that assigns in its own constructor stays as it is."""
    spec = {"parts": [{"size": 1}], "byName": {"x": {"the-title": "y"}}}
    tree = {"apiVersion": "example.org/v1", "kind": "Book", "metadata": {"name": "a"}, "spec": spec}
    book = Book.over(Record.read(JSON.encode(tree), JSON))
    assert book.spec.title == "none"
    assert book.spec.by_name["x"].title == "y"
    assert book.spec.parts[0].size == 2
    assert book.spec.to_dict() == {"parts": [{"size": 2}], "byName": {"x": {"the-title": "y"}}}
    with pytest.raises(ReadOnlyError):
        book.spec.by_name["x"].title = "z"
    assert read_only_class(Counted) is Counted


class Empty(Model):
    """A model without fields, as for a status that is not defined yet."""


def test_models_without_fields_can_be_compared() -> None:
    """18.5: all structs of such a model are equal."""
    found = read_only_class(Empty)()
    assert found == Empty()
    assert Empty() == found
    assert not found != Empty()  # noqa: SIM202  # both operators are to be tested
    assert found.copy() == found
