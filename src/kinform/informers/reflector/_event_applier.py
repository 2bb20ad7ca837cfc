"""The frames of a watch in, in their order; calls on the store out."""

from __future__ import annotations

from typing import Generic, TypeVar

from kinform.api import compare_resource_versions
from kinform.client import EventType, Frame
from kinform.errors import CacheError, DecodeError, WatchReplayError
from kinform.informers._changes import DeletedObject
from kinform.informers.queue._deltas import Delta, DeltaType
from kinform.informers.reflector._admission import Admission
from kinform.informers.reflector._open_watch import OpenWatch
from kinform.informers.reflector._state import ReflectorState, error_kind
from kinform.informers.reflector._target import ReflectorTarget, TargetFailedError
from kinform.objects import Handle, Record

T = TypeVar("T", bound=Handle)

# A watch from these begins with what there is, and not after a known state.
FROM_ANYWHERE = ("", "0")

# A member of an enum is looked up in two steps, a global in one: these are for every event.
_ADDED, _BOOKMARK = EventType.ADDED, EventType.BOOKMARK
_DELTA_TYPES = {EventType.ADDED: DeltaType.ADDED, EventType.MODIFIED: DeltaType.UPDATED}


class WatchEventApplier(Generic[T]):
    """Applies events to the store and keeps count of how far that is.

    Raises, while taking:
        ApiError: The server sent an ERROR event.
        WatchReplayError: The server told again what was told before.
        CacheError: The store refused.
    """

    def __init__(
        self, name: str, target: ReflectorTarget[T], admission: Admission[T], state: ReflectorState
    ) -> None:
        self._name = name
        self._target = target
        self._admit = admission.admit
        self._admission = admission
        self._state = state
        # What the batch at hand has brought so far, and the target does not have yet.
        self._deltas: list[Delta[T]] = []

    def take(self, batch: list[Frame], watch: OpenWatch) -> bool:
        """Apply all of it, and remember the version of each; whether nobody has to be waited for.

        What comes before something that is refused is applied: it is not sent again.
        """
        state, admission = self._state, self._admission
        before = state.resource_version
        try:
            for frame in batch:
                record = frame.record
                if record is None:
                    version = self._take_unreadable(frame)
                else:
                    version = record.head.resource_version
                    if frame.type is _BOOKMARK:
                        self._take_bookmark(version, watch)
                    elif record.gvk is admission.last_expected or self._is_expected(record):
                        state.event_at = state.contact_at
                        self._take_object(frame.type, record, watch)
                watch.events += 1
                if watch.opened_from in FROM_ANYWHERE:
                    if frame.type is _ADDED:
                        # What there was at the start comes in no order of versions.
                        continue
                    watch.opened_from = version
                if version:
                    state.resource_version = version
                    state.moved = True
        except BaseException:
            self._flush()
            watch.progressed |= state.resource_version != before
            raise
        need_not_wait = self._flush()
        if state.resource_version != before:
            watch.progressed = True
        return need_not_wait

    def _is_expected(self, record: Record) -> bool:
        is_expected = self._admission.is_expected(record)
        if not is_expected:
            self._come_to(record.head.resource_version)
        return is_expected

    def _take_object(self, kind: EventType, record: Record, watch: OpenWatch) -> None:
        if kind is _ADDED:
            self._check_replay(record, watch)
        obj = self._admit(record)
        key = record.head.key
        if not record.head.name:
            raise CacheError(f"{self._name}: an object came without a name; nothing can be kept so")
        if obj is None:
            if kind is EventType.DELETED:
                self._delete_by_key(key)
            self._come_to(record.head.resource_version)
        elif kind is EventType.DELETED:
            self._deltas.append(Delta(DeltaType.DELETED, DeletedObject(key, obj), key))
        else:
            self._deltas.append(Delta(_DELTA_TYPES[kind], obj, key))

    def _flush(self) -> bool:
        """Give the store what was collected for it; whether it need not be waited for."""
        deltas, self._deltas = self._deltas, []
        try:
            return self._target.put(deltas)
        except TargetFailedError:
            raise
        except CacheError as error:
            raise CacheError(f"{self._name}: {error}") from error.__cause__
        except Exception as error:  # the target may be anybody's
            raise CacheError(f"{self._name}: the store failed: {error}") from error

    def _take_bookmark(self, version: str, watch: OpenWatch) -> None:
        watch.heard_bookmark()
        self._state.received_bookmark()
        self._come_to(version)

    def _come_to(self, version: str) -> None:
        """Tell the store how far this is where no event does: nobody is to wait for it."""
        if version:
            self._flush()
            self._target.bookmark(version)

    def _take_unreadable(self, frame: Frame) -> str:
        """Put it away; its version, as far as that can be read."""
        error = frame.error
        if not isinstance(error, DecodeError):
            assert error is not None  # a frame has a record or an error
            raise error
        key = self._admission.refuse(error, frame.payload)
        if frame.type is EventType.DELETED and error.key:
            self._delete_by_key(key)
        self._state.errors[error_kind(error)] += 1
        self._come_to(error.resource_version)
        return error.resource_version

    def _delete_by_key(self, key: str) -> None:
        """The server says that it is gone, in words that cannot be read or transformed."""
        # Without a state: the store knows its last one better than anybody who looks now,
        # before what is queued has come to it.
        gone = DeletedObject[T](key, None, final_state_unknown=True)
        self._deltas.append(Delta(DeltaType.DELETED, gone, key))
        self._admission.quarantine.release(key)

    def _check_replay(self, record: Record, watch: OpenWatch) -> None:
        """An honest server has nothing to add that is older than where we asked it to go on."""
        if watch.opened_from in FROM_ANYWHERE:
            return
        order = compare_resource_versions(record.head.resource_version, watch.opened_from)
        if order is None:
            # Versions without order: then who is known must not come again, unless reborn.
            known = self._admission.last_good(record.head.key)
            replayed = known is not None and known.head.uid == record.head.uid
        else:
            replayed = order <= 0
        if replayed:
            raise WatchReplayError(
                f"{self._name}: a watch from version {watch.opened_from} began with "
                f"{record.head.key!r} of version {record.head.resource_version}, which is not later"
            )
