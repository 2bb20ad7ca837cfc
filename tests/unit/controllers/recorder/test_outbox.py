"""The outbox: no count is forgotten while an event is being written, or makes room for another."""

from __future__ import annotations

from datetime import UTC, datetime

from kinform.controllers.recorder._bodies import SERIES_FORM
from kinform.controllers.recorder._correlator import Correlator
from kinform.controllers.recorder._entry import EventEntry
from kinform.controllers.recorder._occurrence import occurrence
from kinform.controllers.recorder._outbox import Outbox
from tests.unit.controllers.recorder.event_server import pod

AT = datetime(2026, 1, 1, tzinfo=UTC)


def add(outbox: Outbox, name: str = "web-0", times: int = 1) -> None:
    said = occurrence(pod(name), "Normal", "Up", "up", action=None, related=None, annotations=None)
    for _ in range(times):
        assert outbox.add(said, 0.0, AT) is None


def taken(outbox: Outbox) -> EventEntry:
    entry = outbox.take()
    assert entry is not None
    return entry


def written_twice(outbox: Outbox, name: str = "web-0") -> EventEntry:
    """Return an event whose second occurrence is being written."""
    add(outbox, name)
    entry = taken(outbox)
    outbox.confirm(entry, 1, 0.0)
    add(outbox, name)
    assert taken(outbox) is entry
    return entry


def test_counts_of_a_busy_event_are_flushed_after_it() -> None:
    """20: a series that goes on while its last write is under way."""
    outbox = Outbox(SERIES_FORM, capacity=10)
    entry = written_twice(outbox)
    add(outbox, times=3)
    outbox.flush()
    assert not outbox.has_queued, "one write at a time for each event"
    outbox.confirm(entry, 2, 0.0)
    assert taken(outbox) is entry
    assert outbox.confirm(entry, 5, 0.0) == 3
    assert outbox.close() == 0


def test_later_counts_of_a_series_wait() -> None:
    """20: without a flush, the same counts are not written at once."""
    outbox = Outbox(SERIES_FORM, capacity=10)
    entry = written_twice(outbox)
    add(outbox, times=3)
    outbox.confirm(entry, 2, 0.0)
    assert not outbox.has_queued
    assert outbox.close() == 3


def test_event_that_makes_room_is_written_first() -> None:
    """20: idle or busy, its count is not lost with it."""
    outbox = Outbox(SERIES_FORM, capacity=10)
    outbox._correlator = Correlator(remembered=2)
    idle = written_twice(outbox, "idle")
    add(outbox, "idle")
    outbox.confirm(idle, 2, 0.0)
    busy = written_twice(outbox, "busy")
    add(outbox, "busy")
    assert not outbox.has_queued
    add(outbox, "other-0")
    add(outbox, "other-1")
    assert [taken(outbox).occurrence.regarding.name for _ in range(3)] == [
        "other-0",
        "idle",
        "other-1",
    ]
    outbox.confirm(busy, 2, 0.0)
    assert taken(outbox) is busy


def test_dropped_event_begins_anew() -> None:
    """20: a later occurrence is tried again, with its own count."""
    outbox = Outbox(SERIES_FORM, capacity=10)
    entry = written_twice(outbox)
    add(outbox, times=3)
    assert outbox.drop(entry, "refused") == 4
    add(outbox)
    again = taken(outbox)
    assert again is not entry
    assert again.count == 1
    assert outbox.status("web", "").dropped == {"refused": 4}
