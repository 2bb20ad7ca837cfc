"""Reads the cached objects of one kind, in one form, without waiting."""

from __future__ import annotations

import asyncio
import builtins
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from kinform.api import ApiResource, LabelSelector, ObjectName, split_namespace_key
from kinform.cache._field_index import FieldQuery, field_conditions, index_name
from kinform.cache._own_writes import OwnWrite, OwnWrites
from kinform.client import Labels, ObjectList, as_label_selector
from kinform.errors import (
    AlreadyStoppedError,
    CacheSyncError,
    ConfigError,
    InvalidNameError,
    NoMatchError,
    NotFoundError,
    OutOfScopeError,
    UnknownIndexError,
)
from kinform.informers import SharedIndexInformer
from kinform.informers.store import IndexCondition, select_records
from kinform.objects import Handle, Record

T = TypeVar("T", bound=Handle)


class KindReader(Generic[T]):
    """Reads the cached objects of one kind. Never waits; any thread may use it.

        pods = cache.peek(Pod)
        pods.get("default/web-0")
        pods.list(namespace="default", labels={"app": "web"}, fields={"spec.nodeName": "node-1"})

    Args:
        resource: The resource.
        informer: The informer that fills the store.
        default_namespace: The namespace of names without one.
        add_built_in_index: Adds the index of a field that every kind has; false if there is none.
        own_writes: The own writes that the store may not have yet.
    """

    def __init__(
        self,
        resource: ApiResource,
        informer: SharedIndexInformer[T],
        *,
        default_namespace: str,
        add_built_in_index: Callable[[str], bool],
        own_writes: OwnWrites,
    ) -> None:
        self.resource = resource
        self.informer = informer
        self.own_writes = own_writes
        self.last_used = time.monotonic()
        self._form = informer.form
        self._table = informer.indexer.table
        self._default_namespace = default_namespace
        self._add_built_in_index = add_built_in_index

    @property
    def is_synced(self) -> bool:
        """Whether the first list is complete."""
        return bool(self.informer.has_synced)

    def get(self, name: str | ObjectName, *, namespace: str | None = None) -> T:
        """Return one object, by ``namespace/name``, or by name and namespace.

        Raises:
            NotFoundError: The object is not in the cache.
            OutOfScopeError: The cache does not cover the namespace.
            CacheSyncError: The kind, or the namespace, is not complete yet.
            InvalidNameError: The name is invalid, or a namespace is given twice.
            NoMatchError: A namespace is given for a cluster-scoped resource.
        """
        key = self.key_of(name, namespace)
        record = self._table.get(key)
        self.last_used = time.monotonic()
        if record is None:
            raise self._missing(key)
        return self._form.over(record)

    def get_written(self, own: OwnWrite) -> T:
        """Return an object as it was written.

        Raises:
            NotFoundError: It was deleted, or does not match the selectors of the cache.
        """
        if own.record is None:
            raise self._missing(own.key)
        return self._form.over(own.record)

    def list(
        self,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: FieldQuery = "",
        limit: int | None = None,
        overlay: Sequence[OwnWrite] = (),
    ) -> ObjectList[T]:
        """Return all objects that match, ordered by key, as of one version of the store.

        Args:
            namespace: Only objects of this namespace.
            labels: Only objects that match this label selector.
            fields: Only objects that match this field selector. Each field needs an index.
            limit: Return at most this many objects.
            overlay: Own writes, in place of what the store has.

        Raises:
            UnknownIndexError: A field has no index; the message says how to add it.
            SelectorError: A selector is invalid.
            OutOfScopeError: The cache does not cover the namespace.
            CacheSyncError: The kind, or the namespace, is not complete yet.
            NoMatchError: A namespace is given for a cluster-scoped resource.
            ConfigError: The limit is invalid.
        """
        given: object = limit  # callers may be untyped
        if given is not None and not (isinstance(given, int) and given >= 1):
            raise ConfigError(f"limit must be at least 1, not {limit!r}")
        self._require_synced()
        if namespace:
            if not isinstance(namespace, str):
                raise ConfigError(f"namespace must be a string, not {namespace!r}")
            self._require_namespaces(namespace)
            self._require_covered(namespace)
            self._require_complete(namespace)
        self.last_used = time.monotonic()
        # Read before the objects, which are at least as new. With several sources, the version
        # of the store is that of one of them.
        oldest = self.informer.last_sync_resource_version
        selector = as_label_selector(labels) if labels else None
        conditions = self._conditions(fields) if fields else ()
        records, version = select_records(
            self._table,
            namespace=namespace or "",
            labels=selector,
            conditions=conditions,
            limit=None if overlay else limit,
        )
        if overlay:
            records = self._with_overlay(records, overlay, namespace, selector, conditions)[:limit]
        return ObjectList(
            self._form,
            records,
            resource_version=version if self._has_one_source else oldest,
        )

    def namespace_of(self, name: str | ObjectName, namespace: str | None = None) -> str:
        """Return the namespace of an object."""
        return split_namespace_key(self.key_of(name, namespace)).namespace

    def key_of(self, name: str | ObjectName, namespace: str | None = None) -> str:
        """Return the key of an object.

        Raises:
            InvalidNameError: The name is invalid, or a namespace is given twice.
            NoMatchError: A namespace is given for a cluster-scoped resource.
        """
        given: object = name  # callers may be untyped
        if not isinstance(given, str | ObjectName):
            raise InvalidNameError(f"the name of an object must be a string, not {given!r}")
        if isinstance(name, ObjectName):
            name = f"{name.namespace}/{name.name}" if name.namespace else name.name
        if not self.resource.namespaced:
            if namespace or "/" in name:
                raise NoMatchError(f"{self.resource.gvr} is cluster-scoped; omit the namespace")
            return _checked(name)
        if "/" in name:
            if namespace is not None and split_namespace_key(name).namespace != namespace:
                raise InvalidNameError(
                    f"{name!r} has a namespace already, which is not {namespace!r}; pass one"
                )
            return name
        return f"{namespace or self._default_namespace}/{_checked(name)}"

    def __len__(self) -> int:
        self._require_synced()
        return len(self._table)

    def __repr__(self) -> str:
        return f"<KindReader of {len(self._table)} {self.resource.gvr}>"

    def _with_overlay(
        self,
        records: Iterable[Record],
        overlay: Sequence[OwnWrite],
        namespace: str | None,
        labels: LabelSelector | None,
        conditions: Sequence[IndexCondition],
    ) -> builtins.list[Record]:
        """Return the records with own writes, as far as they match, ordered by key."""
        indices = self._table.indices
        by_key = {record.head.key: record for record in records}
        for own in overlay:
            by_key.pop(own.key, None)
            record = own.record
            if (
                record is not None
                and (not namespace or namespace == own.namespace)
                and (labels is None or labels.matches(record.head.labels))
                and all(each.admits(indices[each.name].values(record)) for each in conditions)
            ):
                by_key[own.key] = record
        return [by_key[key] for key in sorted(by_key)]

    @property
    def _has_one_source(self) -> bool:
        return len(self.informer.scope.parts) == 1

    def _conditions(self, fields: FieldQuery) -> builtins.list[IndexCondition]:
        conditions = []
        for field, values, negated in field_conditions(fields):
            if field == "metadata.namespace" and not negated:
                for namespace in values:
                    self._require_covered(namespace)
                    self._require_complete(namespace)
            name = index_name(field)
            if name not in self._table.indices and not self._add_built_in_index(field):
                raise UnknownIndexError(
                    f"field {field!r} of {self.resource.gvr} is not indexed; add the index with "
                    f'cache.index_field({self.resource.kind}, "{field}")'
                )
            conditions.append(IndexCondition(name, values, negated))
        return conditions

    def _require_synced(self) -> None:
        if not self.is_synced:
            raise CacheSyncError(
                f"{self.resource.gvr} is not complete yet: {self.informer.sync_status()}; "
                "wait for cache.wait_for_cache_sync(), or use cache.get() and cache.list()"
            )

    def _require_namespaces(self, namespace: str) -> None:
        if not self.resource.namespaced:
            raise NoMatchError(
                f"{self.resource.gvr} is cluster-scoped; omit the namespace {namespace!r}"
            )

    def _require_covered(self, namespace: str) -> None:
        scope = self.informer.scope
        if not scope.covers(namespace):
            raise OutOfScopeError(
                f"the cache of {self.resource.gvr} does not cover namespace {namespace!r}, so it "
                f"says nothing about it; it covers {scope.coverage}"
            )

    def _require_complete(self, namespace: str) -> None:
        if not self.informer.is_complete_in(namespace):
            raise CacheSyncError(
                f"{self.resource.gvr} is not complete in namespace {namespace!r} yet: "
                f"{self.informer.sync_status()}"
            )

    def _missing(self, key: str) -> Exception:
        """Return why an object is not in the cache."""
        self._require_synced()
        if namespace := split_namespace_key(key).namespace:
            self._require_covered(namespace)
            self._require_complete(namespace)
        return NotFoundError(
            f'{self.resource.gvr.resource} "{key}" not found in the cache',
            code=404,
            reason="NotFound",
            details={
                "name": split_namespace_key(key).name,
                "group": self.resource.gvr.group,
                "kind": self.resource.gvr.resource,
            },
        )


async def wait_for_namespace(
    reader: KindReader[Any], namespace: str | None, timeout: float
) -> None:
    """Wait until a namespace that was added is complete. The next read says why if it is not."""
    informer = reader.informer
    if not namespace:
        return

    def is_done() -> bool:
        return informer.is_complete_in(namespace) or not informer.scope.covers(namespace)

    with suppress(TimeoutError, AlreadyStoppedError):
        async with asyncio.timeout(timeout):
            await informer.wait_until(is_done, f"listed namespace {namespace!r}")


def _checked(name: str) -> str:
    if not name:
        raise InvalidNameError("the name of the object is empty")
    return name
