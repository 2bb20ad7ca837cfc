"""Compares what was written to the server with what the handlers received. No I/O."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kinform.api import GVR, ObjectName
from kinform.testing import ApiServer

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Write:
    version: int
    created: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """The result of a comparison.

    Attributes:
        written: The number of changes on the server.
        received: How many of them the handlers received.
        replaced: How many were followed by another change of the same object while the informer
            had to list again: a list has the last state only.
        missing: The changes that were not received, and not replaced either.
        unexpected: Events that were delivered twice, or that no change on the server explains.
    """

    written: int
    received: int
    replaced: int
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]


class Ledger:
    """Notes each change on the server, and each event of a handler, by resource version."""

    def __init__(self) -> None:
        self._writes: defaultdict[tuple[GVR, str], list[_Write]] = defaultdict(list)
        self._received: Counter[tuple[GVR, str, int]] = Counter()
        self._gaps: dict[GVR, tuple[int, int | None]] = {}

    def wrote(
        self, gvr: GVR, key: str, version: int, *, created: bool = False, deleted: bool = False
    ) -> None:
        self._writes[gvr, key].append(_Write(version, created, deleted))

    def received(self, gvr: GVR, key: str, version: int) -> None:
        self._received[gvr, key, version] += 1

    def received_deletion(self, gvr: GVR, key: str) -> None:
        """Note a deletion that a list brought to light; it has no version of its own."""
        deletions = [write.version for write in self._writes[gvr, key] if write.deleted]
        self.received(gvr, key, deletions[-1] if deletions else 0)

    def open_gap(self, gvr: GVR, after: int) -> None:
        """Note that changes after this version may be received as a list, until ``close_gap``."""
        self._gaps[gvr] = (after, None)

    def close_gap(self, gvr: GVR, last: int) -> None:
        self._gaps[gvr] = (self._gaps[gvr][0], last)

    def account(self, *, since: int) -> Account:
        """Compare all changes after a version, which the handlers received as their first list."""
        written = replaced = 0
        missing: list[str] = []
        explained: set[tuple[GVR, str, int]] = set()
        for (gvr, key), every in self._writes.items():
            writes = [write for write in every if write.version > since]
            written += len(writes)
            for write in writes:
                explained.add((gvr, key, write.version))
                if (gvr, key, write.version) in self._received:
                    continue
                if self._is_replaced(gvr, write, writes):
                    replaced += 1
                else:
                    missing.append(f"{gvr.resource} {key} at version {write.version}")
        unexpected = [
            f"{gvr.resource} {key} at version {version}, received {count} times"
            for (gvr, key, version), count in self._received.items()
            if count > 1 or (gvr, key, version) not in explained
        ]
        received = written - replaced - len(missing)
        return Account(written, received, replaced, tuple(missing), tuple(unexpected))

    def _is_replaced(self, gvr: GVR, write: _Write, writes: list[_Write]) -> bool:
        after, last = self._gaps.get(gvr, (0, 0))
        in_gap = [
            each
            for each in writes
            if after < each.version and (last is None or each.version <= last)
        ]
        if write not in in_gap:
            return False
        # An object that was created and deleted within the gap is in no list.
        return write is not in_gap[-1] or (write.deleted and in_gap[0].created)


class RecordedApi:
    """The in-process API of a server, which notes the changes of some resources in a ledger.

    Args:
        api: The server.
        ledger: Receives each change.
        resources: The resources to note, by kind.
    """

    def __init__(self, api: ApiServer, ledger: Ledger, resources: Mapping[str, GVR]) -> None:
        self._api = api
        self._ledger = ledger
        self._resources = resources

    def create(self, obj: Mapping[str, Any]) -> Manifest:
        created = self._api.create(obj)
        self._note(created, created=True)
        return created

    def update(self, obj: Mapping[str, Any], *, subresource: str = "") -> Manifest:
        before = self._api.resource_version
        updated = self._api.update(obj, subresource=subresource)
        if self._api.resource_version != before:
            self._note(updated)
        return updated

    def list(self, gvr: GVR, namespace: str = "") -> list[Manifest]:
        return self._api.list(gvr, namespace)

    def delete(
        self, gvr: GVR, name: str, namespace: str = "", *, grace_period: int | None = None
    ) -> bool:
        before = int(self._api.resource_version)
        gone = self._api.delete(gvr, name, namespace, grace_period=grace_period)
        last = int(self._api.resource_version)
        if gvr in self._resources.values():
            # A pod is marked first, and removed afterwards.
            for version in range(before + 1, last + 1):
                is_gone = gone and version == last
                self._ledger.wrote(gvr, ObjectName(namespace, name).key, version, deleted=is_gone)
        return gone

    def _note(self, manifest: Manifest, *, created: bool = False) -> None:
        gvr = self._resources.get(manifest["kind"])
        if gvr is not None:
            version = int(manifest["metadata"]["resourceVersion"])
            self._ledger.wrote(gvr, key_of(manifest), version, created=created)


def key_of(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    return ObjectName(metadata.get("namespace", ""), metadata["name"]).key
