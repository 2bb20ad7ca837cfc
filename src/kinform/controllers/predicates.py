"""Predicates: choose the events that make a controller reconcile.

    Watch(Pod, when=labels_changed | ~initial)

A predicate is a function of an ``InformerEvent``, which has the objects, the type of the change and
its cause. Those of this module can be combined with ``&``, ``|`` and ``~``; ``predicate`` makes
such a one of a function.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from kinform._checks import check_callable, check_plain
from kinform.api import LabelSelector
from kinform.client import Labels, as_label_selector
from kinform.errors import ConfigError
from kinform.informers import ChangeSource, ChangeType, InformerEvent

__all__ = [
    "EventPredicate",
    "Predicate",
    "all_of",
    "annotations_changed",
    "any_of",
    "caused_by",
    "generation_changed",
    "initial",
    "labels_changed",
    "matches_labels",
    "not_",
    "of_type",
    "on_update",
    "predicate",
    "resync",
    "version_changed",
]

E = TypeVar("E", bound=StrEnum)

EventPredicate = Callable[[InformerEvent[Any]], object]
"""A function that returns whether an event makes the controller reconcile."""

_INITIAL = (ChangeSource.INITIAL, ChangeSource.REPLAY)


class Predicate:
    """A predicate that can be combined with others.

    Args:
        test: Returns whether an event passes.
        name: The name used in errors and debug pages.

    Raises:
        ConfigError: ``test`` is not a function, or it is async.
    """

    __slots__ = ("_test", "name")

    def __init__(self, test: EventPredicate, name: str = "") -> None:
        check_callable("a predicate", test)
        check_plain("a predicate", test)
        self._test = test
        self.name = name or getattr(test, "__name__", type(test).__name__)

    def __call__(self, event: InformerEvent[Any]) -> bool:
        return bool(self._test(event))

    def __and__(self, other: EventPredicate) -> Predicate:
        return all_of(self, other)

    def __or__(self, other: EventPredicate) -> Predicate:
        return any_of(self, other)

    def __invert__(self) -> Predicate:
        return not_(self)

    def __repr__(self) -> str:
        return f"<Predicate {self.name}>"


def predicate(test: EventPredicate) -> Predicate:
    """Make a predicate of a function, such as a decorator does.

    @predicate
    def is_scheduled(event): return bool(event.object.spec.node_name)
    """
    return Predicate(test)


def all_of(*tests: EventPredicate) -> Predicate:
    """Return a predicate that passes events which pass all tests; all events if there are none."""
    parts = [_as_predicate(test) for test in tests]
    return Predicate(lambda event: all(part(event) for part in parts), _joined(parts, " & "))


def any_of(*tests: EventPredicate) -> Predicate:
    """Return a predicate that passes events which pass a test; no event if there are none."""
    parts = [_as_predicate(test) for test in tests]
    return Predicate(lambda event: any(part(event) for part in parts), _joined(parts, " | "))


def not_(test: EventPredicate) -> Predicate:
    """Return a predicate that passes what ``test`` does not."""
    part = _as_predicate(test)
    return Predicate(lambda event: not part(event), f"~{part.name}")


def _member(kind: type[E], value: str) -> E:
    try:
        return kind(value)
    except ValueError:
        raise ConfigError(
            f"{value!r} is not a {kind.__name__}; there are {', '.join(kind)}"
        ) from None


def caused_by(*sources: ChangeSource) -> Predicate:
    """Return a predicate that passes events of these causes.

    Raises:
        ConfigError: There is no such cause.
    """
    causes = [_member(ChangeSource, source) for source in sources]
    return Predicate(lambda event: event.source in causes, f"caused_by({', '.join(causes)})")


def of_type(*types: ChangeType) -> Predicate:
    """Return a predicate that passes events of these types.

    Raises:
        ConfigError: There is no such type.
    """
    wanted = [_member(ChangeType, each) for each in types]
    return Predicate(lambda event: event.type in wanted, f"of_type({', '.join(wanted)})")


def matches_labels(labels: Labels) -> Predicate:
    """Return a predicate that passes objects which match a label selector, or did before.

    Raises:
        SelectorError: The selector is invalid.
    """
    selector: LabelSelector = as_label_selector(labels)

    def has_matched(event: InformerEvent[Any]) -> bool:
        return any(
            obj is not None and selector.matches(obj.labels) for obj in (event.object, event.old)
        )

    return Predicate(has_matched, f"matches_labels({selector})")


def on_update(changed: Callable[[Any, Any], object], name: str = "") -> Predicate:
    """Return a predicate for updates, by the old and the new object. Other events pass.

    on_update(lambda old, new: old.spec.replicas != new.spec.replicas)
    """
    check_callable("changed", changed)
    check_plain("changed", changed)

    def passes(event: InformerEvent[Any]) -> object:
        if event.type is not ChangeType.UPDATED:
            return True
        return (
            event.old is not None and event.object is not None and changed(event.old, event.object)
        )

    return Predicate(passes, name or getattr(changed, "__name__", "on_update"))


generation_changed = on_update(
    lambda old, new: old.generation != new.generation, "generation_changed"
)
"""Passes updates of the specification: those that increase ``metadata.generation``."""

labels_changed = on_update(lambda old, new: old.labels != new.labels, "labels_changed")
"""Passes updates that change labels."""

annotations_changed = on_update(
    lambda old, new: _annotations(old) != _annotations(new), "annotations_changed"
)
"""Passes updates that change annotations."""

version_changed = on_update(
    lambda old, new: old.resource_version != new.resource_version, "version_changed"
)
"""Passes updates of anything; not resyncs."""

initial = caused_by(*_INITIAL)
"""Passes the objects that existed when the controller started to watch."""

resync = caused_by(ChangeSource.RESYNC)
"""Passes periodic deliveries of unchanged objects."""


def _annotations(obj: Any) -> Any:
    """Return the annotations; none, null and an empty mapping are the same."""
    return obj.get_path("metadata.annotations") or {}


def _as_predicate(test: EventPredicate) -> Predicate:
    return test if isinstance(test, Predicate) else Predicate(test)


def _joined(parts: list[Predicate], operator: str) -> str:
    return f"({operator.join(part.name for part in parts)})"
