"""The conditions of a namespace that is being deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kinform.controller_manager.workloads.namespace import Remains, conditions_of
from kinform.models.core.v1 import NamespaceCondition

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def states(conditions: list[NamespaceCondition]) -> dict[str, tuple[str, str]]:
    return {each.type.removeprefix("Namespace"): (each.status, each.reason) for each in conditions}


def test_remaining_objects_and_finalizers_are_counted() -> None:
    remains = Remains(objects={"pods.": 2, "foos.example.com": 1}, finalizers={"a/b": 3})
    conditions = conditions_of([], remains, NOW)
    assert states(conditions) == {
        "DeletionDiscoveryFailure": ("False", "ResourcesDiscovered"),
        "DeletionGroupVersionParsingFailure": ("False", "ParsedGroupVersions"),
        "DeletionContentFailure": ("False", "ContentDeleted"),
        "ContentRemaining": ("True", "SomeResourcesRemain"),
        "FinalizersRemaining": ("True", "SomeFinalizersRemain"),
    }
    message = next(each.message for each in conditions if each.type == "NamespaceContentRemaining")
    assert message.endswith(
        "foos.example.com has 1 resource instances, pods. has 2 resource instances"
    )


def test_time_changes_with_the_status_only() -> None:
    first = conditions_of([], Remains(objects={"pods.": 2}), NOW)
    second = conditions_of(first, Remains(objects={"pods.": 1}, errors=("pods: no",)), LATER)
    times = {each.type: each.last_transition_time for each in second}
    assert times["NamespaceContentRemaining"] == NOW
    assert times["NamespaceDeletionContentFailure"] == LATER


def test_conditions_of_others_are_kept() -> None:
    other = NamespaceCondition(type="Example", status="True")
    assert conditions_of([other], Remains(), NOW)[0] == other


def test_nothing_is_left_only_if_everything_is_known() -> None:
    assert Remains().is_empty
    assert not Remains(undiscovered="metrics.k8s.io/v1beta1 does not answer").is_empty
    assert not Remains(errors=("pods: forbidden",)).is_empty
