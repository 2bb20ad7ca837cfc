"""The scope of an informer: its namespaces, and the selectors of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kinform.client import Fields, Labels, as_field_selector, as_label_selector
from kinform.errors import ConfigError

ALL_NAMESPACES = ""
"""All namespaces; in a scope that lists others, all that are not listed."""


class Selectors:
    """The label and field selector of one list and watch. Immutable and hashable.

        Selectors(labels={"app": "web"}), Selectors(fields="spec.nodeName=n1")

    Attributes:
        labels, fields: The selectors, as normalised strings.

    Raises:
        SelectorError: A selector is invalid.
    """

    __slots__ = ("fields", "labels")

    def __init__(self, labels: Labels = "", fields: Fields = "") -> None:
        self.labels = str(as_label_selector(labels))
        self.fields = str(as_field_selector(fields))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selectors):
            return NotImplemented
        return (self.labels, self.fields) == (other.labels, other.fields)

    def __hash__(self) -> int:
        return hash((self.labels, self.fields))

    def __str__(self) -> str:
        return " and ".join(filter(None, (self.labels, self.fields)))

    def __repr__(self) -> str:
        return f"Selectors(labels={self.labels!r}, fields={self.fields!r})"


class Scope(msgspec.Struct, frozen=True):
    """The objects an informer covers. Immutable and hashable; a change is a new scope.

    Attributes:
        parts: Namespaces with their selectors, sorted. A namespace with several selectors occurs
            several times; objects that match at least one of them are covered. The namespace ``""``
            stands for all namespaces that are not listed, and for cluster-scoped resources.
        excluded: The namespaces that ``""`` does not stand for, although they are not listed.
    """

    parts: tuple[tuple[str, Selectors], ...] = ((ALL_NAMESPACES, Selectors()),)
    excluded: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        selectors: Mapping[str, Selectors | Sequence[Selectors]],
        *,
        excluded: Iterable[str] = (),
    ) -> Scope:
        """Return the scope of these namespaces, each with its selectors."""
        parts = {
            (name, each)
            for name, given in selectors.items()
            for each in ((given,) if isinstance(given, Selectors) else given)
        }
        return cls(
            tuple(sorted(parts, key=lambda part: (part[0], part[1].labels, part[1].fields))),
            tuple(sorted(set(excluded))),
        )

    @property
    def selectors(self) -> dict[str, tuple[Selectors, ...]]:
        """The selectors by namespace."""
        found: dict[str, tuple[Selectors, ...]] = {}
        for name, selectors in self.parts:
            found[name] = (*found.get(name, ()), selectors)
        return found

    @property
    def requests(self) -> tuple[tuple[str, Selectors], ...]:
        """The namespace and the selectors of each list and watch.

        Those of ``""`` exclude the namespaces that it does not stand for.
        """
        others = sorted({*self.excluded, *self.selectors} - {ALL_NAMESPACES})
        but = [f"metadata.namespace!={name}" for name in others]
        return tuple(
            (name, each if name or not but else _and_fields(each, but)) for name, each in self.parts
        )

    @property
    def is_all_namespaces(self) -> bool:
        """Whether no namespace is outside of the scope."""
        return ALL_NAMESPACES in self.selectors and not self.excluded

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The only namespaces that are covered; empty if others are, too."""
        names = tuple(self.selectors)
        return () if ALL_NAMESPACES in names else names

    @property
    def coverage(self) -> str:
        """The covered namespaces, in words."""
        if ALL_NAMESPACES not in self.selectors:
            return ", ".join(self.namespaces) or "no namespace"
        return f"all namespaces{' except ' if self.excluded else ''}{', '.join(self.excluded)}"

    def covers(self, namespace: str) -> bool:
        """Whether objects of this namespace are covered, as far as the selectors admit them."""
        names = [name for name, _ in self.parts]
        return namespace in names or (ALL_NAMESPACES in names and namespace not in self.excluded)

    def with_namespace(self, namespace: str, selectors: Sequence[Selectors]) -> Scope:
        """Return the scope with one more namespace; ``""`` does not stand for it any more.

        Raises:
            ConfigError: All namespaces are covered together, or this one is, with other selectors;
                or the name is empty.
        """
        given = self.selectors
        if not namespace:
            raise ConfigError("add_namespace requires the name of a namespace")
        if list(given) == [ALL_NAMESPACES] and self.covers(namespace):
            raise ConfigError(
                f"namespace {namespace!r} cannot be added: {self.coverage} are covered already"
            )
        if namespace in given and set(given[namespace]) != set(selectors):
            raise ConfigError(
                f"namespace {namespace!r} is covered already, with other selectors; change them "
                "with set_selectors"
            )
        excluded = [name for name in self.excluded if name != namespace]
        return Scope.of({**given, namespace: selectors}, excluded=excluded)

    def without_namespace(self, namespace: str) -> Scope:
        """Return the scope without a namespace, or with ``""`` standing for it again.

        Raises:
            ConfigError: All namespaces are covered together, or this one is not covered.
        """
        self._require(namespace)
        rest = {name: each for name, each in self.selectors.items() if name != namespace}
        return Scope.of(rest, excluded=self.excluded)

    def with_selectors(self, selectors: Sequence[Selectors], namespace: str | None = None) -> Scope:
        """Return the scope with other selectors, of one namespace or of all it has.

        Raises:
            ConfigError: The namespace is not covered by itself.
        """
        given = self.selectors
        if namespace is None:
            return Scope.of(dict.fromkeys(given, selectors), excluded=self.excluded)
        self._require(namespace)
        return Scope.of({**given, namespace: selectors}, excluded=self.excluded)

    def __str__(self) -> str:
        where = "" if self.is_all_namespaces else f"in {self.coverage}"
        distinct = dict.fromkeys(str(each) for _, each in self.parts)
        which = " or ".join(filter(None, distinct))
        return f"{where}{f' where {which}' if which else ''}".strip()

    def _require(self, namespace: str) -> None:
        if namespace not in self.selectors:
            raise ConfigError(
                f"namespace {namespace!r} is not in the scope; it covers {self.coverage}"
            )


def overlap(one: str, other: str) -> bool:
    """Whether sources of these two namespaces may have the same objects, at least for a time.

    While a namespace is added or removed, the sources of ``""`` and of the namespace both have it.
    """
    return one == other or ALL_NAMESPACES in (one, other)


def _and_fields(selectors: Selectors, terms: Sequence[str]) -> Selectors:
    return Selectors(selectors.labels, ",".join(filter(None, (selectors.fields, *terms))))


def selections(
    labels: Labels, fields: Fields, any_of: Sequence[Selectors] | None
) -> tuple[Selectors, ...]:
    """Return the selectors that were given: one with labels and fields, or several.

    Raises:
        ConfigError: Both were given, or ``any_of`` is not a sequence of selectors.
        SelectorError: A selector is invalid.
    """
    if any_of is None:
        return (Selectors(labels, fields),)
    if labels != "" or fields != "":
        raise ConfigError("any_of= excludes labels= and fields=; put them into its Selectors")
    return checked_any_of(any_of)


def checked_any_of(any_of: Sequence[Selectors]) -> tuple[Selectors, ...]:
    """Return the selectors as a tuple.

    Raises:
        ConfigError: There are none, or these are not Selectors.
    """
    given: object = any_of  # callers may be untyped
    is_sequence = isinstance(given, Sequence) and not isinstance(given, str)
    if not is_sequence or not any_of or not all(isinstance(each, Selectors) for each in any_of):
        raise ConfigError(
            f"any_of={any_of!r}: pass a list of selectors, such as "
            '[Selectors(labels="app=web"), Selectors(fields="spec.nodeName=n1")]'
        )
    return tuple(any_of)
