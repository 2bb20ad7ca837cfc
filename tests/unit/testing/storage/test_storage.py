"""Versions, states of the past, and how far back they go."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.errors import ExpiredError
from kinform.testing.resources import ResourceRegistry
from kinform.testing.storage import (
    ChangeSubscriber,
    Collection,
    ObjectDocument,
    Storage,
    StoredChange,
    StoredObject,
)


class Listener(ChangeSubscriber):
    def __init__(self) -> None:
        self.heard: list[StoredChange] = []
        self.closed = False

    def notify(self, change: StoredChange) -> None:
        self.heard.append(change)

    def close(self) -> None:
        self.closed = True


class Maps:
    """Config maps in a storage, written and read by their names."""

    def __init__(self, *, history: int = 100) -> None:
        self.storage = Storage(history=history)
        served = ResourceRegistry().find("", "v1", "configmaps")
        assert served is not None
        self.served = served
        self.collection: Collection = self.storage.collection(served.stored)

    def put(self, key: str, data: str = "") -> int:
        namespace, _, name = key.partition("/")
        version = self.storage.next_version
        metadata = {"name": name, "namespace": namespace, "resourceVersion": str(version)}
        self.collection.put(self._stored(key, version, metadata, data))
        return version

    def remove(self, key: str) -> int:
        version = self.storage.next_version
        metadata = {"name": key, "resourceVersion": str(version)}
        self.collection.remove(self._stored(key, version, metadata, ""))
        return version

    def _stored(self, key: str, version: int, metadata: dict[str, Any], data: str) -> StoredObject:
        document = ObjectDocument.from_object({"metadata": metadata, "data": {"k": data}})
        return self.collection.stored(key, version, document.encode(self.served.stored), {})

    def at(self, version: int, prefix: str = "", start: str = "") -> list[str]:
        return [
            f"{stored.key}={stored.document().read('data')['k']}"
            for stored in self.collection.select_at(version, prefix, start)
        ]


def test_one_counter_serves_all_resources() -> None:
    maps = Maps()
    pods = ResourceRegistry().find("", "v1", "pods")
    assert pods is not None

    first = maps.put("a/x")
    document = ObjectDocument.from_object({"metadata": {"name": "p"}})
    collection = maps.storage.collection(pods.stored)
    encoded = document.encode(pods.stored)
    collection.put(collection.stored("a/p", maps.storage.next_version, encoded, {}))

    assert maps.storage.resource_version == first + 1


def test_each_storage_begins_above_the_versions_of_earlier_ones() -> None:
    """18.8: A version of an earlier storage must never pass for a current one."""
    earlier = Maps()
    for number in range(500):
        last = earlier.put(f"a/{number}")

    later = Maps()

    assert last < later.storage.resource_version < 2**53
    with pytest.raises(ExpiredError):
        later.at(last)


def test_a_clock_that_is_set_back_does_not_repeat_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """18.8: Within a process, not even then."""
    earlier = Storage(history=1)
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000)

    assert Storage(history=1).resource_version > earlier.resource_version


def test_objects_come_in_the_order_of_their_keys() -> None:
    maps = Maps()
    for key in ("b/x", "a/z", "a/b", "a-b/c"):
        maps.put(key)

    # The order of paths, in which a namespace's objects stay together.
    assert [stored.key for stored in maps.collection.select("")] == ["a-b/c", "a/b", "a/z", "b/x"]
    assert [stored.key for stored in maps.collection.select("a/")] == ["a/b", "a/z"]
    assert [stored.key for stored in maps.collection.select("a/", "a/b\0")] == ["a/z"]


def test_every_state_of_the_past_can_be_read() -> None:
    maps = Maps()
    created = maps.put("a/x", "1")
    maps.put("a/y", "1")
    changed = maps.put("a/x", "2")
    removed = maps.remove("a/x")

    assert maps.at(created - 1) == []
    assert maps.at(created) == ["a/x=1"]
    assert maps.at(changed) == ["a/x=2", "a/y=1"]
    assert maps.at(removed) == ["a/y=1"]


def test_a_restored_storage_uses_the_versions_again() -> None:
    """18.8: State, history and versions go back, and all watches end."""
    maps, listener = Maps(), Listener()
    maps.put("a/x", "1")
    backup = maps.put("a/y", "1")
    maps.collection.subscribe(listener)
    lost = maps.put("a/x", "2")
    maps.remove("a/y")
    assert maps.at(lost) == ["a/x=2", "a/y=1"]
    listener.heard.clear()

    maps.storage.restore(backup)

    assert maps.storage.resource_version == backup
    assert maps.at(backup) == ["a/x=1", "a/y=1"]
    assert list(maps.collection.changes_since(backup)) == []
    assert listener.closed
    assert maps.put("a/z", "1") == lost
    assert maps.at(lost) == ["a/x=1", "a/y=1", "a/z=1"]
    assert not listener.heard


def test_a_version_that_is_not_in_the_history_cannot_be_restored() -> None:
    """18.8: Nothing changes then."""
    maps = Maps(history=2)
    first = maps.put("a/x", "0")
    for number in range(1, 5):
        last = maps.put("a/x", str(number))

    with pytest.raises(ExpiredError):
        maps.storage.restore(first)

    assert maps.storage.resource_version == last
    assert maps.at(last) == ["a/x=4"]


def test_history_is_as_long_as_it_was_asked_to_be() -> None:
    maps = Maps(history=3)
    versions = [maps.put("a/x", str(number)) for number in range(5)]

    assert [change.resource_version for change in maps.collection.changes_since(versions[1])] == (
        versions[2:]
    )
    with pytest.raises(ExpiredError, match=rf"too old resource version: {versions[0]}"):
        maps.collection.changes_since(versions[0])
    with pytest.raises(ExpiredError):
        maps.at(versions[0])


def test_a_list_that_is_being_read_outlives_the_history() -> None:
    maps = Maps(history=2)
    maps.put("a/x", "old")
    version = maps.put("a/y", "old")

    maps.collection.keep_snapshot()
    for number in range(10):
        maps.put("a/x", str(number))

    assert maps.at(version) == ["a/x=old", "a/y=old"]
    assert maps.at(version, "a/", "a/x\0") == ["a/y=old"]


def test_compaction_forgets_everything_before_it_and_nothing_after() -> None:
    maps = Maps()
    first = maps.put("a/x", "1")
    maps.collection.keep_snapshot()
    second = maps.put("a/x", "2")
    third = maps.put("a/x", "3")

    maps.storage.compact(second)

    with pytest.raises(ExpiredError):
        maps.at(first)
    assert maps.at(second) == ["a/x=2"]
    changes = maps.collection.changes_since(second)
    assert [change.resource_version for change in changes] == [third]


def test_compaction_reaches_resources_that_nobody_has_touched() -> None:
    maps = Maps()
    before = maps.put("a/x")
    maps.put("a/x")
    maps.storage.compact()
    secrets = ResourceRegistry().find("", "v1", "secrets")
    assert secrets is not None

    with pytest.raises(ExpiredError):
        maps.storage.collection(secrets.stored).changes_since(before)


def test_an_untouched_resource_has_a_history_without_events() -> None:
    maps = Maps()
    version = maps.storage.resource_version
    maps.put("a/x")
    secrets = ResourceRegistry().find("", "v1", "secrets")
    assert secrets is not None

    assert list(maps.storage.collection(secrets.stored).changes_since(version)) == []


def test_subscribers_hear_what_was_and_what_is() -> None:
    maps = Maps()
    listener = Listener()
    maps.collection.subscribe(listener)

    maps.put("a/x", "1")
    maps.put("a/x", "2")
    maps.remove("a/x")
    maps.collection.unsubscribe(listener)
    maps.put("a/x", "3")

    assert [(c.old is None, c.deleted) for c in listener.heard] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    assert listener.heard[1].old is listener.heard[0].new


def test_a_collection_that_goes_tells_its_subscribers() -> None:
    maps = Maps()
    listener = Listener()
    maps.collection.subscribe(listener)

    maps.storage.drop(maps.served.stored)

    assert listener.closed


def test_somebody_can_wait_for_a_version() -> None:
    maps = Maps()
    told: list[str] = []
    version = maps.storage.resource_version
    maps.storage.when_reached(version + 2, lambda: told.append("second"))
    forget = maps.storage.when_reached(version + 1, lambda: told.append("never"))
    forget()

    maps.put("a/x")
    assert told == []
    maps.put("a/x")
    assert told == ["second"]
    maps.put("a/x")
    assert told == ["second"]
