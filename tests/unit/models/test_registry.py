"""Kinds and resources lead to classes, built in or one's own."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVK, GVR
from kinform.errors import InvalidNameError, StateError
from kinform.models import _registry, core, known_kinds, model_for, register
from kinform.objects import TypedObject


@pytest.fixture(autouse=True)
def registry_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "_registered", {})


class Widget(
    TypedObject, group="example.com", version="v1", kind="Widget", plural="widgets", namespaced=True
):
    __slots__ = ()


class OtherWidget(
    TypedObject, group="example.com", version="v1", kind="Widget", plural="widgets", namespaced=True
):
    __slots__ = ()


class OtherKind(
    TypedObject, group="example.com", version="v1", kind="Gadget", plural="widgets", namespaced=True
):
    __slots__ = ()


class Body(TypedObject, group="example.com", version="v1", kind="Body"):
    __slots__ = ()


class OwnPod(TypedObject, group="", version="v1", kind="Pod", plural="pods", namespaced=True):
    __slots__ = ()


@pytest.mark.parametrize(
    "wanted", [GVK("", "v1", "Pod"), GVR("", "v1", "pods")], ids=["kind", "resource"]
)
def test_a_built_in_kind_leads_to_its_class(wanted: GVK | GVR) -> None:
    assert model_for(wanted) is core.v1.Pod


def test_every_known_kind_has_a_class_with_a_resource() -> None:
    kinds = known_kinds()
    assert len(kinds) > 90
    for kind in kinds:
        model = model_for(kind)
        assert model is not None
        assert model.resource is not None
        assert model.class_gvk == kind
        assert model_for(model.resource.gvr) is model


def test_a_kind_without_a_resource_is_found_by_kind_alone() -> None:
    scale = model_for(GVK("autoscaling", "v1", "Scale"))
    assert scale is not None
    assert scale.resource is None
    assert scale.class_gvk not in known_kinds()


def test_the_preferred_version_comes_first() -> None:
    versions = [kind.version for kind in known_kinds() if kind.kind == "HorizontalPodAutoscaler"]
    assert versions == ["v2", "v1"]


@pytest.mark.parametrize(
    "wanted",
    [GVK("example.com", "v1", "Widget"), GVR("example.com", "v1", "widgets"), GVK("", "v2", "Pod")],
)
def test_an_unknown_kind_has_no_class(wanted: GVK | GVR) -> None:
    assert model_for(wanted) is None


def test_a_registered_class_is_found_like_a_built_in_one() -> None:
    assert register(Widget) is Widget
    assert model_for(GVK("example.com", "v1", "Widget")) is Widget
    assert model_for(GVR("example.com", "v1", "widgets")) is Widget
    assert known_kinds()[-1] == GVK("example.com", "v1", "Widget")
    assert len(set(known_kinds())) == len(known_kinds())


def test_registering_a_class_again_changes_nothing() -> None:
    register(Widget)
    register(Widget)
    register(core.v1.Pod)
    assert model_for(GVK("example.com", "v1", "Widget")) is Widget
    assert model_for(GVK("", "v1", "Pod")) is core.v1.Pod


@pytest.mark.parametrize(
    ("first", "second", "complaint"),
    [
        (Widget, OtherWidget, r"OtherWidget cannot.*example.com/v1/Widget already has .*\.Widget"),
        (Widget, OtherKind, r"OtherKind cannot.*example.com/v1/widgets already has .*\.Widget"),
        (Widget, OwnPod, r"OwnPod cannot.*v1/Pod already has kinform.models.core.v1.Pod"),
    ],
)
def test_a_second_class_for_the_same_is_refused(
    first: type[TypedObject], second: type[TypedObject], complaint: str
) -> None:
    register(first)
    with pytest.raises(StateError, match=complaint):
        register(second)
    assert second.resource is not None
    assert model_for(second.resource.gvr) is not second
    assert model_for(second.resource.gvk) is not second


def test_a_class_without_a_resource_cannot_be_registered() -> None:
    with pytest.raises(InvalidNameError, match=r"Body has no resource; .*plural="):
        register(Body)


@pytest.mark.parametrize("wrong", [5, None, "v1/pods", int, core.v1.Container, core.v1.Pod()])
def test_only_classes_for_objects_can_be_registered(wrong: Any) -> None:
    with pytest.raises(
        InvalidNameError, match=r"is not a class for objects; register\(Thing\) takes"
    ):
        register(wrong)


@pytest.mark.parametrize("wrong", [5, None, "v1/pods", [], core.v1.Pod])
def test_model_for_rejects_other_arguments(wrong: Any) -> None:
    with pytest.raises(InvalidNameError, match="is neither a kind nor a resource; pass a GVK"):
        model_for(wrong)
