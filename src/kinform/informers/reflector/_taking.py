"""The frames of a watch in, in their order; calls on the store out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kinform.api import GVK, compare_resource_versions
from kinform.client import EventType, Frame
from kinform.errors import CacheError, DecodeError, WatchReplayError
from kinform.informers._changes import DeletedObject
from kinform.informers.reflector._admission import Admission
from kinform.informers.reflector._open_watch import OpenWatch
from kinform.informers.reflector._target import Target
from kinform.informers.reflector._vitals import Vitals, error_kind
from kinform.objects import Handle, Record

T = TypeVar("T", bound=Handle)

# A watch from these begins with what there is, and not after a known state.
FROM_ANYWHERE = ("", "0")


class Taking(Generic[T]):
    """Applies events to the store and keeps count of how far that is.

    Raises, while taking:
        ApiError: The server sent an ERROR event.
        WatchReplayError: The server told again what was told before.
        CacheError: The store refused.
    """

    def __init__(
        self, name: str, store: Target[T], admission: Admission[T], vitals: Vitals
    ) -> None:
        self._name = name
        self._store = store
        self._admission = admission
        self._vitals = vitals
        # What was expected last: a stream says its kind with every event.
        self._kind: GVK | None = None
        self._bookmark: Callable[[str], object] | None = getattr(store, "bookmark", None)

    def take(self, batch: list[Frame], watch: OpenWatch) -> None:
        """Apply all of it, and remember the version of each that was applied."""
        vitals = self._vitals
        for frame in batch:
            record = frame.record
            if record is None:
                version = self._take_unreadable(frame)
            else:
                version = record.head.resource_version
                if frame.type is EventType.BOOKMARK:
                    self._take_bookmark(version, watch)
                else:
                    vitals.event_at = vitals.contact_at
                    self._apply(frame.type, record, watch)
            watch.events += 1
            if frame.type is EventType.ADDED and watch.opened_from in FROM_ANYWHERE:
                # What there was at the start comes in no order of versions.
                continue
            if watch.opened_from in FROM_ANYWHERE:
                watch.opened_from = version
            if version:
                vitals.resource_version = version
                vitals.moved = True

    def _apply(self, kind: EventType, record: Record, watch: OpenWatch) -> None:
        if record.gvk is not self._kind:
            if not self._admission.is_expected(record):
                self._come_to(record.head.resource_version)
                return
            self._kind = record.gvk
        if kind is EventType.ADDED:
            self._check_replay(record, watch)
        obj = self._admission.admit(record)
        if obj is None:
            if kind is EventType.DELETED:
                self._delete_by_key(record.head.key)
            self._come_to(record.head.resource_version)
            return
        try:
            if kind is EventType.ADDED:
                self._store.add(obj)
            elif kind is EventType.MODIFIED:
                self._store.update(obj)
            else:
                self._store.delete(obj)
        except Exception as error:  # the store may be anybody's
            raise self._store_failed(record.head.key, error) from error

    def _take_bookmark(self, version: str, watch: OpenWatch) -> None:
        watch.heard_bookmark()
        self._vitals.bookmark_at = self._vitals.contact_at
        self._come_to(version)

    def _come_to(self, version: str) -> None:
        """Tell the store how far this is where no event does: nobody is to wait for it."""
        if version and self._bookmark is not None:
            self._bookmark(version)

    def _take_unreadable(self, frame: Frame) -> str:
        """Put it away; its version, as far as that can be read."""
        error = frame.error
        if not isinstance(error, DecodeError):
            assert error is not None  # a frame has a record or an error
            raise error
        key = self._admission.refuse(error, frame.payload)
        if frame.type is EventType.DELETED and error.key:
            self._delete_by_key(key)
        self._vitals.errors[error_kind(error)] += 1
        self._come_to(error.resource_version)
        return error.resource_version

    def _delete_by_key(self, key: str) -> None:
        """The server says that it is gone, in words that cannot be read or transformed."""
        try:
            # Without a state: the store knows its last one better than anybody who looks now,
            # before what is queued has come to it.
            self._store.delete(DeletedObject(key, None, final_state_unknown=True))
        except Exception as error:  # the store may be anybody's
            raise self._store_failed(key, error) from error
        self._admission.quarantine.release(key)

    def _store_failed(self, key: str, error: Exception) -> CacheError:
        return CacheError(f"{self._name}: the store failed on {key!r}: {error}")

    def _check_replay(self, record: Record, watch: OpenWatch) -> None:
        """An honest server has nothing to add that is older than where we asked it to go on."""
        if watch.opened_from in FROM_ANYWHERE:
            return
        order = compare_resource_versions(record.head.resource_version, watch.opened_from)
        if order is None:
            # Versions without order: then who is known must not come again, unless reborn.
            known = self._admission.last_good(record.head.key)
            replayed = known is not None and known.uid == record.head.uid
        else:
            replayed = order <= 0
        if replayed:
            raise WatchReplayError(
                f"{self._name}: a watch from version {watch.opened_from} began with "
                f"{record.head.key!r} of version {record.head.resource_version}, which is not later"
            )
