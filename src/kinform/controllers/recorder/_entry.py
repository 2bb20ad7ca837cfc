"""One event on the server, and how often it has occurred."""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Hashable
from datetime import datetime

import msgspec

from kinform.controllers.recorder._occurrence import Occurrence

COMBINED = "(combined from similar events): "
"""How the message of an event begins that stands for several messages."""

_LABEL = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_DNS_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_last_number = 0
_numbers = threading.Lock()


class EventEntry:
    """The state of one event. The caller holds the recorder's lock.

    Attributes:
        key: Occurrences with the same key belong to the same event.
        occurrence: The first occurrence.
        message: The message, of the latest occurrence if it stands for several.
        name: The name of the event on the server.
        count: The number of occurrences.
        written: The number of occurrences that the server knows.
        is_created: Whether the event exists on the server.
        is_queued: Whether it waits to be written.
        is_busy: Whether it is being written.
    """

    __slots__ = (
        "count",
        "first_at",
        "is_busy",
        "is_combined",
        "is_created",
        "is_queued",
        "key",
        "last_at",
        "last_seen",
        "message",
        "name",
        "occurrence",
        "written",
        "written_at",
    )

    def __init__(
        self, key: Hashable, occurrence: Occurrence, *, is_combined: bool, now: float, at: datetime
    ) -> None:
        self.key = key
        self.occurrence = occurrence
        self.is_combined = is_combined
        self.message = self._text(occurrence)
        self.name = event_name(occurrence.regarding.name)
        self.count = 1
        self.written = 0
        self.first_at = self.last_at = at
        self.last_seen = self.written_at = now
        self.is_created = False
        self.is_queued = False
        self.is_busy = False

    @property
    def unwritten(self) -> int:
        """The number of occurrences that the server does not know yet."""
        return self.count - self.written

    def add(self, occurrence: Occurrence, now: float, at: datetime) -> None:
        """Count one more occurrence."""
        self.count += 1
        self.last_seen = now
        self.last_at = at
        self.message = self._text(occurrence)

    def snapshot(self) -> EventSnapshot:
        """Return what to write now."""
        return EventSnapshot(
            self.occurrence, self.name, self.message, self.count, self.first_at, self.last_at
        )

    def rename(self) -> None:
        """Choose another name, for an event that has to be created again."""
        self.name = event_name(self.occurrence.regarding.name)

    def _text(self, occurrence: Occurrence) -> str:
        message = occurrence.message
        if not self.is_combined:
            return message
        return f"{COMBINED}{message}".encode()[:1024].decode(errors="ignore")


class EventSnapshot(msgspec.Struct, frozen=True):
    """The state of an event at one time."""

    occurrence: Occurrence
    name: str
    message: str
    count: int
    first_at: datetime
    last_at: datetime


def event_name(obj: str) -> str:
    """Return a new name for an event: the name of its object and a time, or a uuid.

    Names of some objects, such as ``system:node``, are not valid names of events.
    """
    name = f"{obj}.{next_number():x}"
    return name if _is_valid(name) else str(uuid.uuid4())


def next_number() -> int:
    """Return nanoseconds since the epoch, never the same twice."""
    global _last_number
    with _numbers:
        _last_number = max(_last_number + 1, time.time_ns())
        return _last_number


def _is_valid(name: str) -> bool:
    return len(name) <= 253 and _DNS_SUBDOMAIN.fullmatch(name) is not None
