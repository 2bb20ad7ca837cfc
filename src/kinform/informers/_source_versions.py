"""The resource versions that the sources of an informer have reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kinform.api import compare_resource_versions, is_comparable, is_older
from kinform.errors import CacheError
from kinform.informers._scope import ALL_NAMESPACES, Scope


class HasVersion(Protocol):
    """The resource version that one list and watch has reached."""

    @property
    def name(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


class SourceVersions:
    """Compares versions with those of the sources of an informer.

    Args:
        informer: The name of the informer, for errors.
        sources: Returns the current sources.
        scope: Returns the scope that was requested.
    """

    def __init__(
        self,
        informer: str,
        sources: Callable[[], Sequence[HasVersion]],
        scope: Callable[[], Scope],
    ) -> None:
        self._informer = informer
        self._sources = sources
        self._regressions: list[tuple[str, str]] = []
        self._scope = scope

    def condition(self, resource_version: str, namespace: str | None) -> Callable[[], bool]:
        """Return a function that reports whether the store includes this version.

        It raises CacheError once the namespace is not covered any more, or the version is lost.

        Raises:
            CacheError: The version cannot be compared.
        """
        if not is_comparable(resource_version):
            raise CacheError(
                f"{self._informer}: version {resource_version!r} is not a number, so it cannot "
                "be compared with later versions"
            )
        known = len(self._regressions)

        def is_reached() -> bool:
            self._require_not_lost(resource_version, self._regressions[known:])
            return self._is_reached(resource_version, namespace)

        return is_reached

    def went_back(self, before: str, after: str) -> None:
        """Note that a server went back: it will use the versions in between for other changes."""
        self._regressions.append((before, after))

    def _require_not_lost(
        self, resource_version: str, regressions: Sequence[tuple[str, str]]
    ) -> None:
        for before, after in regressions:
            if is_older(before, resource_version):
                raise CacheError(
                    f"{self._informer}: version {resource_version} was lost: the server's versions "
                    f"went back from {before} to {after}; read the object again"
                )

    def _is_reached(self, resource_version: str, namespace: str | None) -> bool:
        sources = self._sources()
        if namespace is not None:
            self._require_covered(namespace)
            own = [each for each in sources if each.name == namespace]
            sources = own or [each for each in sources if each.name == ALL_NAMESPACES]
            if not sources:
                return False  # requested, and about to be added
        orders = (
            compare_resource_versions(each.resource_version, resource_version) for each in sources
        )
        return all(order is not None and order >= 0 for order in orders)

    def _require_covered(self, namespace: str) -> None:
        scope = self._scope()
        if not scope.covers(namespace):
            raise CacheError(
                f"{self._informer} does not cover namespace {namespace!r}; it covers "
                f"{scope.coverage}"
            )


def oldest(versions: Sequence[str]) -> str:
    """Return the oldest version; empty if one of them is empty, or if there is none."""
    found = versions[0] if versions else ""
    for version in versions[1:]:
        if not version or is_older(version, found):
            found = version
    return found
