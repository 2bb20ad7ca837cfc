"""What an informer is made of in; how it is doing, for who asks from any thread, out."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from kinform._runtime import Latch, Lifecycle
from kinform.errors import CacheError
from kinform.informers._informer_status import InformerStatus, SyncStatus, worst
from kinform.informers._source_state import SourceState
from kinform.informers._version_waiters import VersionWaiters, oldest
from kinform.informers.dispatch._dispatch import Dispatcher
from kinform.informers.dispatch._registration import Registration
from kinform.informers.reflector._quarantine import Quarantine, QuarantinedObject
from kinform.informers.sources._listwatch import ListWatch
from kinform.informers.store._indexer import Indexer
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class ObservedInformer(Lifecycle, Generic[T]):
    """What can be asked of an informer. A subclass makes it move.

    Attributes:
        form: What objects come out as.
        indexer: What the server has.
        has_synced: Set when the store has had the first complete list; never reverts.
    """

    def __init__(
        self,
        name: str,
        sources: Sequence[ListWatch[T]],
        indexer: Indexer[T],
        dispatcher: Dispatcher[T],
    ) -> None:
        super().__init__(name)
        self.form = sources[0].form
        self.indexer = indexer
        self.has_synced = Latch(f"{name} has synced")
        self._parts = [SourceState(each, indexer, is_whole=len(sources) == 1) for each in sources]
        self._quarantine = Quarantine()
        self._dispatcher = dispatcher
        self._fault: CacheError | None = None
        # Held while the store changes and its mailboxes are filled, so that who registers
        # meanwhile finds every change in the replay or after it, and none in both.
        self._lock = threading.RLock()
        self._waiters = VersionWaiters(name, self._parts)

    @property
    def store(self) -> Indexer[T]:
        """The indexer, for who calls it a store."""
        return self.indexer

    @property
    def registrations(self) -> tuple[Registration[T], ...]:
        """The handlers that are told of changes now."""
        return self._dispatcher.registrations

    @property
    def last_sync_resource_version(self) -> str:
        """How far the store has come; of several sources, the one that has come least far."""
        return oldest([part.resource_version for part in self._parts])

    def wait_for_rv(self, resource_version: str, *, namespace: str | None = None) -> Latch:
        """Set when the store has everything up to this version: reads then see that write.

            created = await client.create(pod)
            await informer.wait_for_rv(created.resource_version)

        An informer of several namespaces waits for all of them, which takes until each had an
        event or a bookmark; ``namespace`` waits for one. One that has not been started waits for
        that, too; if it stops before the version has come, waiting raises AlreadyStoppedError.

        Raises:
            CacheError: Versions of this server have no order, so none can be waited for; or this
                informer has no such namespace.
            AlreadyStoppedError: It has stopped, and the version had not come; start it again first.
        """
        with self._lock:
            return self._waiters.latch(resource_version, namespace)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that it is limited to; empty for all."""
        return tuple(part.name for part in self._parts if part.name)

    @property
    def quarantine(self) -> Mapping[str, QuarantinedObject]:
        """Objects that the server has and that could not be read or transformed."""
        return self._quarantine

    def sync_status(self) -> SyncStatus:
        """Whether it has synced, and if not, why not. Any thread."""
        part = worst([part.status() for part in self._parts])
        return SyncStatus(
            synced=bool(self.has_synced),
            phase=part.phase,
            error=self._fault or (part.last_error if part.attempts else None),
            attempts=part.attempts,
            waiting=self.running_for,
        )

    def status(self) -> InformerStatus:
        """Everything there is to know; adds up the bytes of all objects. Any thread."""
        parts = {part.name: part.status() for part in self._parts}
        return InformerStatus(
            name=self.name,
            sync=self.sync_status(),
            is_running=self.is_running,
            mode=worst(list(parts.values())).mode,
            objects=len(self.indexer),
            bytes=self.indexer.memory,
            index_bytes=self.indexer.index_memory,
            resource_version=self.last_sync_resource_version,
            queue_depth=self._queue_depth,
            quarantined=len(self._quarantine),
            parts=parts,
            handlers={each.name: each.stats for each in self.registrations},
        )

    def is_fresh(self, max_age: float) -> bool:
        """Whether it runs, has synced, and was known to be current within ``max_age`` seconds.

        An idle server sends a bookmark about once a minute, so ``max_age`` is best 120 or more.
        """
        staleness = self.staleness
        return self.is_running and staleness is not None and staleness <= max_age

    @property
    def staleness(self) -> float | None:
        """Seconds since the store was last known to be current; ``None`` before the first sync.

        While a watch is open: since its last event or bookmark. While it is not: since it was
        lost. Of several namespaces: the one that has waited longest. Any thread.
        """
        if not self.has_synced:
            return None
        ages = [part.staleness() for part in self._parts]
        return None if None in ages else max(age for age in ages if age is not None)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.name}: {len(self.indexer)} objects, "
            f"{self.sync_status()}>"
        )

    @property
    def _queue_depth(self) -> int:
        return sum(len(part.controller.queue) for part in self._parts if part.controller)
