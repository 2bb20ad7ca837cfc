"""Remembers what a client wrote until the cache has it, so that reads can wait for it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from kinform.api import GVR, FieldSelector, compare_resource_versions, is_comparable
from kinform.client import Write, WriteHook, as_label_selector
from kinform.errors import AlreadyStoppedError, InvalidNameError, StaleReadError
from kinform.informers import Scope, SharedIndexInformer
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Handle, Record, Unstructured

# What the cache is not to have is remembered for this long: events from before may still arrive.
_MEMORY = 60.0
# Above this number, writes that the cache has are forgotten without a read.
_MANY = 1000


class OwnWrite(msgspec.Struct, frozen=True):
    """The last write to one object.

    Attributes:
        key: The key of the object.
        namespace: Its namespace.
        version: The version of the write, or, for a deletion, of the write before it.
        deleted_uid: The uid of the deleted object.
        may_linger: Whether the deleted object may stay for a while, marked as deleted.
        record: The written object; ``None`` if it was deleted.
        time: When it was written.
    """

    key: str
    namespace: str
    version: str = ""
    deleted_uid: str = ""
    may_linger: bool = False
    record: Record | None = None
    time: float = 0.0


class OwnWrites:
    """The own writes of one kind that the store may not have yet. Thread-safe.

    Args:
        kind: The name of the kind.
        metrics: Receives the waits for them.
    """

    def __init__(self, kind: str, metrics: Metrics = NO_METRICS) -> None:
        self._kind = kind
        self._metrics = metrics
        self._lock = threading.Lock()
        self._informer: SharedIndexInformer[Any] | None = None
        self._by_key: dict[str, OwnWrite] = {}
        self._floor = ""
        self._prune_above = _MANY

    def __bool__(self) -> bool:
        """Whether there is anything that a read may have to wait for."""
        return bool(self._by_key or self._floor)

    def follow(self, informer: SharedIndexInformer[Any]) -> None:
        """Compare with the store of this informer from now on."""
        self._informer = informer

    # -- recording ---------------------------------------------------------------------------

    def require(self, version: str) -> None:
        """Require at least this version of the whole store, whatever was written."""
        with self._lock:
            self._floor = _newer(self._floor, version)

    def add_object(self, written: Handle) -> None:
        """Record an object as the server returned it after a write."""
        informer, version, record = self._informer, written.resource_version, written.record
        if not is_comparable(version) or record is None:
            return
        if informer is None or not informer.is_running:
            self.require(version)  # the next list has it
        elif not written.namespace or informer.scope.covers(written.namespace):
            key, namespace = written.key, written.namespace
            self._add(OwnWrite(key, namespace, version, record=record, time=time.monotonic()))

    def add_deletion(self, key: str, namespace: str, uid: str, *, may_linger: bool) -> None:
        """Record that an object was deleted."""
        if not uid:
            return
        with self._lock:
            before = self._by_key.get(key)
        version = "" if before is None else before.version
        self._add(
            OwnWrite(
                key,
                namespace,
                version,
                deleted_uid=uid,
                may_linger=may_linger,
                time=time.monotonic(),
            )
        )

    def _add(self, own: OwnWrite) -> None:
        with self._lock:
            before = self._by_key.get(own.key)
            if before is not None and _is_outdated(own, before):
                return  # concurrent writes, whose responses were overtaken
            self._by_key[own.key] = own
            if len(self._by_key) > self._prune_above:
                for each in list(self._by_key.values()):
                    self._drop_if_done(each)
                self._prune_above = max(_MANY, 2 * len(self._by_key))

    # -- reading -----------------------------------------------------------------------------

    def pending(self, *, key: str | None = None, namespace: str | None = None) -> list[OwnWrite]:
        """Return the writes that the store does not have yet, and forget the others.

        Those that the selectors do not admit have no record, like deletions.
        """
        with self._lock:
            found = self._recorded(key, namespace)
            missing = [each for each in found if not self._drop_if_done(each)]
        return [each if self._is_selected(each) else replace(each, record=None) for each in missing]

    def _recorded(self, key: str | None, namespace: str | None) -> list[OwnWrite]:
        if key is not None:
            found = self._by_key.get(key)
            return [] if found is None else [found]
        return [
            each for each in self._by_key.values() if not namespace or each.namespace == namespace
        ]

    def have_arrived(self, *, key: str | None = None, namespace: str | None = None) -> bool:
        """Whether the store has the own writes to one object, a namespace, or all."""
        if not self:
            return True
        floor = self._floor
        if self.pending(key=key, namespace=namespace) or not self._has_version(floor):
            return False
        self._lower_floor(floor)
        return True

    async def wait(
        self, *, key: str | None = None, namespace: str | None = None, timeout: float
    ) -> None:
        """Wait until the store has the own writes to one object, a namespace, or all.

        Raises:
            StaleReadError: It does not have them in time.
        """
        if self.have_arrived(key=key, namespace=namespace):
            return
        started = time.monotonic()
        informer = self._informer
        assert informer is not None
        self.pending(key=key, namespace=namespace)  # forgets what is done
        with self._lock:
            expected, floor = self._recorded(key, namespace), self._floor

        # All of them: while a read waits for one, an event from before another may arrive.
        def is_current() -> bool:
            return all(map(self._is_visible, expected)) and self._has_version(floor)

        what = f"received {len(expected)} own writes"
        try:
            async with asyncio.timeout(timeout):
                while not is_current():
                    await informer.wait_until(is_current, what)
        except (TimeoutError, AlreadyStoppedError) as error:
            missing = [each for each in expected if not self._is_visible(each)]
            raise StaleReadError(
                f"{self._kind} in the cache is older than the own write of "
                f"{missing[0].key if missing else f'version {floor}'} after "
                f"{time.monotonic() - started:.1f} s: "
                f"{informer.sync_status()}; read it from the server, or wait longer"
            ) from error
        finally:
            self._metrics.cache_waited_for_own_writes(self._kind, time.monotonic() - started)
        self._lower_floor(floor)

    def _has_version(self, version: str) -> bool:
        assert self._informer is not None
        return not version or self._informer.has_reached(version)

    def _lower_floor(self, reached: str) -> None:
        with self._lock:
            if self._floor == reached:
                self._floor = ""

    def _drop_if_done(self, own: OwnWrite) -> bool:
        """Forget a write that the store has, and report whether it has it."""
        is_done = self._is_visible(own)
        is_final = is_done and not own.deleted_uid and self._is_reached(own)
        if is_final or (
            (is_done or self._informer is None) and time.monotonic() - own.time > _MEMORY
        ):
            del self._by_key[own.key]
        return is_done

    def _is_visible(self, own: OwnWrite) -> bool:
        """Whether the store has a write, or nothing from before a write that it will not have."""
        informer = self._informer
        if informer is None:
            return False
        record: Record | None = informer.indexer.table.get(own.key)
        if record is None:
            return bool(own.deleted_uid) or self._is_reached(own) or not self._is_selected(own)
        if record.head.uid == own.deleted_uid:
            return own.may_linger and record.head.deletion_timestamp is not None
        return not own.version or self._is_reached(own)

    def _is_reached(self, own: OwnWrite) -> bool:
        """Whether the store is as new as a write, where it is concerned."""
        informer = self._informer
        assert informer is not None
        record: Record | None = informer.indexer.table.get(own.key)
        if record is not None:
            order = compare_resource_versions(record.head.resource_version, own.version)
            if order is not None and order >= 0:
                return True
        if own.namespace and not informer.scope.covers(own.namespace):
            return True  # it left the scope, so nothing will follow
        return informer.has_reached(own.version, namespace=own.namespace or None)

    def _is_selected(self, own: OwnWrite) -> bool:
        """Whether the selectors of the cache admit a written object."""
        assert self._informer is not None
        return own.record is not None and is_selected(
            self._informer.scope, Unstructured.over(own.record)
        )


class WriteRecorder(WriteHook):
    """Passes the writes of a client on to the kinds that they concern.

    Args:
        of_resource: Returns the own writes of each cached form of a resource.
    """

    def __init__(self, of_resource: Callable[[GVR], Iterable[OwnWrites]]) -> None:
        self._of_resource = of_resource

    def after(self, write: Write, result: Handle | None) -> None:
        if write.dry_run or result is None:
            return
        targets = list(self._of_resource(write.resource))
        if write.verb == "delete_collection":
            deletions = _deleted_items(result)
        elif result.kind == "Status" and result.api_version == "v1":
            uid = result.get_path("details.uid") if write.verb == "delete" else None
            deletions = [(write.namespace, write.name, str(uid))] if uid else []
        else:
            for each in targets:
                if not write.subresource or _is_object_of(write, result):
                    each.add_object(result)
            return
        for namespace, name, uid in deletions:
            key = f"{namespace}/{name}" if namespace else name
            for each in targets:
                each.add_deletion(key, namespace, uid, may_linger=write.verb == "delete_collection")


def is_selected(scope: Scope, obj: Handle) -> bool:
    """Whether an object is in a scope, as far as its own fields tell."""

    def read(field: str) -> str:
        try:
            found = obj.get_path(field)
        except InvalidNameError:
            return ""
        if isinstance(found, bool):
            return str(found).lower()
        return "" if found is None else str(found)

    return any(
        (not namespace or namespace == obj.namespace)
        and as_label_selector(selectors.labels).matches(obj.labels)
        and FieldSelector.parse(selectors.fields).matches(read)
        for namespace, selectors in scope.requests
    )


def _is_outdated(own: OwnWrite, known: OwnWrite) -> bool:
    """Whether a write happened before the one that is known."""
    if own.record is None:
        return False
    if known.record is None:
        return own.record.head.uid == known.deleted_uid
    return own.version != known.version and _newer(own.version, known.version) == known.version


def _is_object_of(write: Write, result: Handle) -> bool:
    """Whether the response to a write of a subresource is the object itself."""
    return write.subresource == "status" or (
        result.name == write.name and write.object is not None and result.gvk == write.object.gvk
    )


def _deleted_items(result: Handle) -> list[tuple[str, str, str]]:
    """Return namespace, name and uid of the objects in the response to a collection's deletion."""
    items = result.get_path("items") if isinstance(result, Unstructured) else None
    heads = [item.get("metadata", {}) for item in (items if isinstance(items, list) else ())]
    return [
        (each.get("namespace", ""), each.get("name", ""), each.get("uid", "")) for each in heads
    ]


def _newer(one: str, other: str) -> str:
    order = compare_resource_versions(one, other) if one else -1
    return other if order is not None and order < 0 else one
