"""Conditions of objects and lists, in every form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

import pytest

from kinform.controllers.helpers import (
    find_condition,
    is_condition_false,
    is_condition_true,
    remove_condition,
    set_condition,
)
from kinform.errors import ConfigError, ReadOnlyError
from kinform.models.apps.v1 import Deployment, DeploymentCondition
from kinform.models.core.v1 import ConfigMap, Pod
from kinform.models.meta.v1 import Condition, ObjectMeta
from kinform.objects import Unstructured
from tests.support.objects import pod_tree, record_of

EARLY = datetime(2026, 1, 1, tzinfo=UTC)
LATE = EARLY + timedelta(hours=1)


def target(form: str) -> Any:
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    forms = {
        "model": lambda: Pod.from_dict(tree),
        "unstructured": lambda: Unstructured(tree),
        "dict": lambda: tree,
        "list": list,
    }
    return forms[form]()  # type: ignore[no-untyped-call]


@pytest.fixture(params=["model", "unstructured", "dict", "list"])
def obj(request: pytest.FixtureRequest) -> Any:
    return target(request.param)


def field(condition: Any, json_name: str) -> Any:
    tree = condition if isinstance(condition, dict) else condition.to_dict()
    return tree.get(json_name)


def test_new_condition_has_the_time_of_its_creation(obj: Any) -> None:
    """20: without a fraction of a second, as servers store it."""
    at = EARLY + timedelta(microseconds=5)
    assert set_condition(obj, type="Ready", status=True, reason="Up", message="all up", at=at)

    found = find_condition(obj, "Ready")
    assert field(found, "lastTransitionTime") == "2026-01-01T00:00:00Z"
    assert field(found, "reason") == "Up"
    assert is_condition_true(obj, "Ready")
    assert not is_condition_false(obj, "Ready")


def test_transition_time_changes_with_the_status_only(obj: Any) -> None:
    """20: reason and message may change without a transition."""
    set_condition(obj, type="Ready", status=True, reason="Up", at=EARLY)
    assert set_condition(obj, type="Ready", status=True, reason="StillUp", at=LATE)
    found = find_condition(obj, "Ready")
    assert field(found, "lastTransitionTime") == "2026-01-01T00:00:00Z"
    assert field(found, "reason") == "StillUp"

    assert set_condition(obj, type="Ready", status="False", reason="Down", at=LATE)
    assert field(find_condition(obj, "Ready"), "lastTransitionTime") == "2026-01-01T01:00:00Z"
    assert is_condition_false(obj, "Ready")


def test_same_condition_is_no_change(obj: Any) -> None:
    """20: otherwise every reconcile would write the status."""
    said: dict[str, Any] = {"type": "Ready", "status": True, "reason": "Up", "message": "m"}
    set_condition(obj, **said, observed_generation=2, at=EARLY)

    assert not set_condition(obj, **said, at=LATE)
    assert not set_condition(obj, **said, observed_generation=2, at=LATE)
    assert set_condition(obj, **said, observed_generation=3, at=LATE)
    assert field(find_condition(obj, "Ready"), "observedGeneration") == 3


def test_condition_is_removed_by_type(obj: Any) -> None:
    """20: and the others stay."""
    for each in ("Ready", "Synced"):
        set_condition(obj, type=each, status="Unknown", reason="Starting")
    assert remove_condition(obj, "Ready")
    assert not remove_condition(obj, "Ready")
    assert find_condition(obj, "Ready") is None
    assert find_condition(obj, "Synced") is not None
    assert not is_condition_true(obj, "Synced")
    assert not is_condition_false(obj, "Synced")


def test_kinds_with_conditions_of_their_own_keep_their_class() -> None:
    """20: a deployment's conditions have no generation, but a time of the last update."""
    made = Deployment(metadata=ObjectMeta(name="a"))
    assert set_condition(
        made, type="Available", status=True, reason="Enough", observed_generation=4
    )
    assert isinstance(made.status.conditions[0], DeploymentCondition)
    assert not set_condition(
        made, type="Available", status=True, reason="Enough", observed_generation=4
    )


def test_fields_that_the_model_does_not_know_survive() -> None:
    """20: a condition that another program wrote."""
    tree = pod_tree()
    tree["status"]["conditions"][0]["future"] = "kept"
    pod = Pod.over(record_of(tree)).copy()
    assert set_condition(pod, type="Ready", status=False, reason="Down", at=EARLY)
    assert pod.to_dict()["status"]["conditions"] == [
        {
            "type": "Ready",
            "status": "False",
            "reason": "Down",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "future": "kept",
        }
    ]


def test_condition_of_a_typed_list_keeps_its_type() -> None:
    """20: for type checkers."""
    made = [Condition(type="Ready", status="True")]
    found = assert_type(find_condition(made, "Ready"), Condition | None)
    assert found is made[0]


@pytest.mark.parametrize("form", [Pod, Unstructured])
def test_read_only_object_names_copy(form: Any) -> None:
    """20: also its list."""
    seen = form.over(record_of(pod_tree()))
    assert is_condition_true(seen, "Ready")
    for given in (seen, find_list(seen)):
        with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
            set_condition(given, type="Ready", status=False, reason="Down")
        with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
            remove_condition(given, "Ready")


def find_list(obj: Any) -> Any:
    return obj.status.conditions if isinstance(obj, Pod) else obj["status"]["conditions"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"status": "true"}, "status must be a bool or one of"),
        ({"type": ""}, "type must not be empty"),
        ({"reason": None}, "reason= of set_condition"),
        ({"at": datetime(2026, 1, 1)}, "has no time zone"),
    ],
)
def test_wrong_argument_is_named(changes: dict[str, Any], why: str) -> None:
    """20: before anything is changed."""
    given: dict[str, Any] = {"type": "Ready", "status": True, "reason": "Up", **changes}
    made: list[Any] = []
    with pytest.raises(ConfigError, match=why):
        set_condition(made, **given)
    assert made == []


def test_object_without_conditions_is_named() -> None:
    """20: not every kind has them."""
    with pytest.raises(ConfigError, match=r"a ConfigMap has no status\.conditions"):
        set_condition(ConfigMap(), type="Ready", status=True, reason="Up")
    with pytest.raises(ConfigError, match="from an object or a list, not from a int"):
        find_condition(3, "Ready")  # type: ignore[call-overload]
