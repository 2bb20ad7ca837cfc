"""The state of a reflector, readable from any thread."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec

from kinform.errors import ApiError, KinformError

# After a reconnect, the server sends missed events immediately. A stream that has been quiet for
# this long has delivered them all.
CAUGHT_UP_AFTER = 0.1
# The number of past errors to keep.
_RECENT = 10


class Phase(StrEnum):
    """The phase of a reflector. See ``Reflector`` for the transitions."""

    NEW = "new"
    STREAMING = "streaming"
    LISTING = "listing"
    WATCHING = "watching"
    POLLING = "polling"
    WAITING = "waiting"
    STOPPED = "stopped"


class SyncMode(StrEnum):
    """How the last complete state was fetched."""

    STREAMING = "streaming"
    LIST = "list"
    RESUMED = "resumed"  # not at all: the target had it, and a watch continues from its version


class WatchFailure(msgspec.Struct, frozen=True):
    """A lost connection or a refusal, as passed to ``on_watch_error``.

    Attributes:
        name: The name of the informer.
        phase: The phase in which it happened.
        resource_version: The version reached; empty before the first list.
        error: The error.
        attempts: The number of consecutive failures, including this one.
        retry_in: Seconds until the next attempt; 0 for immediately.
        staleness: Seconds since the store was last known to be current; ``None`` if it never was.
    """

    name: str
    phase: Phase
    resource_version: str
    error: KinformError
    attempts: int
    retry_in: float
    staleness: float | None = None


class PastError(msgspec.Struct, frozen=True):
    """An error in the history of a reflector. Text only: an exception would keep data alive.

    Attributes:
        kind: The name under which it is counted, such as ``Forbidden`` or ``TransportError``.
        message: The error as text.
        age: Seconds since it happened.
    """

    kind: str
    message: str
    age: float


class ReflectorStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the state of a reflector. Ages are in seconds; ``None`` means never.

    Attributes:
        phase: The current phase, entered ``phase_age`` seconds ago.
        mode: How the last complete state was fetched.
        synced: Whether the target has had a complete state: fetched, or filled elsewhere and
            resumed.
        resource_version: The version reached.
        attempts: The number of consecutive failures; 0 if the last attempt succeeded.
        last_error: The error of the last attempt; ``None`` if it succeeded.
        recent_errors: The last errors, the newest last; kept after recovery.
        retry_in: The remaining delay in seconds, while waiting.
        staleness: The time since the store was last known to be current; ``None`` if it never was.
            While a watch is open, the time since its last event or bookmark; an idle server sends
            about one bookmark per minute.
        contact_age: The time since the server last sent anything: an event, a list, an opened
            watch.
        event_age, bookmark_age, list_age, error_age: The time since the last of each.
        relists: The number of relists by reason, without the first list.
        watch_opens: The number of watches opened.
        errors: The number of errors by name, such as ``Forbidden`` or ``TransportError``.
    """

    phase: Phase
    phase_age: float
    mode: SyncMode | None
    synced: bool
    resource_version: str
    attempts: int
    last_error: KinformError | None
    recent_errors: tuple[PastError, ...]
    retry_in: float | None
    staleness: float | None
    contact_age: float | None
    event_age: float | None
    bookmark_age: float | None
    list_age: float | None
    error_age: float | None
    relists: Mapping[str, int]
    watch_opens: int
    errors: Mapping[str, int]


class ReflectorState(msgspec.Struct, eq=False):
    """The mutable state. Written on the loop, read from any thread: each field is one value."""

    clock: Callable[[], float] = time.monotonic
    phase: Phase = Phase.NEW
    phase_since: float = msgspec.field(default_factory=time.monotonic)
    mode: SyncMode | None = None
    synced: bool = False
    resource_version: str = ""
    attempts: int = 0
    last_error: KinformError | None = None
    recent_errors: tuple[tuple[float, str, str], ...] = ()
    retry_at: float | None = None
    contact_at: float = -math.inf  # nothing received yet
    current_at: float | None = None
    is_catching_up: bool = False  # the watch may still be sending missed events
    event_at: float | None = None
    bookmark_at: float | None = None
    list_at: float | None = None
    error_at: float | None = None
    moved: bool = False  # whether an event or bookmark was received since the last complete list
    watch_opens: int = 0
    relists: Counter[str] = msgspec.field(default_factory=Counter)
    errors: Counter[str] = msgspec.field(default_factory=Counter)

    def enter(self, phase: Phase) -> None:
        if phase is not self.phase:
            self.phase = phase
            self.phase_since = self.clock()

    def listed(self, version: str, mode: SyncMode) -> None:
        """Note that a complete state is in the store."""
        self.synced = True
        self.mode = mode
        self.resource_version = version
        self.contact_at = self.current_at = self.list_at = self.clock()
        self.is_catching_up = False
        self.moved = False
        self.succeeded()

    def succeeded(self) -> None:
        """Note that an attempt succeeded; the errors before it are history."""
        self.attempts = 0
        self.last_error = None

    def resumed(self) -> None:
        """Note that the server continues from the version of a target that was filled elsewhere."""
        self.synced = True
        self.mode = SyncMode.RESUMED

    def watch_opened(self, *, starts_with_list: bool) -> None:
        """Note that a watch was opened; events missed since the last watch come first.

        The objects of a streamed list do not bring the store up to date before it is complete.
        """
        self.contact_at = self.clock()
        self.is_catching_up = not starts_with_list
        self.watch_opens += 1

    def received(self, now: float) -> None:
        """Note that data was received on an open watch."""
        if self.is_catching_up and now - self.contact_at >= CAUGHT_UP_AFTER:
            self.is_catching_up = False
        if not self.is_catching_up:
            self.current_at = now
        self.contact_at = now

    def received_bookmark(self) -> None:
        """Note a bookmark: everything up to its version has been received."""
        self.is_catching_up = False
        self.current_at = self.bookmark_at = self.contact_at

    def watch_closed(self) -> None:
        if self.is_catching_up and self.clock() - self.contact_at >= CAUGHT_UP_AFTER:
            self.current_at = self.contact_at
        self.is_catching_up = False

    def staleness(self) -> float | None:
        """Seconds since the store was last known to be current; ``None`` if it never was."""
        current_at, contact_at = self.current_at, self.contact_at
        now = self.clock()
        if self.is_catching_up and now - contact_at >= CAUGHT_UP_AFTER:
            current_at = contact_at if current_at is None else max(current_at, contact_at)
        return None if current_at is None else max(0.0, now - current_at)

    def failed(self, error: KinformError) -> None:
        self.attempts += 1
        self.last_error = error
        self.error_at = now = self.clock()
        kind = error_kind(error)
        self.errors[kind] += 1
        self.recent_errors = (*self.recent_errors[1 - _RECENT :], (now, kind, str(error)))

    def status(self) -> ReflectorStatus:
        now = self.clock()

        def age(moment: float | None) -> float | None:
            return None if moment is None else max(0.0, now - moment)

        return ReflectorStatus(
            phase=self.phase,
            phase_age=age(self.phase_since) or 0.0,
            mode=self.mode,
            synced=self.synced,
            resource_version=self.resource_version,
            attempts=self.attempts,
            last_error=self.last_error,
            recent_errors=tuple(
                PastError(kind, message, max(0.0, now - at))
                for at, kind, message in self.recent_errors
            ),
            retry_in=None if self.retry_at is None else max(0.0, self.retry_at - now),
            staleness=self.staleness(),
            contact_age=None if self.contact_at == -math.inf else age(self.contact_at),
            event_age=age(self.event_at),
            bookmark_age=age(self.bookmark_at),
            list_age=age(self.list_at),
            error_age=age(self.error_at),
            relists=dict(self.relists),
            watch_opens=self.watch_opens,
            errors=dict(self.errors),
        )


def error_kind(error: KinformError) -> str:
    """Return the name under which an error is counted: the server's reason, or the class name."""
    if isinstance(error, ApiError):
        return error.reason or type(error).__name__.removesuffix("Error")
    return type(error).__name__
