"""The contract of predicates: which events pass, by their type, cause and objects.

``cr-N`` in a docstring is item N of the tests of controller-runtime that docs/parity.md lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinform import Unstructured
from kinform.controllers.predicates import (
    Predicate,
    all_of,
    annotations_changed,
    any_of,
    caused_by,
    generation_changed,
    initial,
    labels_changed,
    matches_labels,
    not_,
    of_type,
    on_update,
    predicate,
    resync,
    version_changed,
)
from kinform.errors import ConfigError, SelectorError
from kinform.informers import ChangeSource, ChangeType, InformerEvent
from kinform.models.core.v1 import ConfigMap
from kinform.objects import Handle, PartialObjectMetadata
from tests.support.objects import record_of

Event = InformerEvent[Any]


def tree(**metadata: Any) -> dict[str, Any]:
    head = {"name": "a", "namespace": "ns", "uid": "1", "resourceVersion": "1", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head}


def typed(obj: dict[str, Any]) -> Handle:
    return ConfigMap.from_dict(obj)


def partial(obj: dict[str, Any]) -> Handle:
    return PartialObjectMetadata.over(record_of(obj))


def added(obj: Handle | None, source: ChangeSource = ChangeSource.WATCH) -> Event:
    return InformerEvent(ChangeType.ADDED, "ns/a", obj, None, source)


def updated(
    old: Handle | None, new: Handle | None, source: ChangeSource = ChangeSource.WATCH
) -> Event:
    return InformerEvent(ChangeType.UPDATED, "ns/a", new, old, source)


def deleted(obj: Handle | None, *, unknown: bool = False) -> Event:
    return InformerEvent(
        ChangeType.DELETED, "ns/a", obj, None, ChangeSource.WATCH, final_state_unknown=unknown
    )


CHANGES: dict[str, tuple[Predicate, dict[str, Any], dict[str, Any]]] = {
    "version": (version_changed, {"resourceVersion": "1"}, {"resourceVersion": "2"}),
    "generation": (generation_changed, {"generation": 1}, {"generation": 2}),
    "labels": (labels_changed, {"labels": {"a": "1"}}, {"labels": {"a": "2"}}),
    "annotations": (annotations_changed, {"annotations": {"a": "1"}}, {"annotations": {"b": "1"}}),
}


@pytest.mark.parametrize("form", [Unstructured, typed, partial])
@pytest.mark.parametrize("what", CHANGES)
def test_change_of_one_part_of_the_metadata(
    what: str, form: Callable[[dict[str, Any]], Handle]
) -> None:
    """cr-45: updates pass if that part differs, whatever else does; other events always pass."""
    changed, before, after = CHANGES[what]
    old, new = form(tree(**before)), form(tree(**after))
    assert changed(updated(old, new))
    assert changed(updated(new, old))
    others = {
        key: value
        for name, (_, _, rest) in CHANGES.items()
        if name != what
        for key, value in rest.items()
    }
    assert not changed(updated(form(tree(**before)), form(tree(**{**others, **before}))))
    assert changed(added(old))
    assert changed(deleted(old))
    assert changed(deleted(None, unknown=True))


@pytest.mark.parametrize("changed", [labels_changed, annotations_changed])
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_missing_and_empty_metadata_are_the_same(changed: Predicate, field: str) -> None:
    """cr-45: no labels, null and an empty mapping differ in nothing."""
    without = Unstructured(tree())
    empty = Unstructured(tree(**{field: {}}))
    null = Unstructured(tree(**{field: None}))
    for old in (without, empty, null):
        for new in (without, empty, null):
            assert not changed(updated(old, new))


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("missing", ["old", "new", "both"])
def test_update_without_an_object_does_not_raise(what: str, missing: str) -> None:
    """cr-45: informers deliver none; one that is made by hand is no change that can be seen."""
    changed, before, after = CHANGES[what]
    old = None if missing in ("old", "both") else Unstructured(tree(**before))
    new = None if missing in ("new", "both") else Unstructured(tree(**after))
    assert changed(updated(old, new)) is False


@pytest.mark.parametrize(
    "changed", [version_changed, generation_changed, labels_changed, annotations_changed]
)
def test_resync_is_no_change(changed: Predicate) -> None:
    """cr-45: it is an update with the same object."""
    obj = Unstructured(tree(generation=1, labels={"a": "1"}))
    assert not changed(updated(obj, obj, ChangeSource.RESYNC))


def test_kinds_without_a_generation_never_change_it() -> None:
    """cr-45: as in controller-runtime, where it is 0."""
    assert not generation_changed(
        updated(Unstructured(tree()), Unstructured(tree(resourceVersion="2")))
    )


RED = {"labels": {"color": "red"}}
BLUE = {"labels": {"color": "blue"}}


@pytest.mark.parametrize("selector", ["color=red", {"color": "red"}])
def test_label_selector(selector: Any) -> None:
    """cr-45: Differs: an update that leaves the selector passes, so that it can be undone."""
    red, blue = Unstructured(tree(**RED)), Unstructured(tree(**BLUE))
    is_red = matches_labels(selector)
    assert is_red(added(red))
    assert not is_red(added(blue))
    assert is_red(updated(blue, red))
    assert is_red(updated(red, blue))
    assert not is_red(updated(blue, blue))
    assert is_red(deleted(red))
    assert not is_red(deleted(blue))
    assert not is_red(added(Unstructured(tree())))


def test_label_selector_that_cannot_be_read() -> None:
    """cr-45: refused when it is made, not at the first event."""
    with pytest.raises(SelectorError):
        matches_labels("color in")


def yes(event: Event) -> bool:
    return True


def no(event: Event) -> bool:
    return False


EVENTS = [
    added(Unstructured(tree())),
    updated(Unstructured(tree()), Unstructured(tree(resourceVersion="2"))),
    deleted(Unstructured(tree())),
    deleted(None, unknown=True),
]


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(
    ("combined", "passes"),
    [
        (all_of(), True),
        (all_of(yes), True),
        (all_of(yes, yes), True),
        (all_of(yes, no), False),
        (all_of(no, yes), False),
        (any_of(), False),
        (any_of(no), False),
        (any_of(no, yes), True),
        (any_of(yes, no), True),
        (any_of(no, no), False),
        (not_(yes), False),
        (not_(no), True),
        (predicate(yes) & yes, True),
        (predicate(yes) & no, False),
        (predicate(no) | yes, True),
        (predicate(no) | no, False),
        (~predicate(yes), False),
        (~~predicate(yes), True),
        (~(predicate(yes) & no) | no, True),
    ],
    ids=repr,
)
def test_combinations(combined: Predicate, passes: bool, event: Event) -> None:
    """cr-45: and, or, not; all of none pass, any of none do not."""
    assert combined(event) is passes


@pytest.mark.parametrize("answer", [0, "", None, [], 1, "x", object()])
def test_answers_are_true_or_false(answer: Any) -> None:
    """cr-45: whatever a function returns, a predicate returns a bool of it."""
    made = predicate(lambda event: answer)
    assert made(EVENTS[0]) is bool(answer)
    assert (~made)(EVENTS[0]) is not bool(answer)
    assert all_of(made)(EVENTS[0]) is bool(answer)
    assert any_of(lambda event: answer)(EVENTS[0]) is bool(answer)
    assert not_(lambda event: answer)(EVENTS[0]) is not bool(answer)
    assert on_update(lambda old, new: answer)(EVENTS[1]) is bool(answer)


def test_later_tests_are_not_asked_when_the_answer_is_known() -> None:
    """cr-45: so an expensive test may come last."""

    def fails(event: Event) -> bool:
        raise AssertionError("asked")

    assert not all_of(no, fails)(EVENTS[0])
    assert any_of(yes, fails)(EVENTS[0])


def test_types_and_causes() -> None:
    """cr-45: Differs: an event has a cause, so initial objects and resyncs can be told apart."""
    obj = Unstructured(tree())
    is_update = of_type(ChangeType.UPDATED)
    assert [is_update(event) for event in EVENTS] == [False, True, False, False]
    assert not any(of_type()(event) for event in EVENTS)
    causes = {
        source: (initial(added(obj, source)), resync(added(obj, source))) for source in ChangeSource
    }
    assert causes.pop(ChangeSource.INITIAL) == (True, False)
    assert causes.pop(ChangeSource.REPLAY) == (True, False)
    assert causes.pop(ChangeSource.RESYNC) == (False, True)
    assert set(causes.values()) == {(False, False)}
    assert caused_by(ChangeSource.RELIST)(added(obj, ChangeSource.RELIST))


def test_on_update_compares_the_objects() -> None:
    """cr-45: other events pass; so does nothing that lacks an object."""
    grown = on_update(lambda old, new: int(new.resource_version) > int(old.resource_version))
    one, two = Unstructured(tree()), Unstructured(tree(resourceVersion="2"))
    assert grown(updated(one, two))
    assert not grown(updated(two, one))
    assert grown(added(one))
    assert grown(deleted(None))


async def _async_test(event: Event) -> bool:
    return True


@pytest.mark.parametrize(
    "make",
    [
        lambda: Predicate(5),  # type: ignore[arg-type]
        lambda: predicate(None),  # type: ignore[arg-type]
        lambda: predicate(_async_test),
        lambda: all_of(5),  # type: ignore[arg-type]
        lambda: any_of(_async_test),
        lambda: not_(5),  # type: ignore[arg-type]
        lambda: on_update(5),  # type: ignore[arg-type]
        lambda: of_type("CREATED"),  # type: ignore[arg-type]
        lambda: caused_by("watching"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_predicate_is_refused(make: Callable[[], Any]) -> None:
    """cr-45: an async function would always be true."""
    with pytest.raises(ConfigError):
        make()
