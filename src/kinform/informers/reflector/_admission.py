"""Admission: prepares received records for the store, and transforms each version once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from typing import Generic, TypeVar, cast

from kinform.api import GVK
from kinform.errors import DecodeError, TransformError
from kinform.informers._transforms import NamespaceTransform, RecordTransform, steps_of
from kinform.informers.reflector._quarantine import LogLimit, Quarantine
from kinform.informers.reflector._target import KnownRecords
from kinform.objects import JSON, Handle, Record

logger = logging.getLogger("kinform.reflector")

T = TypeVar("T", bound=Handle)

Transform = Callable[[T], T | None]
"""Changes an object before it is stored.

It receives an editable copy, and may edit it in place or return another object. It is called once
per version of an object. Name, namespace, uid and resource version must not change. A
``RecordTransform`` receives encoded bytes instead, which saves the decoding.
"""


class Admission(Generic[T]):
    """Decides which form of a received record is stored, if any.

    A version that is already stored is kept: same bytes, no second transform. An object that
    cannot be decoded or transformed goes to the quarantine, and its last good state is kept.

    Args:
        form: The class of the objects.
        transform: Called once for each version of an object.
        known: The records in the store.
        quarantine: Receives objects that cannot be decoded or transformed.
        expected_kind: Objects of other kinds are ignored.
        keeps_records: Whether the target stores records, so that no handles are needed.

    Attributes:
        last_expected: The last kind that was accepted. All events of a stream share one instance,
            so an identity check against it avoids a call.
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
        self._steps_by_namespace: dict[str, list[Callable[[Record], Record]]] = {}
        if isinstance(transform, NamespaceTransform):
            self._steps_by_namespace = {
                name: self._steps_of(each) for name, each in transform.by_namespace
            }
            transform = transform.other
        self._steps = self._steps_of(transform)
        self._transforms = bool(self._steps or self._steps_by_namespace)
        self._known = known
        self.quarantine = quarantine if quarantine is not None else Quarantine()
        self._quarantined = self.quarantine.by_key
        self._quarantine_log = LogLimit()
        self._unexpected_log = LogLimit()
        # Records transformed by an interrupted list, for its next attempt.
        self._prepared: dict[str, Record] = {}

    def is_expected(self, record: Record) -> bool:
        """Whether this is an object of the expected kind, and not a table."""
        gvk = record.gvk
        if self._expected_kind is not None:
            expected = gvk == self._expected_kind
        else:
            expected = gvk.kind != "Table" or gvk.group != "meta.k8s.io"
        if expected:
            self.last_expected = gvk
        elif self._unexpected_log.admits():
            logger.warning(
                "ignored %r: unexpected kind %s%s",
                record.head.key,
                gvk,
                _so_far(self._unexpected_log),
            )
        return expected

    def admit(self, record: Record) -> T | None:
        """Return the object to store; ``None`` if it was quarantined."""
        admitted = self.admit_record(record)
        if admitted is None or self._keeps_records:
            return cast("T | None", admitted)
        return self._form.over(admitted)

    def admit_listed(self, record: Record) -> Record | None:
        """Return the record to store for an object of a list; its version may be known."""
        known = self._known_version(record) if self._known or self._prepared else None
        if known is not None:
            self.quarantine.release(record.head.key)
            return known
        admitted = self.admit_record(record)
        if admitted is not None and self._transforms:
            self._prepared[record.head.key] = admitted
        return admitted

    def admit_record(self, record: Record) -> Record | None:
        """Return the record to store; ``None`` if it was quarantined."""
        if not self._transforms:
            if self._quarantined:
                self.quarantine.release(record.head.key)
            return record
        try:
            admitted = self._transformed(record)
        except TransformError as error:
            self._quarantine_object(error, record.head.resource_version)
            return None
        self.quarantine.release(record.head.key)
        return admitted

    def listed(self, records: dict[str, Record]) -> dict[str, T]:
        """Return the objects for the store by key, once a list is complete.

        Creating them together, after the list, avoids memory fragmentation.
        """
        if self._keeps_records:
            return cast("dict[str, T]", records)
        return dict(zip(records, self._form.over_all(records.values()), strict=True))

    def refuse(self, error: DecodeError, payload: bytes) -> str:
        """Quarantine bytes that cannot be decoded, and return the key of the object."""
        return self._quarantine_object(error, payload=payload)

    def refuse_more(self, number: int) -> None:
        """Report objects of a page that cannot be decoded, beyond the first thousand."""
        if self._quarantine_log.admits(number):
            logger.warning(
                "%d more objects of a page cannot be decoded and have no name%s",
                number,
                _so_far(self._quarantine_log),
            )

    def refuse_nameless(self, record: Record) -> str:
        """Quarantine an object without a name, which cannot be stored, and return its key there."""
        version = record.head.resource_version
        error = DecodeError(
            f"a {record.gvk.kind} without a name cannot be stored", resource_version=version
        )
        return self.refuse(error, record.payload)

    def last_good(self, key: str) -> Record | None:
        """Return the stored record of an object whose newest version is quarantined."""
        return self._known.get(key) if self._known else None

    def list_finished(self, unreadable: Container[str], *, namespace: str | None = None) -> None:
        """Clean up after a list, of all objects or of one namespace, is in the store."""
        self._prepared.clear()
        self.quarantine.retain(unreadable, namespace=namespace)

    def _known_version(self, record: Record) -> Record | None:
        """Return the record of this exact version from the store or from an interrupted list."""
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

    def _steps_of(self, transform: Transform[T] | None) -> list[Callable[[Record], Record]]:
        return [self._step(each) for each in steps_of(transform)]

    def _step(self, transform: Transform[T]) -> Callable[[Record], Record]:
        given: object = transform
        if isinstance(given, RecordTransform):
            return given.transform_record
        return lambda record: self._edited(record, transform)

    def _transformed(self, record: Record) -> Record:
        key = record.head.key
        steps = self._steps
        if self._steps_by_namespace:
            steps = self._steps_by_namespace.get(record.head.namespace, steps)
        try:
            admitted = record
            for step in steps:
                admitted = step(admitted)
            if admitted.head is not record.head and _identity(admitted) != _identity(record):
                raise TransformError(
                    f"the transform changed the identity of {key!r}; it must keep the kind, name, "
                    "namespace, uid and resourceVersion",
                    key=key,
                )
            return admitted
        except TransformError:
            raise
        except Exception as error:  # transforms are user code
            raise TransformError(f"the transform failed on {key!r}: {error}", key=key) from error

    def _edited(self, record: Record, transform: Transform[T]) -> Record:
        """Apply a transform to an editable copy."""
        editable = self._form.over(record).copy()
        result = transform(editable)
        result = editable if result is None else result
        if not isinstance(result, Handle):
            raise TransformError(
                f"the transform returned a {type(result).__name__} for {record.head.key!r}; "
                "edit the object in place, or return an object",
                key=record.head.key,
            )
        if result.record is not None:
            return result.record
        return Record.read(result.to_bytes(), JSON, default_gvk=record.gvk)

    def _quarantine_object(
        self,
        error: DecodeError | TransformError,
        resource_version: str = "",
        payload: bytes = b"",
    ) -> str:
        bad = self.quarantine.put(error, resource_version=resource_version, payload=payload)
        if self._quarantine_log.admits():
            logger.warning(
                "quarantined object %s: %s%s", bad.key, error, _so_far(self._quarantine_log)
            )
        return bad.key


def _so_far(log: LogLimit) -> str:
    return f" ({log.count} such objects; few of them are logged)" if log.count >= 10 else ""


def _identity(record: Record) -> tuple[GVK, str, str, str]:
    head = record.head
    return record.gvk, head.key, head.uid, head.resource_version
