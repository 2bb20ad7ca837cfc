"""Records as they arrive in; the objects that the store is to have out, each transformed once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from typing import Generic, Protocol, TypeVar, cast

from kinform.api import GVK
from kinform.errors import DecodeError, TransformError
from kinform.informers._transforms import RecordTransform, steps_of
from kinform.informers.reflector._quarantine import Quarantine
from kinform.informers.reflector._target import StoreTarget
from kinform.informers.store._entries import Handles
from kinform.informers.store._store import Store
from kinform.objects import JSON, Handle, Record

logger = logging.getLogger("kinform.reflector")

T = TypeVar("T", bound=Handle)

Transform = Callable[[T], T | None]
"""Changes an object before anybody sees it.

It gets an editable object of its own, and may edit it in place or return another. It runs once
per version of an object. Leave the name, the namespace, the uid and the version as they are.
A ``RecordTransform`` gets the bytes instead, and is spared the decoding.
"""


class KnownRecords(Protocol):
    """What rests in the store already."""

    def get(self, key: str) -> Record | None: ...


class Admission(Generic[T]):
    """Decides what becomes of a record before any store has it.

    A version that is known already stays as it is: same bytes, and no second transform. What
    cannot be read or transformed goes to the quarantine, and its last good state stands.

    Args:
        form: What the objects are views of.
        transform: Changes each version of an object once.
        known: What the store has already.
        quarantine: Where to put what cannot be read.
        expected_kind: Objects of another kind are left out.
        keeps_records: Who is filled keeps records, and gets them: no views are made over them.

    Attributes:
        last_expected: The kind that was expected last. A stream says the same one with every
            event, and whoever looks here first need not ask.
    """

    def __init__(
        self,
        form: type[T],
        *,
        transform: Transform[T] | None = None,
        known: KnownRecords | None = None,
        quarantine: Quarantine | None = None,
        expected_kind: GVK | None = None,
        keeps_records: bool = False,
    ) -> None:
        self._form = form
        self._keeps_records = keeps_records
        self._expected_kind = expected_kind
        self.last_expected: GVK | None = None
        self._steps = [self._step(each) for each in steps_of(transform)]
        self._known = known
        self.quarantine = quarantine if quarantine is not None else Quarantine()
        self._quarantined = self.quarantine.by_key
        # What a list that broke off had transformed already, for the next attempt at it.
        self._prepared: dict[str, Record] = {}

    def is_expected(self, record: Record) -> bool:
        """Whether it is an object of ours: not a table, not of another kind than expected."""
        gvk = record.gvk
        if self._expected_kind is not None:
            expected = gvk == self._expected_kind
        else:
            expected = gvk.kind != "Table" or gvk.group != "meta.k8s.io"
        if expected:
            self.last_expected = gvk
        else:
            logger.warning("left out %r, for it is a %s", record.head.key, gvk)
        return expected

    def admit(self, record: Record) -> T | None:
        """The object for the store; ``None`` if it went to quarantine."""
        admitted = self._admitted(record)
        if admitted is None or self._keeps_records:
            return cast("T | None", admitted)
        return self._form.over(admitted)

    def admit_listed(self, record: Record) -> Record | None:
        """What is to be kept of an object of a list, which may be known in this very version."""
        known = self._known_version(record) if self._known or self._prepared else None
        if known is not None:
            self.quarantine.release(record.head.key)
            return known
        admitted = self._admitted(record)
        if admitted is not None and self._steps:
            self._prepared[record.head.key] = admitted
        return admitted

    def _admitted(self, record: Record) -> Record | None:
        if not self._steps:
            if self._quarantined:
                self.quarantine.release(record.head.key)
            return record
        try:
            admitted = self._transformed(record)
        except TransformError as error:
            self._put_away(error, record.head.resource_version)
            return None
        self.quarantine.release(record.head.key)
        return admitted

    def listed(self, records: dict[str, Record]) -> dict[str, T]:
        """The objects for the store, by key, once a list is complete.

        Not before: made together they leave no holes in memory between all that stays.
        """
        if self._keeps_records:
            return cast("dict[str, T]", records)
        return dict(zip(records, self._form.over_all(records.values()), strict=True))

    def refuse(self, error: DecodeError, payload: bytes) -> str:
        """Put away bytes that are no object; the key under which they are."""
        return self._put_away(error, payload=payload)

    def last_good(self, key: str) -> Record | None:
        """What the store has of an object, while its newest version is in quarantine."""
        return self._known.get(key) if self._known else None

    def list_finished(self, unreadable: Container[str], *, namespace: str | None = None) -> None:
        """The store has the list, of all or of one namespace: nothing of it is needed here."""
        self._prepared.clear()
        self.quarantine.retain(unreadable, namespace=namespace)

    def _known_version(self, record: Record) -> Record | None:
        """What the store has of this very version, or what a list that broke off had."""
        new, key = record.head, record.head.key
        if not new.resource_version:
            return None
        for known in (self._known.get(key) if self._known else None, self._prepared.get(key)):
            if known is not None and (known.head.resource_version, known.head.uid) == (
                new.resource_version,
                new.uid,
            ):
                return known
        return None

    def _step(self, transform: Transform[T]) -> Callable[[Record], Record]:
        asked: object = transform
        if isinstance(asked, RecordTransform):
            return asked.transform_record
        return lambda record: self._edited(record, transform)

    def _transformed(self, record: Record) -> Record:
        key = record.head.key
        try:
            admitted = record
            for step in self._steps:
                admitted = step(admitted)
            if admitted.head is not record.head and _identity(admitted) != _identity(record):
                raise TransformError(
                    f"the transform changed who {key!r} is; leave its kind, name, namespace, uid "
                    "and resourceVersion as they are",
                    key=key,
                )
            return admitted
        except TransformError:
            raise
        except Exception as error:  # a transform is the user's code
            raise TransformError(f"the transform failed on {key!r}: {error}", key=key) from error

    def _edited(self, record: Record, transform: Transform[T]) -> Record:
        """What a transform makes of an editable copy."""
        editable = self._form.over(record).copy()
        result = transform(editable)
        result = editable if result is None else result
        if not isinstance(result, Handle):
            raise TransformError(
                f"the transform returned a {type(result).__name__} for {record.head.key!r}; "
                "edit the object it gets, or return an object",
                key=record.head.key,
            )
        if result.record is not None:
            return result.record
        return Record.read(result.to_bytes(), JSON, default_gvk=record.gvk)

    def _put_away(
        self,
        error: DecodeError | TransformError,
        resource_version: str = "",
        payload: bytes = b"",
    ) -> str:
        bad = self.quarantine.put(error, resource_version=resource_version, payload=payload)
        logger.warning("object %s is in quarantine: %s", bad.key, error)
        return bad.key


def records_of(store: object) -> KnownRecords | None:
    """What rests in a store of Kubernetes objects; ``None`` for any other."""
    if isinstance(store, StoreTarget):
        store = store.store
    if isinstance(store, Store) and isinstance(store.adapter, Handles):
        return store.table
    return None


def _identity(record: Record) -> tuple[GVK, str, str, str]:
    head = record.head
    return record.gvk, head.key, head.uid, head.resource_version
