"""The scope of an informer: its namespaces, and the selectors of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from kinform.errors import ConfigError

ALL_NAMESPACES = ""
"""The key under which a scope holds the selectors of all namespaces."""


class Selectors(msgspec.Struct, frozen=True):
    """The label and field selector of one list and watch, as strings."""

    labels: str = ""
    fields: str = ""

    def __str__(self) -> str:
        return " and ".join(filter(None, (self.labels, self.fields)))


class Scope(msgspec.Struct, frozen=True):
    """The objects an informer covers. Immutable and hashable; a change is a new scope.

    Attributes:
        parts: Each namespace with its selectors, sorted. The single namespace ``""`` stands for all
            namespaces, and for cluster-scoped resources.
    """

    parts: tuple[tuple[str, Selectors], ...] = ((ALL_NAMESPACES, Selectors()),)

    @classmethod
    def of(cls, selectors: Mapping[str, Selectors]) -> Scope:
        return cls(tuple(sorted(selectors.items(), key=lambda part: part[0])))

    @property
    def selectors(self) -> dict[str, Selectors]:
        """The selectors by namespace."""
        return dict(self.parts)

    @property
    def is_all_namespaces(self) -> bool:
        return ALL_NAMESPACES in self.selectors

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces; empty if all are covered."""
        return () if self.is_all_namespaces else tuple(name for name, _ in self.parts)

    def covers(self, namespace: str) -> bool:
        """Whether objects of this namespace are covered, as far as the selectors admit them."""
        return self.is_all_namespaces or namespace in self.selectors

    def with_namespace(self, namespace: str, selectors: Selectors) -> Scope:
        """Return the scope with one more namespace.

        Raises:
            ConfigError: All namespaces are covered, or this one is, with other selectors.
        """
        if self.is_all_namespaces:
            raise ConfigError(
                f"namespace {namespace!r} cannot be added: all namespaces are covered already"
            )
        if self.selectors.get(namespace, selectors) != selectors:
            raise ConfigError(
                f"namespace {namespace!r} is covered already, with other selectors; change them "
                "with set_selectors"
            )
        return Scope.of({**self.selectors, namespace: selectors})

    def without_namespace(self, namespace: str) -> Scope:
        """Return the scope without a namespace.

        Raises:
            ConfigError: All namespaces are covered together, or this one is not covered.
        """
        self._require(namespace)
        return Scope.of({name: each for name, each in self.selectors.items() if name != namespace})

    def with_selectors(self, selectors: Selectors, namespace: str | None = None) -> Scope:
        """Return the scope with other selectors, of one namespace or of all it has.

        Raises:
            ConfigError: The namespace is not covered by itself.
        """
        if namespace is None:
            return Scope.of(dict.fromkeys(self.selectors, selectors))
        self._require(namespace)
        return Scope.of({**self.selectors, namespace: selectors})

    def __str__(self) -> str:
        where = f" in {', '.join(self.namespaces)}" if self.namespaces else ""
        distinct = dict.fromkeys(str(each) for each in self.selectors.values())
        which = " or ".join(filter(None, distinct))
        return f"{where}{f' where {which}' if which else ''}".strip()

    def _require(self, namespace: str) -> None:
        if namespace not in self.selectors:
            covered = ", ".join(self.namespaces) or (
                "all namespaces" if self.is_all_namespaces else "no namespace"
            )
            raise ConfigError(f"namespace {namespace!r} is not in the scope; it covers {covered}")


def scope_of(namespaces: Iterable[str], selectors: Selectors) -> Scope:
    """Return the scope of these namespaces, or of all if there are none."""
    return Scope.of(dict.fromkeys(namespaces, selectors) or {ALL_NAMESPACES: selectors})
