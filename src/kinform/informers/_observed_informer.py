"""The part of an informer that reports its state, from any thread."""

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
    """Base class of informers: their contents and state. A subclass implements the processing.

    Attributes:
        form: The class of the objects.
        indexer: The local cache.
        has_synced: Set once the store holds the first complete list; never reset.
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
        # Held while the store changes and the mailboxes are filled, so that a handler registered
        # concurrently receives each change exactly once: in the replay or after it.
        self._lock = threading.RLock()
        self._waiters = VersionWaiters(name, self._parts)

    @property
    def store(self) -> Indexer[T]:
        """Alias of ``indexer``."""
        return self.indexer

    @property
    def registrations(self) -> tuple[Registration[T], ...]:
        """The registered handlers."""
        return self._dispatcher.registrations

    @property
    def last_sync_resource_version(self) -> str:
        """The resource version of the store; with several sources, the oldest one."""
        return oldest([part.resource_version for part in self._parts])

    def wait_for_rv(self, resource_version: str, *, namespace: str | None = None) -> Latch:
        """Return a latch that is set when the store includes this version, such as of an own write.

            created = await client.create(pod)
            await informer.wait_for_rv(created.resource_version)

        With several namespaces, the latch waits for an event or a bookmark of each; ``namespace``
        selects one of them. The informer may be started later. If it stops before it reaches the
        version, waiting raises AlreadyStoppedError.

        Raises:
            CacheError: Versions of this server cannot be compared, or the informer does not have
                this namespace.
            AlreadyStoppedError: The informer stopped before it reached the version. Start it again
                first.
        """
        with self._lock:
            return self._waiters.latch(resource_version, namespace)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces the informer is limited to; empty for all."""
        return tuple(part.name for part in self._parts if part.name)

    @property
    def quarantine(self) -> Mapping[str, QuarantinedObject]:
        """Objects on the server that could not be decoded or transformed, by key."""
        return self._quarantine

    def sync_status(self) -> SyncStatus:
        """Return whether the informer has synced, and the reason if not. Thread-safe."""
        part = worst([part.status() for part in self._parts])
        return SyncStatus(
            synced=bool(self.has_synced),
            phase=part.phase,
            error=self._fault or (part.last_error if part.attempts else None),
            attempts=part.attempts,
            waiting=self.running_for,
        )

    def status(self) -> InformerStatus:
        """Return a full snapshot of the state. Adds up the size of all objects. Thread-safe."""
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

        An idle server sends a bookmark about once a minute, so ``max_age`` should be at least 120.
        """
        staleness = self.staleness
        return self.is_running and staleness is not None and staleness <= max_age

    @property
    def staleness(self) -> float | None:
        """Seconds since the store was last known to be current; ``None`` before the first sync.

        While a watch is open, this is the time since its last event or bookmark, otherwise since
        the connection was lost. With several namespaces, it is the largest value. Thread-safe.
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
