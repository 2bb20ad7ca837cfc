"""Finalizers on models, Unstructured objects and dicts."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.controllers.helpers import add_finalizer, has_finalizer, remove_finalizer
from kinform.errors import ConfigError, ReadOnlyError
from kinform.models.core.v1 import Pod
from kinform.objects import Unstructured
from tests.support.objects import pod_tree, record_of

OURS = "example.com/web"
THEIRS = "example.com/guard"


@pytest.fixture(params=["model", "unstructured", "dict"])
def obj(request: pytest.FixtureRequest) -> Any:
    made = {"model": Pod.from_dict, "unstructured": Unstructured, "dict": lambda tree: tree}
    return made[request.param](pod_tree())  # type: ignore[operator]


def finalizers(obj: Any) -> Any:
    tree = obj if isinstance(obj, dict) else obj.to_dict()
    return tree["metadata"]["finalizers"]


def test_finalizer_is_added_once(obj: Any) -> None:
    """20: the answer says whether to update the object."""
    assert not has_finalizer(obj, OURS)
    assert add_finalizer(obj, OURS)
    assert not add_finalizer(obj, OURS)
    assert has_finalizer(obj, OURS)
    assert finalizers(obj) == [THEIRS, OURS]


def test_finalizer_is_removed_with_its_doubles(obj: Any) -> None:
    """20: and the others stay."""
    add_finalizer(obj, OURS)
    if isinstance(obj, dict):
        obj["metadata"]["finalizers"].append(OURS)
    assert remove_finalizer(obj, OURS)
    assert not remove_finalizer(obj, OURS)
    assert finalizers(obj) == [THEIRS]


def test_object_without_metadata_gets_some() -> None:
    """20: a dict may have nothing but its kind; a removal adds nothing."""
    made: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}
    assert not remove_finalizer(made, OURS)
    assert "metadata" not in made
    assert add_finalizer(made, OURS)
    assert made["metadata"] == {"finalizers": [OURS]}


@pytest.mark.parametrize("form", [Pod, Unstructured])
def test_read_only_object_names_copy(form: Any) -> None:
    """20: also where nothing would change."""
    seen = form.over(record_of(pod_tree()))
    assert has_finalizer(seen, THEIRS)
    for change in (add_finalizer, remove_finalizer):
        with pytest.raises(ReadOnlyError, match=r"call copy\(\)"):
            change(seen, THEIRS)
    assert add_finalizer(seen.copy(), OURS)


@pytest.mark.parametrize("name", ["", None, 3])
def test_finalizer_must_be_a_name(name: Any) -> None:
    """20: a mistake is reported where it is made."""
    with pytest.raises(ConfigError, match="a finalizer is a name"):
        add_finalizer(pod_tree(), name)
