"""The correlator: which occurrences are one event, and which are too many."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kinform.controllers.recorder._correlator import Correlator
from kinform.controllers.recorder._entry import COMBINED, EventEntry
from kinform.controllers.recorder._occurrence import occurrence
from tests.unit.controllers.recorder.event_server import pod

AT = datetime(2026, 1, 1, tzinfo=UTC)


def observe(
    correlator: Correlator, message: str, *, now: float = 0.0, **changes: Any
) -> EventEntry | None:
    said = {"obj": pod("web-0"), "type": "Warning", "reason": "Failed", **changes}
    made = occurrence(
        said["obj"],
        said["type"],
        said["reason"],
        message,
        action=None,
        related=None,
        annotations=None,
    )
    return correlator.observe(made, now, AT)


def test_same_occurrence_is_the_same_event() -> None:
    """20: the version of the object does not matter, everything else does."""
    correlator = Correlator()
    first = observe(correlator, "m")
    newer = pod("web-0")
    newer["metadata"]["resourceVersion"] = "9"
    assert observe(correlator, "m", obj=newer) is first
    assert first is not None
    assert first.count == 2
    others: list[dict[str, Any]] = [{"reason": "Other"}, {"type": "Normal"}, {"obj": pod("web-1")}]
    assert all(observe(correlator, "m", **other) is not first for other in others)


def test_tenth_message_is_combined() -> None:
    """20: the nine before it keep their events."""
    correlator = Correlator()
    entries = [observe(correlator, f"m{number}") for number in range(12)]
    texts = [entry.message if entry else "" for entry in entries]
    assert texts[:9] == [f"m{number}" for number in range(9)]
    assert entries[9] is entries[10] is entries[11]
    assert texts[11] == f"{COMBINED}m11"
    assert observe(correlator, "m3") is entries[3]


def test_similar_messages_are_apart_again_after_a_pause() -> None:
    """20: ten minutes without a similar occurrence."""
    correlator = Correlator()
    for number in range(12):
        observe(correlator, f"m{number}")
    later = observe(correlator, "new", now=700.0)
    assert later is not None
    assert not later.is_combined


def test_new_events_of_one_object_are_limited() -> None:
    """20: 25 at once and one each five minutes; more occurrences are counted together."""
    correlator = Correlator()
    entries = [observe(correlator, f"m{number}", reason=f"R{number % 5}") for number in range(200)]
    events = {id(entry) for entry in entries if entry is not None}
    assert len(events) <= 25 + 10
    counted = sum(entry.count for entry in correlator)
    assert counted == len([entry for entry in entries if entry is not None])
    assert counted == 200
    assert observe(correlator, "m", obj=pod("web-1")) is not None, "another object"


def test_important_events_are_not_lost_to_frequent_ones() -> None:
    """20: the first of a new reason passes the filter, a flood of reasons does not."""
    correlator = Correlator()
    for number in range(60):
        observe(correlator, f"m{number}", reason=f"Noise{number % 3}")
    found = observe(correlator, "disk is full", reason="DiskFull")
    assert found is not None
    assert found.message == "disk is full"
    flood = [observe(correlator, "m", reason=f"Flood{number}") for number in range(50)]
    assert flood.count(None) >= 40


def test_tokens_come_back() -> None:
    """20: one each five minutes."""
    correlator = Correlator()
    for number in range(60):
        observe(correlator, "m", reason=f"R{number}")
    assert observe(correlator, "m", reason="New") is None
    assert observe(correlator, "m", reason="New", now=301.0) is not None


def test_memory_is_bounded() -> None:
    """20: what is forgotten is handed out, so that its count is not lost."""
    correlator = Correlator(remembered=10)
    entries = [observe(correlator, "m", obj=pod(f"p{number}")) for number in range(25)]
    assert len(correlator) == 10
    assert correlator.evicted == entries[:15]
    assert not correlator.knows(correlator.evicted[0])
