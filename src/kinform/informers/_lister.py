"""Listers: read a cache by name, namespace and labels without a request to the server."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Generic, TypeVar

from kinform.api import LabelSelector, ObjectName, namespace_key, split_namespace_key
from kinform.client import Labels, as_label_selector
from kinform.errors import NotFoundError
from kinform.informers._read_guard import ReadGuard, UnsyncedReads
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers.store import Indexer, select_records
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class Lister(Generic[T]):
    """Reads the cache of one resource. Thread-safe; each read returns new handles.

    Args:
        indexer: The indexer that holds the objects.
        form: The class of the returned handles.
        resource: The resource name used in errors, such as ``pods``.
        informer: The informer that fills the indexer. Without it, nothing is known about the
            state of the cache, and reads are not checked.
        unsynced_reads: What to do if it is read before the informer has synced: log a warning
            once (``warn``), raise ``CacheSyncError`` (``raise``), or nothing (``allow``).

    Raises:
        ConfigError: ``unsynced_reads`` is invalid.
    """

    def __init__(
        self,
        indexer: Indexer[T],
        form: type[T],
        resource: str,
        *,
        informer: SharedIndexInformer[T] | None = None,
        unsynced_reads: UnsyncedReads = "warn",
    ) -> None:
        self._indexer = indexer
        self._form = form
        self._resource = resource
        self._guard = None if informer is None else ReadGuard(informer, unsynced_reads)

    def get(self, name: str | ObjectName) -> T:
        """Return one object, by name if it is cluster-scoped, otherwise by ``namespace/name``.

        Raises:
            NotFoundError: The object is not in the cache.
            CacheSyncError: The cache has not synced, with ``unsynced_reads="raise"``.
            OutOfScopeError: The informer does not cover the namespace.
        """
        self._check_synced()
        key = name if isinstance(name, str) else namespace_key(name)
        found = self._indexer.get_by_key(key)
        if found is None:
            if self._guard is not None:
                self._guard.check_covers(split_namespace_key(key).namespace)
            raise self._not_found(key)
        return found

    def list(self, labels: Labels = "") -> builtins.list[T]:
        """Return all objects whose labels match, ordered by key.

        Raises:
            SelectorError: The selector is invalid.
            CacheSyncError: The cache has not synced, with ``unsynced_reads="raise"``.
        """
        return self._select(as_label_selector(labels), None)

    def namespace(self, namespace: str) -> NamespaceLister[T]:
        """Return a lister for one namespace; the empty string selects all namespaces.

        Its reads raise ``OutOfScopeError`` while the informer does not cover the namespace.
        """
        return NamespaceLister(self, namespace)

    def __len__(self) -> int:
        self._check_synced()
        return len(self._indexer)

    def __iter__(self) -> Iterator[T]:
        return iter(self.list())

    def __repr__(self) -> str:
        return f"<Lister of {len(self._indexer)} {self._resource}>"

    def _check_synced(self) -> None:
        if self._guard is not None and not self._guard.is_open:
            self._guard.check_synced()

    def _select(self, selector: LabelSelector, namespace: str | None) -> builtins.list[T]:
        self._check_synced()
        if namespace and self._guard is not None:
            self._guard.check_covers(namespace)
        records, _ = select_records(self._indexer.table, namespace=namespace or "", labels=selector)
        return self._form.over_all(records)

    def _not_found(self, key: str) -> NotFoundError:
        return NotFoundError(
            f'{self._resource} "{key}" not found in the cache',
            code=404,
            reason="NotFound",
            details={"name": split_namespace_key(key).name, "kind": self._resource},
        )


class NamespaceLister(Generic[T]):
    """Reads the cached objects of one namespace. Thread-safe."""

    def __init__(self, lister: Lister[T], namespace: str) -> None:
        self._lister = lister
        self._namespace = namespace

    def get(self, name: str) -> T:
        """Return one object of the namespace.

        Raises:
            NotFoundError: The object is not in the cache.
            OutOfScopeError: The informer does not cover the namespace.
        """
        return self._lister.get(ObjectName(self._namespace, name))

    def list(self, labels: Labels = "") -> builtins.list[T]:
        """Return the objects of the namespace whose labels match, ordered by key.

        Raises:
            SelectorError: The selector is invalid.
            OutOfScopeError: The informer does not cover the namespace.
        """
        return self._lister._select(as_label_selector(labels), self._namespace)

    def __iter__(self) -> Iterator[T]:
        return iter(self.list())

    def __repr__(self) -> str:
        return f"<NamespaceLister of {self._namespace!r} of {self._lister!r}>"
