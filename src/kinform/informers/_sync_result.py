"""Waits for informers to sync, and reports which of them have not, with the reason."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from kinform._runtime import Latch
from kinform.api import GVR
from kinform.errors import CacheSyncError
from kinform.informers._informer_status import SyncStatus
from kinform.informers._shared_informer import SharedIndexInformer

logger = logging.getLogger("kinform.informer")

# Seconds between log messages about informers that have not synced.
_PATIENCE = 10.0


class SyncResult(Mapping[str, SyncStatus]):
    """The sync status of each informer by name. True if all have synced.

    ``result[gvr]`` is equivalent to ``result["apps/v1/deployments"]``. Namespaces and selectors are
    part of the name, as in ``v1/pods in default``; they may be omitted if that is unambiguous.
    """

    def __init__(self, statuses: Mapping[str, SyncStatus]) -> None:
        self._statuses = dict(statuses)

    def __getitem__(self, resource: str | GVR) -> SyncStatus:
        name = str(resource)
        if name in self._statuses:
            return self._statuses[name]
        limited = [
            each for each in self._statuses if each.startswith((f"{name} in ", f"{name} where "))
        ]
        if len(limited) != 1:
            known = ", ".join(limited or self) or "none"
            raise KeyError(f"no single informer matches {name}; informers: {known}")
        return self._statuses[limited[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._statuses)

    def __len__(self) -> int:
        return len(self._statuses)

    def __bool__(self) -> bool:
        return all(self._statuses.values())

    @property
    def unsynced(self) -> dict[str, SyncStatus]:
        """The informers that have not synced, sorted by name."""
        return {name: status for name, status in sorted(self._statuses.items()) if not status}

    def __str__(self) -> str:
        late = self.unsynced
        if not late:
            return f"all {len(self)} informers have synced"
        return "; ".join(f"{name}: {status}" for name, status in late.items())

    def __repr__(self) -> str:
        return f"<SyncResult {self}>"

    def raise_for_unsynced(self) -> None:
        """Raise an error unless all informers have synced.

        Raises:
            CacheSyncError: Some have not; the message names them and the reasons.
        """
        if not self:
            raise CacheSyncError(f"{len(self.unsynced)} of {len(self)} informers: {self}")


async def wait_for_sync(
    informers: Mapping[str, SharedIndexInformer[Any]], timeout: float | None
) -> SyncResult:
    """Wait until all started informers have synced or stopped, or until the timeout."""

    def current() -> SyncResult:
        return SyncResult({name: each.sync_status() for name, each in informers.items()})

    waits = [
        asyncio.ensure_future(_synced_or_stopped(each))
        for each in informers.values()
        if each.was_started
    ]
    deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
    try:
        pending = set(waits)
        while pending:
            left = None if deadline is None else deadline - asyncio.get_running_loop().time()
            if left is not None and left <= 0:
                break
            _, pending = await asyncio.wait(
                pending, timeout=_PATIENCE if left is None else min(left, _PATIENCE)
            )
            if pending and (left is None or left > _PATIENCE):
                logger.info("waiting for caches to sync: %s", current())
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    return current()


async def _synced_or_stopped(informer: SharedIndexInformer[Any]) -> None:
    either = (informer.has_synced, informer.stopped)
    latches = [asyncio.ensure_future(_await(latch)) for latch in either]
    try:
        await asyncio.wait(latches, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for latch in latches:
            latch.cancel()
        await asyncio.gather(*latches, return_exceptions=True)


async def _await(latch: Latch) -> None:
    await latch
