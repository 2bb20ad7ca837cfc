"""Applies the frames of a watch to the store, in order."""

from __future__ import annotations

from typing import Generic, TypeVar

from kinform._runtime import Demand
from kinform.api import compare_resource_versions, is_older
from kinform.client import EventType, Frame
from kinform.errors import CacheError, DecodeError, WatchReplayError
from kinform.informers._changes import DeletedObject
from kinform.informers.queue import Delta, DeltaType
from kinform.informers.reflector._admission import Admission
from kinform.informers.reflector._open_watch import OpenWatch
from kinform.informers.reflector._state import ReflectorState, error_kind
from kinform.informers.reflector._target import ReflectorTarget, TargetFailedError
from kinform.informers.reflector._version_regression import VersionCheck
from kinform.objects import Handle, Record

T = TypeVar("T", bound=Handle)

# A watch from these versions starts with the existing objects, not after a known state.
UNVERSIONED = ("", "0")

# A global is one lookup, an enum member two; these are used for every event.
_ADDED, _MODIFIED, _BOOKMARK = EventType.ADDED, EventType.MODIFIED, EventType.BOOKMARK
_DELTA_TYPES = {EventType.ADDED: DeltaType.ADDED, EventType.MODIFIED: DeltaType.UPDATED}


class WatchEventApplier(Generic[T]):
    """Applies events to the store and records the resource version reached.

    Raises, in ``take``:
        ApiError: The server sent an ERROR event.
        WatchReplayError: The server repeated earlier events.
        CacheError: The store failed.
    """

    def __init__(
        self,
        name: str,
        target: ReflectorTarget[T],
        admission: Admission[T],
        state: ReflectorState,
        version_check: VersionCheck,
    ) -> None:
        self._name = name
        self._target = target
        self._admit = admission.admit
        self._admission = admission
        self._state = state
        self._version_check = version_check
        # Deltas of the current batch that the target has not received yet.
        self._deltas: list[Delta[T]] = []

    def take(self, batch: list[Frame], watch: OpenWatch) -> Demand:
        """Apply a batch, record its versions, and return the answer of the target.

        Events before a failing one are applied, because they are not sent again.
        """
        state, admission = self._state, self._admission
        state.received(watch.received_at)
        before = state.resource_version
        if not watch.events:
            self._check_first(batch[0], watch)
        try:
            for frame in batch:
                record = frame.record
                if record is None:
                    version = self._take_unreadable(frame)
                else:
                    version = record.head.resource_version
                    if frame.type is _BOOKMARK:
                        version = self._take_bookmark(version, watch)
                    elif record.gvk is admission.last_expected or self._is_expected(record):
                        state.event_at = state.contact_at
                        self._take_object(frame.type, record, watch)
                watch.events += 1
                if watch.opened_from in UNVERSIONED:
                    if frame.type is _ADDED:
                        # Existing objects are not ordered by version.
                        continue
                    watch.opened_from = version
                if version:
                    state.resource_version = version
                    state.moved = True
        except BaseException:
            self._flush()
            watch.progressed |= state.resource_version != before
            raise
        demand = self._flush()
        watch.progressed |= state.resource_version != before
        return demand

    def _is_expected(self, record: Record) -> bool:
        is_expected = self._admission.is_expected(record)
        if not is_expected:
            self._pass_version(record.head.resource_version)
        return is_expected

    def _take_object(self, kind: EventType, record: Record, watch: OpenWatch) -> None:
        if kind is _ADDED:
            self._check_replay(record, watch)
        if not record.head.name:
            self._admission.refuse_nameless(record)
            self._state.errors[DecodeError.__name__] += 1
            self._pass_version(record.head.resource_version)
            return
        obj = self._admit(record)
        key = record.head.key
        if obj is None:
            if kind is EventType.DELETED:
                self._delete_by_key(key)
            self._pass_version(record.head.resource_version)
        elif kind is EventType.DELETED:
            self._deltas.append(Delta(DeltaType.DELETED, DeletedObject(key, obj), key))
        else:
            self._deltas.append(Delta(_DELTA_TYPES[kind], obj, key))

    def _flush(self) -> Demand:
        """Pass the collected deltas to the store and return its answer."""
        deltas, self._deltas = self._deltas, []
        try:
            return self._target.put(deltas)
        except TargetFailedError:
            raise
        except CacheError as error:
            raise CacheError(f"{self._name}: {error}") from error.__cause__
        except Exception as error:  # the target may be user code
            raise CacheError(f"{self._name}: the store failed: {error}") from error

    def _take_bookmark(self, version: str, watch: OpenWatch) -> str:
        """Return the version of a bookmark; empty if it is behind the known one."""
        watch.received_bookmark()
        if is_older(version, self._state.resource_version):
            self._version_check.suspect()
            return ""
        self._state.received_bookmark()
        self._pass_version(version)
        return version

    def _pass_version(self, version: str) -> None:
        """Pass the version to the store if no delta contains it, so that waiters are released."""
        if version:
            self._flush()
            self._target.bookmark(version)

    def _take_unreadable(self, frame: Frame) -> str:
        """Quarantine an undecodable event and return its version, if it is known and newer."""
        error = frame.error
        if not isinstance(error, DecodeError):
            assert error is not None  # a frame has a record or an error
            raise error
        key = self._admission.refuse(error, frame.payload)
        if frame.type is EventType.DELETED and error.key:
            self._delete_by_key(key)
        self._state.errors[error_kind(error)] += 1
        if is_older(error.resource_version, self._state.resource_version):
            if frame.type is not EventType.DELETED:  # these may have the last version of the object
                self._version_check.suspect()
            return ""
        self._pass_version(error.resource_version)
        return error.resource_version

    def _delete_by_key(self, key: str) -> None:
        """Delete an object whose delete event cannot be decoded or transformed."""
        # Without a state: queued changes may be newer than what the store has now, so the store
        # itself supplies the last state when it applies the deletion.
        gone = DeletedObject[T](key, None, final_state_unknown=True)
        self._deltas.append(Delta(DeltaType.DELETED, gone, key))
        self._admission.quarantine.release(key)

    def _check_first(self, frame: Frame, watch: OpenWatch) -> None:
        """Raise if a watch starts with an update that is not newer than its version.

        One event is enough, and later ones are not delayed by it. Deletions do not count: some
        sources send them with the last version of the object.
        """
        record = frame.record
        if frame.type is not _MODIFIED or record is None or watch.opened_from in UNVERSIONED:
            return
        order = compare_resource_versions(record.head.resource_version, watch.opened_from)
        if order is not None and order <= 0:
            raise self._replayed(record, watch)

    def _check_replay(self, record: Record, watch: OpenWatch) -> None:
        """Raise if an added object is not newer than the version the watch was opened from."""
        if watch.opened_from in UNVERSIONED:
            return
        order = compare_resource_versions(record.head.resource_version, watch.opened_from)
        if order is None:
            # Without comparable versions, an add of a known object with the same uid is a replay.
            known = self._admission.last_good(record.head.key)
            replayed = known is not None and known.head.uid == record.head.uid
        else:
            replayed = order <= 0
        if replayed:
            raise self._replayed(record, watch)

    def _replayed(self, record: Record, watch: OpenWatch) -> WatchReplayError:
        return WatchReplayError(
            f"{self._name}: a watch from version {watch.opened_from} started with "
            f"{record.head.key!r} at version {record.head.resource_version}, which is not newer"
        )
