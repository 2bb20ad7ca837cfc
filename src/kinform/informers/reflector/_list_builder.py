"""Builds a complete list from pages or from a stream."""

from __future__ import annotations

import asyncio
from typing import Any, Generic, TypeVar

from kinform.client import EventType, Frame, ObjectList
from kinform.errors import ApiError, DecodeError
from kinform.informers.reflector._admission import Admission
from kinform.objects import Handle, Model, Part, Record

T = TypeVar("T", bound=Handle)

INITIAL_EVENTS_END = "k8s.io/initial-events-end"

# A global is one lookup, an enum member two; this runs once per object.
_ADDED, _DELETED, _BOOKMARK = EventType.ADDED, EventType.DELETED, EventType.BOOKMARK
_NOT_INITIAL = (EventType.MODIFIED, EventType.DELETED, EventType.BOOKMARK)

# The number of objects to process before other tasks of the loop run.
_SLICE = 100


class ListBuilder(Generic[T]):
    """A list under construction. The store receives it only when it is complete.

    Args:
        admission: Prepares each record for the store.
        reuse_known: Whether to keep the stored bytes of known versions. If the server's versions
            went back, the same version may be another state.

    Attributes:
        records: The records received so far, by key.
        unreadable: The keys of received objects that cannot be decoded or transformed.
        is_late: Whether the stream already contains changes, so that all existing objects have
            been received.
    """

    def __init__(self, admission: Admission[T], *, reuse_known: bool = True) -> None:
        self._admission = admission
        self._admit = admission.admit_listed if reuse_known else admission.admit_record
        self.records: dict[str, Record] = {}
        self.unreadable: set[str] = set()
        self.is_late = False

    def keep(self, record: Record) -> None:
        """Add a record, or quarantine it."""
        if not record.head.name:
            self.unreadable.add(self._admission.refuse_nameless(record))
            return
        key = record.head.key
        admitted = self._admit(record)
        if admitted is None:
            self.unreadable.add(key)
            admitted = self._admission.last_good(key)
        if admitted is not None:
            self.records[key] = admitted

    def refuse(self, error: ApiError | DecodeError | None, payload: bytes) -> None:
        """Record an object that cannot be decoded.

        Raises:
            ApiError: This is an error response of the server, not an object.
        """
        if not isinstance(error, DecodeError):
            assert error is not None  # a frame has a record or an error
            raise error
        key = self._admission.refuse(error, payload)
        self.unreadable.add(key)
        if (known := self._admission.last_good(key)) is not None:
            # The object exists on the server, so it must not be treated as deleted.
            self.records[key] = known

    def take_events(self, batch: list[Frame]) -> tuple[int, str | None]:
        """Add initial events of a stream.

        Returns the number of frames used, and the version of the list if the last of them was the
        bookmark that ends the initial events.
        """
        admission, keep = self._admission, self.keep
        for position, frame in enumerate(batch, start=1):
            kind, record = frame.type, frame.record
            if kind is not _ADDED and kind in _NOT_INITIAL:
                self.is_late = True
            if record is None:
                self._refuse_event(frame)
            elif kind is _BOOKMARK:
                if _ends_initial_events(record):
                    return position, record.head.resource_version
            elif kind is _DELETED:
                self._drop(record.head.key)
            elif record.gvk is admission.last_expected or admission.is_expected(record):
                keep(record)
        return len(batch), None

    def _refuse_event(self, frame: Frame) -> None:
        self.refuse(frame.error, frame.payload)
        if frame.type is EventType.DELETED and isinstance(frame.error, DecodeError):
            self._drop(frame.error.key)

    def _drop(self, key: str) -> None:
        """Remove an object that was deleted while the list was received."""
        self.records.pop(key, None)
        self.unreadable.discard(key)

    async def take_page(self, page: ObjectList[T]) -> None:
        """Add a page.

        Raises:
            DecodeError: The page contains tables instead of objects.
        """
        await self._take_records(page.records)
        for number, bad in enumerate(page.undecodable, start=1):
            self.refuse(bad.error, bad.payload)
            if number % _SLICE == 0:
                await asyncio.sleep(0)
        if page.more_undecodable:
            self._admission.refuse_more(page.more_undecodable)

    async def _take_records(self, records: list[Record]) -> None:
        for number, record in enumerate(records, start=1):
            if self._admission.is_expected(record):
                self.keep(record)
            elif _is_table(record):
                raise DecodeError("the server returned a table instead of a list of objects")
            if number % _SLICE == 0:
                await asyncio.sleep(0)


class _Annotated(Model):
    """The part of a bookmark's metadata that is needed."""

    annotations: Any = None  # of any type: an invalid one must not fail the list


_METADATA = Part[_Annotated]("metadata", _Annotated).alone


def _ends_initial_events(bookmark: Record) -> bool:
    # Decode metadata only: the model of the whole object may not be loaded yet.
    codec, payload = bookmark.codec.keep_metadata(bookmark.payload)
    (metadata,) = codec.decode_parts(payload, _METADATA)
    annotations = None if metadata is None else metadata.annotations
    return isinstance(annotations, dict) and annotations.get(INITIAL_EVENTS_END) == "true"


def _is_table(record: Record) -> bool:
    return record.gvk.kind == "Table" and record.gvk.group == "meta.k8s.io"
