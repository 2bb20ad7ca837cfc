"""What client-go promises of its stores (C-45, C-63 to C-66)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kinform.errors import KeyFuncError, UnknownIndexError
from kinform.informers import (
    DeletedObject,
    ExpiringStore,
    Indexer,
    MutationCache,
    Store,
    index_func_to_key_func,
    label_index,
)
from kinform.informers.store._store import StoreWrite
from kinform.objects import Unstructured
from tests.support.answers import pod


def obj(name: str, rv: int | str = 1, *, uid: str = "", **labels: str) -> Unstructured:
    tree = pod(name, rv=str(rv))
    tree["metadata"]["labels"] = labels
    if uid:
        tree["metadata"]["uid"] = uid
    return Unstructured(tree)


def by_users(found: Unstructured) -> list[str]:
    """Many values: the label ``users`` split at its dots."""
    return found.labels.get("users", "").split(".")


@dataclass
class Plain:
    """An object that says nothing of versions."""

    name: str


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


# -- indices ---------------------------------------------------------------------------------


def test_an_index_forgets_a_value_with_its_last_object() -> None:
    """C-63: however that one went, so values that nobody has cost nothing."""
    store = Indexer(indexers={"app": label_index("app")})
    store.add(obj("a", app="web"))
    store.add(obj("b", app="web"))
    store.add(obj("c", app="db"))

    store.delete(obj("a"))
    assert sorted(store.index_values("app")) == ["db", "web"]
    store.delete(obj("b"))
    assert store.index_values("app") == ["db"]
    store.update(obj("c", 2, app="cache"))
    assert store.index_values("app") == ["cache"]
    store.replace([obj("d")], "3")
    assert store.index_values("app") == []
    assert store.by_index("app", "cache") == []


def test_an_index_does_not_grow_with_the_values_that_have_been() -> None:
    """C-63: a thousand values later it is as large as at the start."""
    store = Indexer(indexers={"app": label_index("app")})
    store.add(obj("a", app="web0000"))
    at_first = store.index_memory["app"]
    for step in range(1000):
        store.update(obj("a", step + 2, app=f"web{step:04}"))
    store.delete(obj("a"))
    store.add(obj("a", app="web0000"))

    assert store.index_memory["app"] <= 2 * at_first


def test_an_object_with_many_values_is_found_under_each_and_leaves_those_it_lost() -> None:
    """C-63: after every change the index says what the objects say now."""
    store = Indexer(indexers={"users": by_users})

    def under(value: str) -> list[str]:
        return [key.removeprefix("default/") for key in store.index_keys("users", value)]

    store.add(obj("one", users="ernie.bert"))
    store.add(obj("two", users="bert.oscar"))
    assert (under("ernie"), under("bert"), under("oscar")) == (["one"], ["one", "two"], ["two"])

    store.update(obj("one", 2, users="oscar.elmo"))
    assert (under("ernie"), under("bert")) == ([], ["two"])
    assert (under("oscar"), under("elmo")) == (["one", "two"], ["one"])

    store.delete(obj("two"))
    assert sorted(store.index_values("users")) == ["elmo", "oscar"]
    assert store.index_keys("users", "bert") == []


def test_an_object_finds_those_that_share_any_of_its_values_each_once() -> None:
    """C-64: whether it is in the store itself or not; keys come sorted."""
    store = Indexer(indexers={"users": by_users})
    for name, users in (("one", "ernie.bert"), ("two", "bert.oscar"), ("three", "elmo.oscar")):
        store.add(obj(name, users=users))

    def alike(**labels: str) -> list[str]:
        return sorted(found.name for found in store.index("users", obj("asked", **labels)))

    assert alike(users="bert") == ["one", "two"]
    assert alike(users="bert.oscar") == ["one", "three", "two"]
    assert alike(users="grover") == []
    assert store.index_keys("users", "oscar") == ["default/three", "default/two"]
    assert sorted(store.index_values("users")) == ["bert", "elmo", "ernie", "oscar"]


def test_asking_an_index_that_is_not_there_is_an_error() -> None:
    """C-64: in every way of asking, and it says which there are."""
    store = Indexer(indexers={"users": by_users})
    asking: list[Callable[[], object]] = [
        lambda: store.by_index("app", "web"),
        lambda: store.index("app", obj("a")),
        lambda: store.index_keys("app", "web"),
        lambda: store.index_values("app"),
    ]
    for ask in asking:
        with pytest.raises(UnknownIndexError, match="users"):
            ask()


def test_an_index_function_serves_as_key_function_where_it_gives_one_value() -> None:
    """C-64: none, or several, is no key."""
    key = index_func_to_key_func(by_users)

    assert key(obj("a", users="ernie")) == "ernie"
    with pytest.raises(KeyFuncError, match="2"):
        key(obj("a", users="ernie.bert"))
    with pytest.raises(KeyFuncError, match="0"):
        index_func_to_key_func(lambda _: [])(obj("a"))


def test_many_writes_at_once_leave_out_only_those_without_a_key_and_say_which() -> None:
    """C-64: the others are made and indexed, in their order."""
    store = Indexer(indexers={"app": label_index("app")})
    store.add(obj("old", app="web"))
    nameless = Unstructured(pod("", rv="9"))

    failures = store.apply(
        [
            StoreWrite(obj("a", 2, app="web")),
            StoreWrite(nameless),
            StoreWrite(obj("a", 3, app="db")),
            StoreWrite(obj("old"), delete=True),
            StoreWrite(nameless, delete=True),
            StoreWrite(obj("b", 4, app="web")),
        ]
    )

    assert [*failures] == [1, 4]
    assert all(isinstance(error, KeyFuncError) for error in failures.values())
    assert store.list_keys() == ["default/a", "default/b"]
    assert store.index_keys("app", "web") == ["default/b"]
    assert store.index_keys("app", "db") == ["default/a"]


# -- the version of a store ------------------------------------------------------------------


def test_a_store_is_at_the_version_of_what_was_applied_last() -> None:
    """C-63: a write, a list or a bookmark; not what is newest, and not a tombstone."""
    store = Store()
    assert store.resource_version == ""
    steps: list[tuple[Callable[[], object], str]] = [
        (lambda: store.add(obj("a", 5)), "5"),
        (lambda: store.update(obj("a", 7)), "7"),
        (lambda: store.add(obj("b", 6)), "6"),
        (lambda: store.delete(obj("b", 9)), "9"),
        (lambda: store.bookmark("12"), "12"),
        (lambda: store.bookmark(""), "12"),
        (lambda: store.delete(DeletedObject("default/a", obj("a", 3), True)), "12"),
        (lambda: store.delete(DeletedObject("default/a", None, True)), "12"),
        (lambda: store.apply([StoreWrite(obj("c", 14)), StoreWrite(obj("d", 15))]), "15"),
        (lambda: store.replace([obj("c", 14)], "20"), "20"),
        (lambda: store.replace([obj("c", 14)], ""), "20"),
    ]
    for step, expected in steps:
        step()
        assert store.resource_version == expected


def test_objects_without_versions_leave_the_stores_version_to_lists() -> None:
    """C-45: a store of other things than Kubernetes objects moves with replace alone."""
    store: Store[Plain] = Store(key_func=lambda plain: plain.name)
    store.replace([Plain("a")], "4")
    store.add(Plain("b"))
    store.update(Plain("a"))
    store.delete(Plain("b"))
    assert store.resource_version == "4"
    store.replace([], "8")
    assert store.resource_version == "8"


def test_a_snapshot_is_the_store_at_one_version() -> None:
    """C-63: what it holds and the version that it says belong together."""
    store = Store()
    store.replace([obj("a", 1), obj("b", 2)], "2")
    before = store.snapshot()
    store.replace([obj("c", 3)], "3")

    assert (before.resource_version, sorted(before)) == ("2", ["default/a", "default/b"])
    assert store.resource_version == "3"


# -- the expiring store ----------------------------------------------------------------------


def test_an_object_expires_when_it_is_asked_for_and_a_write_begins_its_time_anew() -> None:
    """C-65: its keys are still listed until somebody looks."""
    clock = Clock()
    store: ExpiringStore[Plain] = ExpiringStore(
        key_func=lambda plain: plain.name, ttl=10.0, clock=clock
    )
    store.add(Plain("a"))
    store.add(Plain("b"))
    clock.now = 6
    store.update(Plain("b"))
    clock.now = 12

    assert sorted(store.list_keys()) == ["a", "b"]
    assert store.get_by_key("a") is None
    assert store.get_by_key("b") == Plain("b")
    assert store.list_keys() == ["b"]
    assert store.list() == [Plain("b")]


@pytest.mark.parametrize("ttl", [0.0, -1.0])
def test_without_a_time_to_live_nothing_expires(ttl: float) -> None:
    """C-65: zero or less is never."""
    clock = Clock()
    store: ExpiringStore[Plain] = ExpiringStore(
        key_func=lambda plain: plain.name, ttl=ttl, clock=clock
    )
    store.add(Plain("a"))
    clock.now = 1e9

    assert store.list() == [Plain("a")]


def test_an_object_that_is_added_again_while_the_old_one_expires_stays() -> None:
    """C-65: the reader that found the old one too old takes away that one alone."""
    store: ExpiringStore[Plain]
    fresh = Plain("a")

    class Meanwhile(Clock):
        """The first reader asks how late it is, and just then the object comes again."""

        added = False

        def __call__(self) -> float:
            if self.now and not self.added:
                self.added = True
                store.add(fresh)
            return self.now

    clock = Meanwhile()
    store = ExpiringStore(key_func=lambda plain: plain.name, ttl=10.0, clock=clock)
    store.add(Plain("a"))
    clock.now = 100

    assert store.get_by_key("a") is fresh
    assert store.get_by_key("a") is fresh


def test_readers_that_expire_never_take_away_what_a_writer_added() -> None:
    """C-65: with threads, for as long as it takes to write a few thousand times."""
    clock = Clock()
    store: ExpiringStore[Plain] = ExpiringStore(
        key_func=lambda plain: plain.name, ttl=1.0, clock=clock
    )
    finished = threading.Event()

    def read() -> None:
        while not finished.is_set():
            store.get_by_key("a")
            store.list()

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    lost = 0
    for _ in range(3000):
        clock.now += 2
        store.add(Plain("a"))
        lost += store.get_by_key("a") is None
    finished.set()
    for reader in readers:
        reader.join(10)

    assert lost == 0


# -- the mutation cache ----------------------------------------------------------------------


class Overlaid:
    """A store and two caches over it: one of updates alone, one that shows additions too."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Indexer(indexers={"app": label_index("app")})
        self.updates = MutationCache(self.store, clock=self.clock, ttl=60.0)
        self.adding = MutationCache(self.store, include_adds=True, clock=self.clock, ttl=60.0)

    def mutation(self, written: Unstructured) -> None:
        self.updates.mutation(written)
        self.adding.mutation(written)

    def delete(self, gone: DeletedObject[Unstructured] | Unstructured) -> None:
        key = gone.key
        self.store.delete(DeletedObject(key, None, final_state_unknown=True))
        self.updates.on_delete(gone)
        self.adding.on_delete(gone)

    def shown(self) -> tuple[str | None, str | None]:
        """The version under ``default/a`` by each of the two."""
        found = (cache.get_by_key("default/a") for cache in (self.updates, self.adding))
        by_key = tuple(None if each is None else each.resource_version for each in found)
        by_index = tuple(
            next((each.resource_version for each in cache.by_index("app", "web")), None)
            for cache in (self.updates, self.adding)
        )
        assert by_key == by_index
        return by_key[0], by_key[1]


@pytest.mark.parametrize(
    ("stored", "written", "updates", "adding"),
    [
        (None, "5", None, "5"),
        ("5", "6", "6", "6"),
        ("9", "10", "10", "10"),
        ("6", "6", "6", "6"),
        ("7", "6", "7", "7"),
        ("7", "opaque", "7", "7"),
    ],
)
def test_an_own_write_is_shown_where_it_is_newer_than_the_store(
    stored: str | None, written: str, updates: str | None, adding: str
) -> None:
    """C-66: by number, not by letters; one that the store lacks only where that was asked for."""
    both = Overlaid()
    if stored is not None:
        both.store.add(obj("a", stored, app="web"))
    both.mutation(obj("a", written, app="web"))

    assert both.shown() == (updates, adding)


def test_an_older_own_write_does_not_hide_a_newer_one() -> None:
    """C-66: whichever of them is told of first."""
    both = Overlaid()
    both.store.add(obj("a", 1, app="web"))
    both.mutation(obj("a", 6, app="web"))
    both.mutation(obj("a", 5, app="web"))

    assert both.shown() == ("6", "6")


def test_an_own_write_ends_with_its_time_or_when_the_store_has_caught_up() -> None:
    """C-66: after that the store is believed, whatever it says."""
    both = Overlaid()
    both.store.add(obj("a", 1, app="web"))
    both.mutation(obj("a", 5, app="web"))
    both.clock.now = 61
    assert both.shown() == ("1", "1")

    both.mutation(obj("a", 6, app="web"))
    both.updates.on_add_or_update(obj("a", 7, app="web"))
    both.adding.on_add_or_update(obj("a", 7, app="web"))
    assert both.shown() == ("1", "1")


@pytest.mark.parametrize(
    ("uid", "rv", "adding"),
    [
        ("uid-a", 5, None),
        ("uid-a", 20, None),
        ("another", 10, None),
        ("another", 9, None),
        ("another", 11, "11"),
    ],
    ids=["same, older", "same, newer", "another, as old", "another, older", "another, newer"],
)
def test_a_write_told_late_does_not_bring_a_deleted_object_back(
    uid: str, rv: int, adding: str | None
) -> None:
    """C-66: neither the same object nor what is older than the deletion; a successor is shown."""
    both = Overlaid()
    both.store.add(obj("a", 1, app="web"))
    both.delete(obj("a", 10, app="web"))
    both.mutation(obj("a", rv, uid=uid, app="web"))

    assert both.shown() == (None, adding)


def test_a_deletion_forgets_the_own_writes_before_it() -> None:
    """C-66: also one of which only the key is known."""
    nothing_but_the_key: DeletedObject[Unstructured] = DeletedObject("default/a", None, True)
    for gone in (obj("a", 10), nothing_but_the_key):
        both = Overlaid()
        both.store.add(obj("a", 1, app="web"))
        both.mutation(obj("a", 5, app="web"))
        both.delete(gone)
        assert both.shown() == (None, None)


def test_a_successor_in_the_store_lifts_the_ban_of_a_deletion() -> None:
    """C-66: its own writes are shown again."""
    both = Overlaid()
    both.delete(obj("a", 10, app="web"))
    born = obj("a", 12, uid="another", app="web")
    both.store.add(born)
    for cache in (both.updates, both.adding):
        cache.on_add_or_update(born)
    both.mutation(obj("a", 13, uid="another", app="web"))

    assert both.shown() == ("13", "13")


def test_only_so_many_own_writes_are_remembered() -> None:
    """C-66: the least recently used goes first."""
    store = Indexer(indexers={"app": label_index("app")})
    cache = MutationCache(store, include_adds=True, size=2)
    for name in "ab":
        cache.mutation(obj(name, 5, app="web"))
    cache.get_by_key("default/a")
    cache.mutation(obj("c", 5, app="web"))

    assert sorted(found.name for found in cache.by_index("app", "web")) == ["a", "c"]
