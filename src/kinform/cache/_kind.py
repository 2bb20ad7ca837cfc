"""One kind of a cache: its informer, and what outlives it."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, TypeVar

from msgspec.structs import replace

from kinform._runtime import Latch
from kinform.api import GVR, ApiResource
from kinform.cache._field_index import BUILT_IN, IndexFunction, index_name
from kinform.cache._own_writes import OwnWrites
from kinform.cache._reader import KindReader
from kinform.errors import CacheError, KinformError
from kinform.informers import (
    InformerKey,
    ResourceInformer,
    SharedIndexInformer,
    label_index,
)
from kinform.metrics import Metrics
from kinform.objects import Handle

logger = logging.getLogger("kinform.cache")

T = TypeVar("T", bound=Handle)


class CachedKind:
    """One kind of a cache, whole or metadata only.

    The informer is created when the server knows the resource, and is released and run again as
    the cache is used. Indexes and handlers stay.

    Args:
        gvr: The resource.
        only_metadata: Whether only metadata is cached.
        default_namespace: The namespace of names without one.
        own_writes: The writes that the cache may not have yet.
        metrics: Receives its numbers.

    Attributes:
        is_declared: Whether the program declared it, so that reads are expected.
        is_wanted: Whether its informer is to run while the cache runs.
        is_opening: Whether the server is being asked for the resource.
        waiting_reads: The number of reads that wait for it.
        resource: The resource as the server describes it, if known.
        opened: Set when its informer has been started.
        caught_up: Set when its objects are those of the current run of the informer.
        problem: Why there is no informer yet.
        lease: The lease of the informer while it runs.
        informer: The informer, also after it was released.
    """

    def __init__(
        self,
        gvr: GVR,
        *,
        only_metadata: bool,
        default_namespace: str,
        own_writes: OwnWrites,
        metrics: Metrics,
    ) -> None:
        self.gvr = gvr
        self.metrics = metrics
        self.only_metadata = only_metadata
        self.is_declared = False
        self.is_wanted = False
        self.is_opening = False
        self.waiting_reads = 0
        self.resource: ApiResource | None = None
        self.opened = self._new_latch()
        self.caught_up = Latch(f"{self} has caught up")
        self.problem: KinformError | None = None
        self.lease: ResourceInformer[Any] | None = None
        self.informer: SharedIndexInformer[Any] | None = None
        self._default_namespace = default_namespace
        self._own_writes = own_writes
        self._lock = threading.RLock()
        self._key: InformerKey | None = None
        self._opened_at = 0.0
        self._warned_at = 0
        self._indexes: dict[str, tuple[type[Handle] | None, IndexFunction]] = {}
        self._views: dict[type[Handle], SharedIndexInformer[Any]] = {}
        self._readers: dict[type[Handle], KindReader[Any]] = {}

    def __str__(self) -> str:
        return f"metadata of {self.gvr}" if self.only_metadata else str(self.gvr)

    @property
    def is_ready(self) -> bool:
        """Whether it can be read without waiting."""
        informer = self.informer
        return (
            self.lease is not None
            and informer is not None
            and bool(informer.has_synced)
            and bool(self.caught_up)
        )

    @property
    def key(self) -> InformerKey | None:
        """The key of the informer, whose scope may have changed since its creation."""
        if self._key is None or self.informer is None:
            return self._key
        return replace(self._key, scope=self.informer.scope)

    @property
    def has_handlers(self) -> bool:
        return self.informer is not None and bool(self.informer.registrations)

    @property
    def last_used(self) -> float:
        """When it was last read, or opened."""
        with self._lock:
            return max([self._opened_at, *(each.last_used for each in self._readers.values())])

    # -- the informer ------------------------------------------------------------------------

    def open(self, key: InformerKey, lease: ResourceInformer[Any]) -> None:
        """Use a leased informer from now on; usually the same as before, started again."""
        with self._lock:
            is_same = self.informer is not None and self.informer.shares_store(lease.informer)
            self._key, self.lease = key, lease
            self._opened_at = time.monotonic()
            if not is_same:
                self.informer = lease.informer
                self._own_writes.follow(lease.informer)
                self._views, self._readers = {}, {}
                for name, (form, function) in self._indexes.items():
                    self._add_index(name, form, function)
            self.problem = None

    def started(self) -> None:
        """Note that the informer was started. It may still have objects of an earlier run."""
        informer = self.informer
        assert informer is not None
        if informer.has_synced:
            self.caught_up = informer.wait_until(
                lambda: informer.staleness is not None, "caught up with the server"
            )
        else:
            self.caught_up.set()
        self.opened.set()

    async def catch_up(self, version: str) -> None:
        """Wait until the store has reached a version.

        Raises:
            AlreadyStoppedError: The informer was released, or the cache has stopped.
            CacheError: Versions of this server cannot be compared.
        """
        await self.opened
        assert self.informer is not None
        await self.informer.wait_for_rv(version)

    def close(self) -> ResourceInformer[Any] | None:
        """Forget the lease and return it; the informer may be opened again."""
        with self._lock:
            lease, self.lease = self.lease, None
            if lease is not None:
                self.opened = self._new_latch()
            return lease

    def view(self, form: type[T]) -> SharedIndexInformer[T]:
        """Return the informer, with objects of a class."""
        assert self.informer is not None
        with self._lock:
            found = self._views.get(form)
            if found is None:
                same = self.informer.form is form
                found = self._views[form] = self.informer if same else self.informer.view(form)
            return found

    def reader(self, form: type[T]) -> KindReader[T]:
        """Return the reader of objects of a class."""
        assert self.resource is not None
        with self._lock:
            found = self._readers.get(form)
            if found is None:
                found = self._readers[form] = KindReader(
                    self.resource,
                    self.view(form),
                    default_namespace=self._default_namespace,
                    add_built_in_index=self.add_built_in_index,
                    own_writes=self._own_writes,
                )
            return found

    def owns(self, reader: KindReader[Any]) -> bool:
        """Whether a reader reads this kind."""
        return self._readers.get(reader.informer.form) is reader

    def check_memory(self, limit: int, cache: str) -> None:
        """Log a warning if the objects take more bytes than the limit, and again when doubled."""
        assert self.informer is not None
        size = self.informer.indexer.memory
        if size <= max(limit, 2 * self._warned_at):
            return
        self._warned_at = size
        logger.warning(
            "%s: %d objects of %s take %d bytes, more than the limit of %d; cache fewer with "
            "namespaces or selectors, strip fields with a transform, or cache metadata only",
            cache,
            len(self.informer.indexer),
            self,
            size,
            limit,
        )

    # -- indexes -----------------------------------------------------------------------------

    def add_index(self, name: str, form: type[Handle] | None, function: IndexFunction) -> None:
        """Add an index, now or when there is an informer. Idempotent.

        Args:
            name: The name of the index.
            form: The class of the objects that the function receives; ``None`` for any.
            function: Returns the values of an object.

        Raises:
            CacheError: There is an index of this name with another function.
        """
        with self._lock:
            known = self._indexes.get(name)
            if known is None:
                if self.informer is not None:
                    self._add_index(name, form, function)
                self._indexes[name] = (form, function)
            elif known[1] != function:
                raise CacheError(
                    f"{self} has an index {name.removeprefix('field:')!r} with another function; "
                    "choose another name"
                )

    def add_label_index(self, label: str) -> None:
        """Add an index by the value of a label. Idempotent."""
        with self._lock:
            name = f"label:{label}"
            if name not in self._indexes:
                self.add_index(name, None, label_index(label))

    def add_built_in_index(self, field: str) -> bool:
        """Add the index of a field that every kind has; return false if it is not one."""
        function = BUILT_IN.get(field)
        if function is None:
            return False
        self.add_index(index_name(field), None, function)
        return True

    def _add_index(self, name: str, form: type[Handle] | None, function: IndexFunction) -> None:
        assert self.informer is not None
        known = self.informer.indexer.indexers.get(name)
        if known is None:
            view = self.informer if form is None else self.view(form)
            view.add_indexers({name: function})
        elif known != function:
            raise CacheError(
                f"{self} is shared with a factory whose index {name!r} has another function"
            )

    def _new_latch(self) -> Latch:
        return Latch(f"the informer of {self} has been started")
