"""What a mailbox keeps, in which order, and what it says about itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinform.informers._changes import Change, ChangeSource, ChangeType
from kinform.informers.dispatch._mailbox import (
    SYNCED,
    BlockingMailbox,
    CoalescingMailbox,
    Item,
    Mailbox,
    Policy,
    UnboundedMailbox,
    mailbox_for,
)
from tests.support.changes import added, deleted, record, updated

POLICIES: tuple[Policy, ...] = ("unbounded", "block", "coalesce")

A1, A2, A3 = (record("a", rv) for rv in "123")
B1, B2 = (record("b", rv) for rv in "12")


def drained(mailbox: Mailbox) -> list[Item]:
    items = []
    while (item := mailbox.take()) is not None:
        items.append(item)
    return items


def told(mailbox: Mailbox) -> list[tuple[object, ...]]:
    """Type, key, old and new version of everything; the marker as itself."""
    return [
        (SYNCED,)
        if item is SYNCED
        else (
            item.type.value,
            item.key.removeprefix("default/"),
            item.old and item.old.head.resource_version,
            item.new and item.new.head.resource_version,
        )
        for item in drained(mailbox)
    ]


def coalesced(*changes: Change) -> list[tuple[object, ...]]:
    mailbox = CoalescingMailbox()
    for change in changes:
        mailbox.put([change])
    return told(mailbox)


@pytest.fixture(params=POLICIES)
def mailbox(request: pytest.FixtureRequest) -> Mailbox:
    return mailbox_for(request.param, 3)


def test_what_goes_in_comes_out_in_order_with_the_marker_in_its_place(mailbox: Mailbox) -> None:
    first, second = added(A1), added(B1)
    mailbox.put([first])
    mailbox.put_synced()
    mailbox.put([second])
    assert drained(mailbox) == [first, SYNCED, second]
    assert mailbox.take() is None


def test_depth_counts_changes_and_not_the_marker(mailbox: Mailbox) -> None:
    mailbox.put_synced()
    assert (mailbox.depth, bool(mailbox), mailbox.awaits_synced) == (0, True, True)
    mailbox.put([added(A1), added(B1)])
    assert mailbox.depth == 2
    drained(mailbox)
    assert (mailbox.depth, bool(mailbox), mailbox.awaits_synced) == (0, False, False)


def test_age_is_that_of_the_oldest_change_even_behind_the_marker(mailbox: Mailbox) -> None:
    assert mailbox.age == 0.0
    mailbox.put_synced()
    assert mailbox.age == 0.0
    long_ago = added(A1).at - 1000
    mailbox.put([Change(ChangeType.ADDED, "a", ChangeSource.WATCH, None, A1, long_ago)])
    mailbox.put([added(B1)])
    assert 1000 <= mailbox.age < 1060


def test_bytes_are_those_of_the_payloads_each_once(mailbox: Mailbox) -> None:
    mailbox.put([added(B1), updated(A1, A1), added(record("c"))])
    mailbox.put_synced()
    one = len(A1.payload)
    assert mailbox.bytes == 3 * one
    mailbox.take()
    assert mailbox.bytes == 2 * one


def test_entries_that_are_no_records_weigh_nothing(mailbox: Mailbox) -> None:
    mailbox.put([Change(ChangeType.ADDED, "a", ChangeSource.WATCH, None, {"any": "thing"})])
    assert mailbox.bytes == 0


def test_a_closed_mailbox_is_empty_and_stays_so(mailbox: Mailbox) -> None:
    mailbox.put([added(A1)])
    mailbox.put_synced()
    mailbox.close()
    mailbox.put([added(B1)])
    mailbox.put_synced()
    assert (mailbox.take(), mailbox.depth, mailbox.is_closed) == (None, 0, True)


def test_a_cleared_mailbox_takes_more(mailbox: Mailbox) -> None:
    mailbox.put([added(A1)])
    mailbox.put_synced()
    mailbox.clear()
    assert not mailbox.awaits_synced
    change = added(B1)
    mailbox.put([change])
    assert drained(mailbox) == [change]


def test_only_the_marker_first_is_told_as_such(mailbox: Mailbox) -> None:
    assert not mailbox.next_is_synced
    mailbox.put([added(A1)])
    mailbox.put_synced()
    assert not mailbox.next_is_synced
    mailbox.take()
    assert mailbox.next_is_synced


def test_only_the_blocking_kind_asks_to_wait() -> None:
    for mailbox in (UnboundedMailbox(), CoalescingMailbox()):
        mailbox.put([added(record(f"p{number}")) for number in range(2000)])
        assert mailbox.wait_for_capacity() is None


def test_there_is_room_again_when_the_consumer_is_below_capacity() -> None:
    mailbox = BlockingMailbox(capacity=2)
    mailbox.put([added(A1)])
    assert mailbox.wait_for_capacity() is None
    mailbox.put([added(B1), added(record("c"))])
    room = mailbox.wait_for_capacity()
    assert room is not None
    assert room is mailbox.wait_for_capacity()
    mailbox.take()
    assert not room
    mailbox.take()
    assert room
    assert mailbox.wait_for_capacity() is None


def test_a_full_mailbox_keeps_everything_all_the_same() -> None:
    mailbox = BlockingMailbox(capacity=1)
    changes = [added(record(f"p{number}")) for number in range(5)]
    mailbox.put(changes)
    assert drained(mailbox) == changes


@pytest.mark.parametrize("end", ["clear", "close"])
def test_nobody_waits_for_room_in_a_mailbox_that_was_emptied(end: str) -> None:
    mailbox = BlockingMailbox(capacity=1)
    mailbox.put([added(A1)])
    room = mailbox.wait_for_capacity()
    getattr(mailbox, end)()
    assert room
    assert mailbox.wait_for_capacity() is None


def test_an_update_melts_into_the_addition_before_it() -> None:
    assert coalesced(added(A1), updated(A1, A2)) == [("ADDED", "a", None, "2")]


def test_updates_become_one_from_the_first_old_to_the_last_new() -> None:
    assert coalesced(updated(A1, A2), updated(A2, A3)) == [("UPDATED", "a", "1", "3")]


def test_a_deletion_replaces_the_update_before_it_and_knows_what_was_told_last() -> None:
    assert coalesced(updated(A1, A2), deleted(A2, A3)) == [("DELETED", "a", "1", "3")]


def test_what_came_and_went_is_not_told_at_all() -> None:
    assert coalesced(added(A1), updated(A1, A2), deleted(A2, A3)) == []


def test_a_key_that_came_and_went_and_came_again_has_the_place_of_the_last_time() -> None:
    assert coalesced(added(A1), added(B1), deleted(A1, A1), added(A3)) == [
        ("ADDED", "b", None, "1"),
        ("ADDED", "a", None, "3"),
    ]


def test_a_deletion_and_the_next_object_of_that_name_are_both_told() -> None:
    changes = [deleted(A1, A1), added(A2), updated(A2, A3)]
    assert coalesced(*changes) == [("DELETED", "a", "1", "1"), ("ADDED", "a", None, "3")]


def test_only_the_first_deletion_is_left_of_two_with_a_short_life_between() -> None:
    assert coalesced(deleted(A1, A1), added(A2), deleted(A2, A3)) == [("DELETED", "a", "1", "1")]


def test_a_key_keeps_the_place_of_its_first_pending_change() -> None:
    changes = [updated(A1, A2), added(B1), updated(A2, A3), updated(B1, B2)]
    assert coalesced(*changes) == [("UPDATED", "a", "1", "3"), ("ADDED", "b", None, "2")]


def test_a_deletion_that_was_taken_leaves_the_addition_where_it_was() -> None:
    mailbox = CoalescingMailbox()
    mailbox.put([deleted(A1, A1), added(B1), added(A2)])
    assert mailbox.take() is not None
    mailbox.put([updated(A2, A3)])
    assert told(mailbox) == [("ADDED", "a", None, "3"), ("ADDED", "b", None, "1")]


def test_the_marker_stays_where_it_was_put_while_keys_before_it_change() -> None:
    mailbox = CoalescingMailbox()
    mailbox.put([added(A1, ChangeSource.INITIAL)])
    mailbox.put_synced()
    mailbox.put([updated(A1, A2), added(B1)])
    assert told(mailbox) == [("ADDED", "a", None, "2"), (SYNCED,), ("ADDED", "b", None, "1")]


def test_a_merged_change_says_the_source_and_time_that_matter() -> None:
    mailbox = CoalescingMailbox()
    first = added(A1, ChangeSource.INITIAL)
    real, reminder = updated(B1, B2), updated(B2, B2, ChangeSource.RESYNC)
    mailbox.put([first, updated(A1, A2), real, reminder])
    items = [item for item in drained(mailbox) if item is not SYNCED]
    assert [item.source for item in items] == [ChangeSource.INITIAL, ChangeSource.WATCH]
    assert [item.at for item in items] == [first.at, real.at]


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "take"]), st.sampled_from("abc")), max_size=60
)


@given(OPERATIONS)
def test_coalesced_changes_fold_to_the_same_as_all_of_them(
    operations: list[tuple[str, str]],
) -> None:
    truth: dict[str, int] = {}
    heard: dict[str, int] = {}
    mailbox = CoalescingMailbox()
    for version, (operation, key) in enumerate(operations):
        if operation == "take":
            _hear(heard, mailbox.take())
            continue
        old, gone = truth.get(key), key in truth and version % 3 == 0
        if gone:
            del truth[key]
        else:
            truth[key] = version
        kind = "DELETED" if gone else "ADDED" if old is None else "UPDATED"
        mailbox.put([Change(ChangeType(kind), key, ChangeSource.WATCH, old, version)])
        assert mailbox.depth <= 3
    for item in drained(mailbox):
        _hear(heard, item)
    assert heard == truth


def _hear(heard: dict[str, int], item: Item | None) -> None:
    """As a handler would that believes what it is told, and complains of what cannot be."""
    if item is None or item is SYNCED:
        return
    if item.type is ChangeType.ADDED:
        assert item.key not in heard
        heard[item.key] = item.new
    elif item.type is ChangeType.UPDATED:
        assert heard[item.key] == item.old
        heard[item.key] = item.new
    else:
        assert heard.pop(item.key) == item.old
