"""The namespaces that an option names, and the options of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from kinform._checks import check_plain
from kinform.client import Fields, Labels
from kinform.errors import ConfigError
from kinform.informers._scope import ALL_NAMESPACES, Selectors, checked_any_of
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class NamespaceOptions(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Options of one namespace. Omitted options are inherited from the kind and the factory.

        KindOptions(namespace={
            "shop": NamespaceOptions(labels="app=web"),
            ALL_NAMESPACES: NamespaceOptions(labels="app=db"),  # all that are not listed
        })

    Attributes:
        labels: Only objects that match this label selector; ``""`` for all.
        fields: Only objects that match this field selector; ``""`` for all.
        any_of: Only objects that match at least one of these, instead of ``labels`` and
            ``fields``.
        transform: Called once for each version of an object, before it is stored; ``None`` for no
            transform.

    Raises:
        ConfigError: An option is invalid.
    """

    labels: Labels | UnsetType = UNSET
    fields: Fields | UnsetType = UNSET
    any_of: Sequence[Selectors] | UnsetType = UNSET
    transform: Callable[[T], T | None] | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        check_selection(self.labels, self.fields, self.any_of)
        if not isinstance(self.transform, UnsetType):
            check_shareable("transform", self.transform)


NamespaceNames = str | Sequence[str] | None
"""One namespace, several, or ``None`` for all."""

Namespaces = NamespaceNames | Mapping[str, NamespaceOptions[Any]]
"""One namespace, several, or several with options for each; ``""`` for all."""


def as_namespaces(namespace: NamespaceNames) -> tuple[str, ...]:
    """Return the given namespaces, sorted; empty for all namespaces.

    Raises:
        ConfigError: A name is empty or not a string, or the sequence is empty.
    """
    if namespace is None:
        return ()
    if isinstance(namespace, str):
        return (namespace,) if namespace else ()
    given: object = namespace  # callers may be untyped
    is_names = isinstance(given, Collection) and not isinstance(given, Mapping)
    if not is_names or not all(isinstance(each, str) for each in namespace):
        raise ConfigError(
            f"namespace={namespace!r}: pass a string, a list of strings, or None for all namespaces"
        )
    named = sorted(set(namespace))
    if not named or not all(named):
        raise ConfigError(
            f"namespace={list(namespace)!r}: pass non-empty names, or None for all namespaces"
        )
    return tuple(named)


def options_by_namespace(namespace: Namespaces) -> dict[str, NamespaceOptions[Any]]:
    """Return the given namespaces with their options; the key ``""`` stands for all others.

    Raises:
        ConfigError: A name is empty or not a string, or options are something else.
    """
    if not isinstance(namespace, Mapping):
        names = as_namespaces(namespace) or (ALL_NAMESPACES,)
        return dict.fromkeys(names, NamespaceOptions[Any]())
    given: Mapping[Any, Any] = namespace  # callers may be untyped
    for name, options in given.items():
        if not isinstance(name, str) or not isinstance(options, NamespaceOptions):
            raise ConfigError(
                f"namespace={{{name!r}: {options!r}}}: pass a dict of names and "
                "kinform.NamespaceOptions"
            )
    return dict(namespace)


def check_selection(
    labels: Labels | UnsetType,
    fields: Fields | UnsetType,
    any_of: Sequence[Selectors] | UnsetType,
) -> None:
    """Check that several selectors are not combined with single ones.

    Raises:
        ConfigError: They are, or ``any_of`` is not a sequence of selectors.
    """
    if any_of is UNSET:
        return
    checked_any_of(any_of)
    if labels is not UNSET or fields is not UNSET:
        raise ConfigError("any_of= excludes labels= and fields=; put them into its Selectors")


def check_shareable(option: str, function: Callable[..., object] | None) -> None:
    """Check a function that is part of the key of an informer.

    Raises:
        ConfigError: It is async, or not hashable.
    """
    check_plain(option, function)
    try:
        hash(function)
    except TypeError:
        raise ConfigError(
            f"{option}= must be hashable, because informers with equal options are shared; "
            f"{type(function).__name__} has no __hash__"
        ) from None
