"""The expiring store: what was not written for a while is gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kinform.informers._changes import DeletedObject
from kinform.informers.store._expiring_store import ExpiringStore
from kinform.objects import Unstructured
from tests.support.objects import pod_tree, record_of


@dataclass
class Clock:
    now: float = 0.0
    on_look: Callable[[], None] | None = None

    def __call__(self) -> float:
        now, look, self.on_look = self.now, self.on_look, None
        if look:
            look()
        return now


@dataclass
class Token:
    user: str
    secret: str = ""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> ExpiringStore[Token]:
    return ExpiringStore(key_func=lambda token: token.user, ttl=10.0, clock=clock)


def test_an_object_is_there_until_its_time_is_over(
    store: ExpiringStore[Token], clock: Clock
) -> None:
    store.add(Token("a"))
    clock.now = 10.0
    assert store.get_by_key("a") == Token("a")
    assert store.get(Token("a")) == Token("a")
    clock.now = 10.1
    assert store.get_by_key("a") is None
    assert store.list() == []


def test_a_list_leaves_out_what_is_too_old(store: ExpiringStore[Token], clock: Clock) -> None:
    store.add(Token("a"))
    clock.now = 6.0
    store.add(Token("b"))
    clock.now = 12.0
    assert store.list() == [Token("b")]


def test_listing_keys_does_not_expire_and_reading_does(
    store: ExpiringStore[Token], clock: Clock
) -> None:
    store.add(Token("a"))
    clock.now = 11.0
    assert store.list_keys() == ["a"]
    assert len(store) == 1
    store.get_by_key("a")
    assert store.list_keys() == []
    assert len(store) == 0


@pytest.mark.parametrize("verb", ["add", "update"])
def test_a_write_begins_its_time_anew(store: ExpiringStore[Token], clock: Clock, verb: str) -> None:
    store.add(Token("a"))
    clock.now = 8.0
    getattr(store, verb)(Token("a", "new"))
    clock.now = 16.0
    assert store.get_by_key("a") == Token("a", "new")
    clock.now = 18.1
    assert store.get_by_key("a") is None


def test_replace_holds_exactly_the_new_ones_for_their_full_time(
    store: ExpiringStore[Token], clock: Clock
) -> None:
    store.add(Token("a"))
    clock.now = 8.0
    store.replace([Token("b"), Token("c")], "7")
    clock.now = 16.0
    assert store.list() == [Token("b"), Token("c")]


@pytest.mark.parametrize("ttl", [0.0, -1.0])
def test_without_a_time_to_live_nothing_expires(clock: Clock, ttl: float) -> None:
    store: ExpiringStore[str] = ExpiringStore(key_func=str, ttl=ttl, clock=clock)
    store.add("a")
    clock.now = 1e9
    assert store.list() == ["a"]


def test_what_is_written_again_while_it_expires_stays(
    store: ExpiringStore[Token], clock: Clock
) -> None:
    store.add(Token("a", "old"))
    clock.now = 11.0
    # The reader has found the old one and asks for the time; the new one comes right then.
    clock.on_look = lambda: store.add(Token("a", "new"))
    assert store.get_by_key("a") == Token("a", "new")
    assert store.list() == [Token("a", "new")]


def test_a_delete_takes_an_object_or_what_is_left_of_one(store: ExpiringStore[Token]) -> None:
    store.replace([Token("a"), Token("b"), Token("c")])
    store.delete(Token("a"))
    store.delete(DeletedObject("b", None))
    store.delete(Token("unknown"))
    store.resync()
    assert store.list() == [Token("c")]


def test_handles_expire_as_well(clock: Clock) -> None:
    store = ExpiringStore(Unstructured, ttl=1.0, clock=clock)
    store.add(Unstructured.over(record_of(pod_tree())))
    assert [handle.key for handle in store.list()] == ["default/web-1"]
    clock.now = 2.0
    assert store.list() == []


def test_time_is_that_of_the_machine_by_default() -> None:
    store: ExpiringStore[str] = ExpiringStore(key_func=str, ttl=3600.0)
    store.add("a")
    assert store.get_by_key("a") == "a"
    assert store
