"""Owner references on models, Unstructured objects and dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinform.controllers.helpers import (
    controller_of,
    has_owner_reference,
    is_controlled_by,
    owners_of,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from kinform.errors import AlreadyOwnedError, ConfigError, InvalidNameError, ReadOnlyError
from kinform.models.core.v1 import ConfigMap, Namespace
from kinform.models.meta.v1 import ObjectMeta, OwnerReference
from kinform.objects import Unstructured
from tests.support.objects import record_of

TREE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "shop"},
}


def owner(name: str = "web", uid: str = "u1", namespace: str = "shop") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": uid}
    return {"apiVersion": "example.com/v1", "kind": "Web", "metadata": metadata}


def as_dict() -> dict[str, Any]:
    return {**TREE, "metadata": dict(TREE["metadata"])}


FORMS: list[Callable[[], Any]] = [
    lambda: ConfigMap.from_dict(TREE),
    lambda: Unstructured(TREE),
    as_dict,
]


@pytest.fixture(params=FORMS, ids=["model", "unstructured", "dict"])
def obj(request: pytest.FixtureRequest) -> Any:
    return request.param()


def references(obj: Any) -> Any:
    tree = obj if isinstance(obj, dict) else obj.to_dict()
    return tree["metadata"].get("ownerReferences", [])


def test_controller_reference_has_all_fields(obj: Any) -> None:
    """20: the fields that the garbage collector reads."""
    assert set_controller_reference(owner(), obj)

    assert references(obj) == [
        {
            "apiVersion": "example.com/v1",
            "kind": "Web",
            "name": "web",
            "uid": "u1",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    found = controller_of(obj)
    assert isinstance(found, OwnerReference)
    assert found.uid == "u1"
    assert is_controlled_by(owner(), obj)


def test_second_call_changes_nothing(obj: Any) -> None:
    """20: a reconciler calls it each time."""
    set_controller_reference(owner(), obj)
    before = references(obj)

    assert not set_controller_reference(owner(), obj)
    assert references(obj) == before


def test_second_controller_is_refused(obj: Any) -> None:
    """20: two controllers would fight over the object."""
    set_controller_reference(owner(), obj)
    why = "ConfigMap shop/a is already controlled by Web web, so Web shop/other"
    with pytest.raises(AlreadyOwnedError, match=why):
        set_controller_reference(owner("other", "u2"), obj)
    assert len(references(obj)) == 1


def test_owner_that_was_created_again_is_updated_in_place(obj: Any) -> None:
    """20: another uid and version of the same owner, and the other owners stay."""
    set_controller_reference(owner(), obj)
    set_owner_reference(owner("second", "u9"), obj)
    again = {**owner(uid="u2"), "apiVersion": "example.com/v2"}

    assert not has_owner_reference(again, obj)
    assert set_controller_reference(again, obj)

    assert [(each.name, each.uid, each.api_version) for each in owners_of(obj)] == [
        ("web", "u2", "example.com/v2"),
        ("second", "u9", "example.com/v1"),
    ]


def test_owner_reference_does_not_take_control_nor_lose_it(obj: Any) -> None:
    """20: plain ownership beside a controller."""
    set_owner_reference(owner("second", "u9"), obj)
    assert controller_of(obj) is None
    assert references(obj)[0].keys() == {"apiVersion", "kind", "name", "uid"}
    set_controller_reference(owner(), obj, block_owner_deletion=False)
    assert set_owner_reference(owner(uid="u2"), obj)

    found = controller_of(obj)
    assert found is not None
    assert (found.uid, found.block_owner_deletion) == ("u2", False)
    assert not set_controller_reference(owner(uid="u2"), obj, block_owner_deletion=False)


def test_block_owner_deletion_can_be_set(obj: Any) -> None:
    """20: for plain owners, too."""
    assert set_owner_reference(owner(), obj, block_owner_deletion=True)
    assert references(obj)[0]["blockOwnerDeletion"] is True
    assert not set_owner_reference(owner(), obj)
    with pytest.raises(ConfigError, match="block_owner_deletion= takes a bool"):
        set_owner_reference(owner(), obj, block_owner_deletion="yes")  # type: ignore[arg-type]


def test_reference_is_removed_by_name(obj: Any) -> None:
    """20: the uid may be an older one."""
    set_controller_reference(owner(), obj)
    set_owner_reference(owner("second", "u9"), obj)

    assert remove_owner_reference(owner(uid="other"), obj)
    assert not remove_owner_reference(owner(), obj)
    assert [each["name"] for each in references(obj)] == ["second"]


def test_owner_in_another_namespace_is_refused(obj: Any) -> None:
    """20: the garbage collector would delete the object."""
    why = "Web blog/web cannot own ConfigMap shop/a, which is in another namespace"
    with pytest.raises(ConfigError, match=why):
        set_controller_reference(owner(namespace="blog"), obj)
    assert references(obj) == []


def test_cluster_scoped_owner_may_own_anything(obj: Any) -> None:
    """20: as in Kubernetes."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}}
    assert set_controller_reference(node, obj)


def test_object_without_a_namespace_cannot_have_a_namespaced_owner() -> None:
    """20: the remedy depends on whether the kind has namespaces."""
    with pytest.raises(ConfigError, match="set its namespace to 'shop' first"):
        set_controller_reference(owner(), ConfigMap(metadata=ObjectMeta(name="a")))
    with pytest.raises(ConfigError, match="needs a cluster-scoped owner"):
        set_controller_reference(owner(), Namespace(metadata=ObjectMeta(name="a")))


def test_owner_without_uid_or_kind_is_refused(obj: Any) -> None:
    """20: the server would refuse the reference."""
    with pytest.raises(ConfigError, match="Web shop/web has no uid"):
        set_controller_reference(owner(uid=""), obj)
    with pytest.raises(InvalidNameError):
        set_controller_reference({"metadata": {"name": "a", "uid": "u"}}, obj)
    with pytest.raises(ConfigError, match="set_controller_reference takes an object, not a str"):
        set_controller_reference("web", obj)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [ConfigMap, Unstructured])
def test_read_only_object_names_copy(form: Any) -> None:
    """20: objects of caches are shared."""
    seen = form.over(record_of(TREE))
    with pytest.raises(ReadOnlyError, match=r"call copy\(\) and edit the copy"):
        set_controller_reference(owner(), seen)
    with pytest.raises(ReadOnlyError, match=r"call copy\(\)"):
        remove_owner_reference(owner(), seen)
    assert not has_owner_reference(owner(), seen)


def test_read_only_objects_can_be_read() -> None:
    """20: controllers look for their objects in caches."""
    made = as_dict()
    set_controller_reference(owner(), made)
    for form in (ConfigMap, Unstructured):
        seen: Any = form.over(record_of(made))
        assert has_owner_reference(owner(), seen)
        assert is_controlled_by(owner(), seen)
        assert not is_controlled_by(owner(uid="u2"), seen)
