"""Reports size and version of an informer's store, and the depth of its queue, as metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kinform.informers._changes import Change, ChangeType
from kinform.informers.store import Entry, Table
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Record


class StoreMetrics:
    """Updates the metrics of a store with each change. Does nothing without metrics."""

    def __init__(self, informer: str, table: Table, metrics: Metrics) -> None:
        self._informer = informer
        self._table = table
        self._metrics = metrics
        self._bytes = 0
        self.is_enabled = metrics is not NO_METRICS

    def applied(
        self, changes: Sequence[Change], *, is_list: bool, queue_depth: int, seconds: float
    ) -> None:
        """Report that one item of the queue was applied."""
        metrics, table = self._metrics, self._table
        if is_list:
            self._bytes = table.memory
        else:
            for change in changes:
                # The final state of a deletion is not stored.
                stored = _memory(change.new) if change.type is not ChangeType.DELETED else 0
                self._bytes += stored - _memory(change.old)
        metrics.processed(self._informer, seconds)
        metrics.queue_depth(self._informer, queue_depth)
        metrics.store_changed(self._informer, len(table), self._bytes, table.resource_version)
        metrics.advanced(self._informer, table.resource_version)

    def started(self, staleness: Callable[[], float | None]) -> None:
        self._metrics.informer_started(self._informer, staleness)

    def stopped(self) -> None:
        self._metrics.informer_stopped(self._informer)


def _memory(entry: Entry | None) -> int:
    return entry.memory if isinstance(entry, Record) else 0
