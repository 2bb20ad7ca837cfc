"""The read guard: reports reads of a cache that does not have what was asked for."""

from __future__ import annotations

import logging
from typing import Any, Literal

from kinform.errors import CacheSyncError, ConfigError, OutOfScopeError
from kinform.informers._scope import Scope
from kinform.informers._shared_informer import SharedIndexInformer

logger = logging.getLogger("kinform.informer")

UnsyncedReads = Literal["warn", "raise", "allow"]
"""What a lister does before the first sync: log a warning, raise ``CacheSyncError``, or nothing."""

_CHOICES = ("warn", "raise", "allow")


class ReadGuard:
    """Checks the reads of a lister against the state of its informer. Thread-safe.

    Args:
        informer: The informer that fills the store.
        unsynced_reads: The reaction to a read before the first sync.
    """

    def __init__(self, informer: SharedIndexInformer[Any], unsynced_reads: UnsyncedReads) -> None:
        self._informer = informer
        self._unsynced_reads = check_unsynced_reads(unsynced_reads)
        self.is_open = unsynced_reads == "allow"
        self._all_covered: Scope | None = None

    def check_synced(self) -> None:
        """Report a read before the first sync. Not needed any more once ``is_open`` is true.

        Raises:
            CacheSyncError: The informer has not synced, and ``unsynced_reads`` is ``raise``.
        """
        core = self._informer._core
        if core.is_filled:
            self.is_open = True
            return
        problem = (
            f"{core.name} was read before its first sync, so objects may be missing "
            f"({core.sync_status()}); wait for wait_for_cache_sync() or has_synced first"
        )
        if self._unsynced_reads == "raise":
            raise CacheSyncError(problem)
        if not core.has_warned_of_reads:
            core.has_warned_of_reads = True
            logger.warning("%s", problem)

    def check_covers(self, namespace: str) -> None:
        """Report a read of a namespace that the informer does not watch.

        Raises:
            OutOfScopeError: The namespace is not covered, so the cache says nothing about it.
        """
        scope = self._informer.scope
        if scope is self._all_covered or not namespace:
            return
        if scope.is_all_namespaces:
            self._all_covered = scope  # the scope may change, which is another object
        elif not scope.covers(namespace):
            raise OutOfScopeError(
                f"{self._informer.name} does not cover namespace {namespace!r}, so the cache says "
                f"nothing about it; it covers {scope.coverage}"
            )


def check_unsynced_reads(given: UnsyncedReads) -> UnsyncedReads:
    """Return the option if it is valid.

    Raises:
        ConfigError: It is not.
    """
    if given not in _CHOICES:
        raise ConfigError(f"unsynced_reads must be one of {', '.join(_CHOICES)}, not {given!r}")
    return given
