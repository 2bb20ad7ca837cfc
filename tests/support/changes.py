"""Changes of a store for those who test what becomes of them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from kinform.informers._changes import Change, ChangeSource, ChangeType
from kinform.informers.dispatch._dispatcher import Dispatcher
from kinform.objects import JSON, Record, Unstructured


def record(name: str, rv: str = "1", **labels: str) -> Record:
    """A pod as it rests in a store."""
    metadata = {"name": name, "namespace": "default", "resourceVersion": rv, "labels": labels}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return Record.read(json.dumps(document).encode(), JSON)


def added(new: Record, source: ChangeSource = ChangeSource.WATCH) -> Change:
    return Change(ChangeType.ADDED, new.head.key, source, None, new, time.monotonic())


def updated(old: Record, new: Record, source: ChangeSource = ChangeSource.WATCH) -> Change:
    return Change(ChangeType.UPDATED, new.head.key, source, old, new, time.monotonic())


def deleted(
    old: Record | None,
    new: Record | None = None,
    source: ChangeSource = ChangeSource.WATCH,
    *,
    key: str = "",
) -> Change:
    last = new or old
    key = key if last is None else last.head.key
    return Change(ChangeType.DELETED, key, source, old, new, time.monotonic())


def deliver(pods: Dispatcher[Any], changes: Sequence[Change]) -> bool:
    """Have them told, as an informer does it; whether somebody has enough now."""
    is_full = pods.deliver(changes)
    pods.run_inline_handlers()
    return is_full


def wake(entry: Record) -> Unstructured:
    return Unstructured.over(entry)


def version(entry: Record) -> str:
    return entry.head.resource_version
