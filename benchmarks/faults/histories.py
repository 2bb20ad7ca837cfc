"""Whether what a watcher's handler got can be true: each key's calls beside what was written.

A handler may miss states that a list folded together. It may never get a version that was not
written, an older version after a newer one, an addition of an object that it has, or an update or
a deletion of one that it does not have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from benchmarks.faults.logs import ADDED, DELETED, DELETED_UNSEEN, UNKNOWN, UPDATED, Call, Write


def without_repeats(calls: Iterable[Call]) -> list[Call]:
    """Without updates to the same version, which client-go calls handlers with after a list."""
    last: dict[str, int] = {}
    kept = []
    for call in calls:
        if not (call.kind == UPDATED and last.get(call.key) == call.version):
            kept.append(call)
        last[call.key] = call.version
    return kept


def contradictions(calls: Iterable[Call], writes: Iterable[Write]) -> list[str]:
    """What cannot be explained, one sentence each; empty if all is well."""
    written: dict[str, set[int]] = defaultdict(set)
    uncertain: set[str] = set()
    for write in writes:
        if write.version is not None:
            written[write.key].add(write.version)
        elif write.kind == UNKNOWN:
            uncertain.add(write.key)
    found = []
    existing: dict[str, int] = {}
    newest: dict[str, int] = {}
    for call in without_repeats(calls):
        key, version = call.key, call.version
        exists = key in existing
        if call.kind in (ADDED, UPDATED):
            if exists == (call.kind == ADDED):
                found.append(f"{key} {version}: {'added' if exists else 'updated'} out of turn")
            if version <= newest.get(key, 0):
                found.append(f"{key} {version}: came after {newest[key]}")
            if version not in written[key] and key in written and key not in uncertain:
                found.append(f"{key} {version}: was never written")
            existing[key] = newest[key] = version
        else:
            if not exists:
                found.append(f"{key} {version}: deleted, but did not exist")
            if call.kind == DELETED and version <= newest.get(key, 0):
                found.append(f"{key} {version}: deleted after {newest[key]}")
            if call.kind == DELETED_UNSEEN and version != existing.get(key):
                found.append(f"{key} {version}: deleted with a state that the handler never got")
            existing.pop(key, None)
            newest[key] = max(version, newest.get(key, 0))
    return found


def believed(calls: Iterable[Call]) -> Mapping[str, int]:
    """Keys and versions that exist after all these calls."""
    existing: dict[str, int] = {}
    for call in calls:
        if call.kind in (ADDED, UPDATED):
            existing[call.key] = call.version
        else:
            existing.pop(call.key, None)
    return existing
