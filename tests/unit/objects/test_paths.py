"""Dotted paths: read without fear, written with the mappings on the way, removed."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.errors import InvalidNameError, ReadOnlyError
from kinform.objects import Path, Unstructured, freeze
from tests.support.objects import pod_tree, record_of


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("kind", "Pod"),
        ("spec.nodeName", "node-1"),
        ("spec.containers.0.image", "web:1"),
        ("spec.containers.-1.image", "side:1"),
        ("spec.containers.0.ports.0.containerPort", 80),
        (("spec", "containers", 1, "name"), "side"),
        (("metadata", "labels", "app.kubernetes.io/part-of"), "shop"),
        ("spec.priority", None),
        ("metadata.labels", {"app": "web", "app.kubernetes.io/part-of": "shop"}),
    ],
)
def test_a_path_reads_the_same_from_a_view_and_a_copy(path: Path, value: Any) -> None:
    view = Unstructured.over(record_of(pod_tree()))
    for obj in (view, view.copy(), Unstructured(pod_tree())):
        assert obj.get_path(path, "default") == value


@pytest.mark.parametrize(
    "path",
    [
        "missing",
        "spec.missing",
        "spec.missing.deeper",
        "spec.containers.9",
        "spec.containers.-9",
        "spec.containers.name",
        "spec.containers.1_0",
        "spec.containers. 0",
        "spec.nodeName.deeper",
        "spec.priority.deeper",
        ("kind", 0),
        ("spec", 0),
        ("spec", "nodeName", 0),
    ],
)
def test_an_absent_step_gives_the_default(path: Path) -> None:
    view = Unstructured.over(record_of(pod_tree()))
    assert view.get_path(path) is None
    assert view.get_path(path, 7) == 7


@pytest.mark.parametrize("path", ["", ".", "spec.", ".spec", "a..b", (), ("spec", "")])
def test_a_path_with_an_empty_step_is_refused(path: Path) -> None:
    obj = Unstructured(pod_tree())
    for use in (obj.get_path, obj.remove_path, lambda path: obj.set_path(path, 1)):
        with pytest.raises(InvalidNameError, match="empty step") as caught:
            use(path)
        assert repr(path) in str(caught.value)


def test_writing_makes_the_mappings_on_the_way() -> None:
    obj = Unstructured({})
    obj.set_path("spec.template.metadata.name", "x")
    obj.set_path(("metadata", "labels", "a.b/c"), "y")
    assert obj == {
        "spec": {"template": {"metadata": {"name": "x"}}},
        "metadata": {"labels": {"a.b/c": "y"}},
    }


def test_writing_goes_through_nulls_and_lists() -> None:
    obj = Unstructured(pod_tree())
    obj.set_path("spec.priority.class", "high")
    obj.set_path("spec.containers.1.image", "side:2")
    obj.set_path(("spec", "containers", 0), {"name": "new"})
    assert obj["spec"]["priority"] == {"class": "high"}
    assert obj["spec"]["containers"] == [{"name": "new"}, {"name": "side", "image": "side:2"}]


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("spec.nodeName.deeper", "a str has no 'deeper'"),
        ("spec.nodeName.deeper.still", "a str has no 'deeper'"),
        ("spec.containers.2", "a list of 2 has no '2'"),
        ("spec.containers.name", "a list of 2 has no 'name'"),
        ("spec.containers.7.name", "a list of 2 has no '7'"),
        (("spec", "containers", 2), "a list of 2 has no 2"),
    ],
)
def test_writing_through_something_that_has_no_such_step_is_refused(
    path: Path, complaint: str
) -> None:
    obj = Unstructured(pod_tree())
    with pytest.raises(InvalidNameError) as caught:
        obj.set_path(path, "x")
    assert complaint in str(caught.value)
    assert repr(path) in str(caught.value)
    assert obj == pod_tree()


def test_a_written_value_is_a_copy_that_can_be_edited() -> None:
    source = Unstructured.over(record_of(pod_tree()))
    obj = Unstructured({})
    obj.set_path("spec.template", source["spec"])
    obj["spec"]["template"]["containers"][0]["image"] = "web:2"
    assert source["spec"] == pod_tree()["spec"]


def test_removing_says_whether_there_was_anything() -> None:
    obj = Unstructured(pod_tree())
    assert obj.remove_path("spec.nodeName")
    assert not obj.remove_path("spec.nodeName")
    assert obj.remove_path("spec.containers.0")
    assert not obj.remove_path("spec.containers.5")
    assert not obj.remove_path("spec.missing.deeper")
    assert not obj.remove_path(("kind", 0))
    assert obj.remove_path("status")
    assert obj["spec"] == {"containers": [{"name": "side", "image": "side:1"}], "priority": None}
    assert "status" not in obj


def test_a_frozen_value_inside_an_editable_object_is_not_silently_left_alone() -> None:
    obj = Unstructured({})
    obj["spec"] = {"template": freeze({"name": "x"})}
    with pytest.raises(ReadOnlyError):
        obj.remove_path("spec.template.name")
    with pytest.raises(ReadOnlyError):
        obj.set_path("spec.template.name", "y")
