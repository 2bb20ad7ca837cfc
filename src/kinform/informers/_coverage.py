"""What an informer covers: the scope and the transform that options of several levels result in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from kinform.api import FieldSelector
from kinform.client import Fields, Labels
from kinform.errors import ConfigError
from kinform.informers._kind_options import KindOptions
from kinform.informers._namespace_options import NamespaceOptions, options_by_namespace
from kinform.informers._scope import ALL_NAMESPACES, Scope, Selectors
from kinform.informers._transforms import NamespaceTransform


class Coverage(msgspec.Struct, frozen=True):
    """The objects that an informer covers, and how they are transformed."""

    scope: Scope
    transform: Callable[[Any], Any] | None


def coverage_of(
    kind: KindOptions[Any], defaults: KindOptions[Any], *, is_namespaced: bool = True
) -> Coverage:
    """Combine the options of a kind with the defaults of all kinds.

    Each option is taken from the first of these that has it: the options of the namespace, the
    options of the kind, the default options of the same namespace, the defaults. A kind without
    namespaces has the default ones. Cluster-scoped kinds have no namespaces.

    Raises:
        ConfigError: A namespace is both listed and excluded, or excluded from nothing.
        SelectorError: A selector is invalid.
    """
    default_namespaces = options_by_namespace(defaults.namespace)
    # Of inherited namespaces, the options come after those of the kind.
    namespaces = dict.fromkeys(default_namespaces, NamespaceOptions[Any]())
    if kind.has_namespaces:
        namespaces = options_by_namespace(kind.namespace)
    if not is_namespaced:
        namespaces = {ALL_NAMESPACES: NamespaceOptions()}
        default_namespaces = {}
    excluded = tuple(sorted(kind.except_namespaces))
    _check_excluded(excluded, namespaces)
    general = (_general_options(kind), _general_options(defaults))
    levels = {
        name: (own, general[0], default_namespaces.get(name, NamespaceOptions()), general[1])
        for name, own in namespaces.items()
    }
    selectors = {name: _selectors(*each) for name, each in levels.items()}
    if is_namespaced and not excluded and list(selectors) == [ALL_NAMESPACES]:
        selectors = _in_required_namespaces(selectors[ALL_NAMESPACES])
    scope = Scope.of(selectors, excluded=excluded)
    transforms = {name: _transform(*each) for name, each in levels.items()}
    other = transforms.pop(ALL_NAMESPACES, _transform(*general))
    if all(each == other for each in transforms.values()):
        return Coverage(scope, other)
    return Coverage(scope, NamespaceTransform(tuple(sorted(transforms.items())), other))


def _general_options(kind: KindOptions[Any]) -> NamespaceOptions[Any]:
    """Return the options of a kind that a namespace may override."""
    return NamespaceOptions(
        labels=kind.labels, fields=kind.fields, any_of=kind.any_of, transform=kind.transform
    )


def _selectors(*levels: NamespaceOptions[Any]) -> tuple[Selectors, ...]:
    labels: Labels | UnsetType = UNSET
    fields: Fields | UnsetType = UNSET
    for level in levels:
        if not isinstance(level.any_of, UnsetType):
            if labels is UNSET and fields is UNSET:
                return tuple(level.any_of)
            break  # single selectors override several
        labels = level.labels if labels is UNSET else labels
        fields = level.fields if fields is UNSET else fields
    return (
        Selectors(
            "" if isinstance(labels, UnsetType) else labels,
            "" if isinstance(fields, UnsetType) else fields,
        ),
    )


def _in_required_namespaces(given: tuple[Selectors, ...]) -> dict[str, tuple[Selectors, ...]]:
    """Return selectors by the namespace that their fields require, or for all namespaces.

    A program that may read only this namespace may request it there.
    """
    found: dict[str, tuple[Selectors, ...]] = {}
    for each in given:
        required = ALL_NAMESPACES
        for condition in FieldSelector.parse(each.fields).requirements:
            if condition.field == "metadata.namespace" and not condition.negated:
                required = condition.value
        found[required] = (*found.get(required, ()), each)
    return {ALL_NAMESPACES: given} if ALL_NAMESPACES in found else found


def _transform(*levels: NamespaceOptions[Any]) -> Callable[[Any], Any] | None:
    for level in levels:
        if not isinstance(level.transform, UnsetType):
            return level.transform
    return None


def _check_excluded(
    excluded: tuple[str, ...], namespaces: dict[str, NamespaceOptions[Any]]
) -> None:
    both = [name for name in excluded if name in namespaces]
    if both:
        raise ConfigError(f"namespace {both[0]!r} is both in namespace= and in except_namespaces=")
    if excluded and ALL_NAMESPACES not in namespaces:
        raise ConfigError(
            f"except_namespaces={list(excluded)!r} has no effect: namespace= covers only "
            f"{', '.join(namespaces) or 'no namespace'}; omit one of them"
        )
