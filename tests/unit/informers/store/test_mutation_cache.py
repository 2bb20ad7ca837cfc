"""The mutation cache: own writes over a store, until it has heard of them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kinform.errors import CacheError, KeyFuncError, UnknownIndexError
from kinform.informers._changes import DeletedObject
from kinform.informers.store._index_functions import label_index
from kinform.informers.store._indexer import Indexer
from kinform.informers.store._mutation_cache import MutationCache
from kinform.informers.store._store import Store
from kinform.objects import Unstructured
from tests.support.objects import pod_tree, record_of


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def pod(name: str, version: str, *, uid: str = "u1", app: str = "web") -> Unstructured:
    tree = pod_tree(name)
    tree["metadata"] |= {"resourceVersion": version, "uid": uid, "labels": {"app": app}}
    return Unstructured.over(record_of(tree))


def version(found: Unstructured | None) -> str | None:
    return None if found is None else found.resource_version


def shown(found: list[Unstructured]) -> dict[str, str]:
    return {obj.name: obj.resource_version for obj in found}


@pytest.fixture
def store() -> Indexer[Unstructured]:
    return Indexer(indexers={"app": label_index("app")})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(store: Indexer[Unstructured], clock: Clock) -> MutationCache[Unstructured]:
    return MutationCache(store, clock=clock)


@pytest.fixture
def adding(store: Indexer[Unstructured], clock: Clock) -> MutationCache[Unstructured]:
    return MutationCache(store, include_adds=True, clock=clock)


@pytest.mark.parametrize(
    ("stored", "written", "expected"),
    [("5", "6", "6"), ("6", "5", "6"), ("5", "5", "5"), ("9", "10", "10"), ("5", "opaque", "5")],
)
def test_the_newer_version_is_shown(
    store: Indexer[Unstructured],
    cache: MutationCache[Unstructured],
    stored: str,
    written: str,
    expected: str,
) -> None:
    store.add(pod("a", stored))
    cache.mutation(pod("a", written))
    assert version(cache.get_by_key("default/a")) == expected
    assert shown(cache.by_index("app", "web")) == {"a": expected}


def test_a_store_that_caught_up_is_believed_for_good(
    store: Indexer[Unstructured], cache: MutationCache[Unstructured]
) -> None:
    store.add(pod("a", "5"))
    cache.mutation(pod("a", "6"))
    store.add(pod("a", "7"))
    assert version(cache.get_by_key("default/a")) == "7"
    store.add(pod("a", "5"))
    assert version(cache.get_by_key("default/a")) == "5"


def test_an_earlier_write_reported_later_does_not_hide_the_later_one(
    store: Indexer[Unstructured], cache: MutationCache[Unstructured]
) -> None:
    store.add(pod("a", "5"))
    cache.mutation(pod("a", "7"))
    cache.mutation(pod("a", "6"))
    assert version(cache.get_by_key("default/a")) == "7"


def test_what_the_store_does_not_have_is_shown_only_if_additions_are_included(
    cache: MutationCache[Unstructured], adding: MutationCache[Unstructured]
) -> None:
    for overlay in (cache, adding):
        overlay.mutation(pod("a", "5"))
    assert cache.get_by_key("default/a") is None
    assert cache.by_index("app", "web") == []
    assert version(adding.get_by_key("default/a")) == "5"
    assert shown(adding.by_index("app", "web")) == {"a": "5"}
    assert adding.by_index("app", "db") == []


def test_what_was_never_written_is_what_the_store_has(
    store: Indexer[Unstructured], adding: MutationCache[Unstructured]
) -> None:
    store.add(pod("a", "5"))
    assert version(adding.get_by_key("default/a")) == "5"
    assert adding.get_by_key("default/b") is None
    assert shown(adding.by_index("app", "web")) == {"a": "5"}


def test_a_write_that_moved_an_object_to_another_value_is_found_there(
    store: Indexer[Unstructured], cache: MutationCache[Unstructured]
) -> None:
    store.add(pod("a", "5", app="web"))
    cache.mutation(pod("a", "6", app="db"))
    assert cache.by_index("app", "web") == []
    assert shown(cache.by_index("app", "db")) == {"a": "6"}


def test_a_write_that_the_index_function_fails_on_is_under_no_value(
    store: Indexer[Unstructured], adding: MutationCache[Unstructured]
) -> None:
    def failing(obj: Unstructured) -> str:
        if obj.name == "bad":
            raise LookupError(obj.name)
        return "all"

    store.add_indexers({"failing": failing})
    adding.mutation(pod("bad", "5"))
    adding.mutation(pod("good", "6"))
    assert shown(adding.by_index("failing", "all")) == {"good": "6"}


def test_own_writes_are_forgotten_after_their_time(
    store: Indexer[Unstructured], cache: MutationCache[Unstructured], clock: Clock
) -> None:
    store.add(pod("a", "5"))
    cache.mutation(pod("a", "6"))
    clock.now = 299.0
    assert version(cache.get_by_key("default/a")) == "6"
    clock.now = 300.0
    assert version(cache.get_by_key("default/a")) == "5"


def test_of_too_many_own_writes_the_one_unused_for_longest_is_forgotten(
    store: Indexer[Unstructured], clock: Clock
) -> None:
    cache = MutationCache(store, include_adds=True, size=2, clock=clock)
    cache.mutation(pod("a", "1"))
    cache.mutation(pod("b", "2"))
    cache.get_by_key("default/a")
    cache.mutation(pod("c", "3"))
    assert shown(cache.by_index("app", "web")) == {"a": "1", "c": "3"}


def test_a_hundred_own_writes_are_remembered(adding: MutationCache[Unstructured]) -> None:
    for number in range(101):
        adding.mutation(pod(f"p-{number}", str(number + 1)))
    assert adding.get_by_key("default/p-0") is None
    assert version(adding.get_by_key("default/p-1")) == "2"


# -- what the store's events say -------------------------------------------------------------


def test_an_event_that_is_not_older_ends_an_own_write(
    adding: MutationCache[Unstructured],
) -> None:
    adding.mutation(pod("a", "6"))
    adding.on_add_or_update(pod("a", "5"))
    assert version(adding.get_by_key("default/a")) == "6"
    adding.on_add_or_update(pod("a", "6"))
    assert adding.get_by_key("default/a") is None


@pytest.mark.parametrize("whole", [True, False])
def test_a_deletion_ends_an_own_write(adding: MutationCache[Unstructured], whole: bool) -> None:
    adding.mutation(pod("a", "6"))
    last = pod("a", "5")
    adding.on_delete(DeletedObject("default/a", last) if whole else last)
    assert adding.get_by_key("default/a") is None


def test_a_deletion_of_which_nothing_is_known_ends_an_own_write(
    adding: MutationCache[Unstructured],
) -> None:
    adding.mutation(pod("a", "6"))
    adding.on_delete(DeletedObject("default/a", None, final_state_unknown=True))
    assert adding.get_by_key("default/a") is None


@pytest.mark.parametrize(
    ("uid", "written", "is_shown"),
    [
        ("u1", "6", False),  # a write to the object that is gone, told late
        ("u1", "9", False),  # the same object never comes back, whatever its version
        ("u0", "6", False),  # an older object of the same name
        ("u0", "7", False),
        ("u2", "8", True),  # made anew after the deletion
        ("u2", "opaque", True),
    ],
)
def test_a_write_reported_after_the_deletion_is_visible_only_for_a_new_object(
    adding: MutationCache[Unstructured], uid: str, written: str, is_shown: bool
) -> None:
    adding.on_delete(DeletedObject("default/a", pod("a", "7", uid="u1")))
    adding.mutation(pod("a", written, uid=uid))
    assert (adding.get_by_key("default/a") is not None) == is_shown


def test_a_deletion_does_not_end_the_write_of_an_object_made_anew(
    adding: MutationCache[Unstructured],
) -> None:
    adding.mutation(pod("a", "9", uid="u2"))
    adding.on_delete(DeletedObject("default/a", pod("a", "7", uid="u1")))
    assert version(adding.get_by_key("default/a")) == "9"


def test_a_deletion_is_forgotten_after_its_time(
    adding: MutationCache[Unstructured], clock: Clock
) -> None:
    adding.on_delete(DeletedObject("default/a", pod("a", "7")))
    clock.now = 300.0
    adding.mutation(pod("a", "6"))
    assert version(adding.get_by_key("default/a")) == "6"


def test_an_object_made_anew_ends_the_mourning(adding: MutationCache[Unstructured]) -> None:
    adding.on_delete(DeletedObject("default/a", pod("a", "opaque", uid="u1")))
    adding.on_add_or_update(pod("a", "other", uid="u2"))
    adding.mutation(pod("a", "third", uid="u1"))
    assert version(adding.get_by_key("default/a")) == "third"


# -- misuse ----------------------------------------------------------------------------------


def test_by_index_needs_an_indexer_below(clock: Clock) -> None:
    with pytest.raises(CacheError, match="requires a cache over an Indexer"):
        MutationCache(Store(), clock=clock).by_index("app", "web")


def test_an_unknown_index_and_an_object_without_a_name_are_errors(
    cache: MutationCache[Unstructured],
) -> None:
    with pytest.raises(UnknownIndexError, match="'nodes'"):
        cache.by_index("nodes", "n1")
    with pytest.raises(KeyFuncError):
        cache.mutation(Unstructured())
