"""Latches that are set when a store reaches a resource version."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Protocol

from kinform._runtime import Latch
from kinform.api import compare_resource_versions, is_comparable
from kinform.errors import AlreadyStoppedError, CacheError


class HasVersion(Protocol):
    """The resource version that one list and watch has reached."""

    @property
    def name(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


class VersionWaiters:
    """The latches waiting for versions. Not thread-safe: the caller holds the lock.

    Attributes:
        waiting: The pending latches; if empty, ``check`` need not be called.
    """

    def __init__(self, informer: str, sources: Callable[[], Sequence[HasVersion]]) -> None:
        self._informer = informer
        self._sources = sources
        # Weak references: an abandoned latch is dropped.
        self.waiting: list[tuple[str, str | None, weakref.ref[Latch]]] = []
        self._is_over = False

    def begin(self) -> None:
        """Accept latches again, before the informer starts."""
        self._is_over = False

    def end(self) -> None:
        """Fail all pending latches: the informer has stopped, and no version will follow."""
        self._is_over = True
        waiting, self.waiting = self.waiting, []
        for resource_version, _, reference in waiting:
            latch = reference()
            if latch is not None:
                latch.give_up(self._why_never(resource_version))

    def latch(self, resource_version: str, namespace: str | None) -> Latch:
        """Return a latch that is set when the store includes this version.

        Raises:
            CacheError: The version cannot be compared, or the namespace is unknown.
            AlreadyStoppedError: The informer stopped before it reached the version.
        """
        if not is_comparable(resource_version):
            raise CacheError(
                f"{self._informer}: version {resource_version!r} is not a number, so it cannot "
                "be compared with later versions"
            )
        if (missing := self._why_not_covered(namespace)) is not None:
            raise CacheError(missing)
        latch = Latch(f"{self._informer} has version {resource_version}")
        if self._is_reached(resource_version, namespace):
            latch.set()
        elif self._is_over:
            raise AlreadyStoppedError(self._why_never(resource_version))
        else:
            self.waiting.append((resource_version, namespace, weakref.ref(latch)))
        return latch

    def check(self) -> None:
        """Set the latches whose version has been reached."""
        still_waiting = []
        for resource_version, namespace, reference in self.waiting:
            latch = reference()
            if latch is None:
                continue
            if (missing := self._why_not_covered(namespace)) is not None:
                latch.give_up(missing)
            elif self._is_reached(resource_version, namespace):
                latch.set()
            else:
                still_waiting.append((resource_version, namespace, reference))
        self.waiting = still_waiting

    def _why_never(self, resource_version: str) -> str:
        return (
            f"informer {self._informer} stopped before it reached version {resource_version}; "
            "start it again, then wait"
        )

    def _is_reached(self, resource_version: str, namespace: str | None) -> bool:
        sources = self._sources()
        chosen = [each for each in sources if namespace in (None, each.name)] or sources
        orders = (
            compare_resource_versions(each.resource_version, resource_version) for each in chosen
        )
        return all(order is not None and order >= 0 for order in orders)

    def _why_not_covered(self, namespace: str | None) -> str | None:
        names = [each.name for each in self._sources()]
        if namespace is None or names == [""] or namespace in names:
            return None
        return (
            f"{self._informer} does not cover namespace {namespace!r}; it covers "
            f"{', '.join(names) or 'no namespace'}"
        )


def oldest(versions: Sequence[str]) -> str:
    """Return the oldest version; empty if one of them is empty, or if there is none."""
    found = versions[0] if versions else ""
    for version in versions[1:]:
        if not version or (compare_resource_versions(version, found) or 0) < 0:
            found = version
    return found
