"""Reads the logs of a run: handler calls, writes, and requests to the API server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["ResponseStarted", "ResponseComplete", "Panic"],
    "rules": [{"level": "Metadata", "verbs": ["get", "list", "watch"]}, {"level": "None"}],
}
"""What kube-apiserver logs: each read, once, when it is received."""

ADDED = "A"
UPDATED = "U"
DELETED = "D"
DELETED_UNSEEN = "X"
"""A deletion that a list noticed; its version is the last one that the watcher knew."""
UNKNOWN = "?"
"""A write that the server did not answer."""


class Call(NamedTuple):
    """A handler call: when (CLOCK_MONOTONIC ns), one of the kinds above, and which object."""

    at: int
    kind: str
    key: str
    version: int


class Write(NamedTuple):
    """A write; a deletion and a write of unknown outcome have no version."""

    sent: int
    answered: int
    kind: str
    key: str
    version: int | None


class Requests(NamedTuple):
    """Reads that the API server received from one watcher; a streamed list is a list."""

    lists: int = 0
    watches: int = 0
    others: int = 0

    @property
    def total(self) -> int:
        return sum(self)


def read_calls(path: Path, *, prefix: str) -> list[Call]:
    """The calls about objects whose key begins with ``prefix``, in order."""
    calls = []
    with path.open() as lines:
        for line in lines:
            at, kind, key, version = line.split()
            if key.startswith(prefix):
                calls.append(Call(int(at), kind, key, int(version)))
    return calls


def read_writes(path: Path) -> list[Write]:
    """In the order of their answers; of one object, that is the order in which it changed."""
    writes = []
    with path.open() as lines:
        for line in lines:
            sent, answered, kind, key, version = line.split()
            number = None if version == "-" else int(version)
            writes.append(Write(int(sent), int(answered), kind, key, number))
    return writes


def count_requests(audit_lines: Iterable[str]) -> dict[str, Requests]:
    """Reads by User-Agent."""
    counters: dict[str, Counter[str]] = {}
    for line in audit_lines:
        entry = json.loads(line)
        verb = entry["verb"]
        if verb == "list" or "sendInitialEvents=true" in entry["requestURI"]:
            kind = "lists"
        else:
            kind = "watches" if verb == "watch" else "others"
        counters.setdefault(entry.get("userAgent", ""), Counter())[kind] += 1
    return {agent: Requests(**counter) for agent, counter in counters.items()}
