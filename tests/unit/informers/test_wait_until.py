"""Waiting until a condition on the store holds."""

from __future__ import annotations

import asyncio

import pytest

from kinform.errors import AlreadyStoppedError, ConfigError
from kinform.informers._store_waiters import StoreWaiters
from tests.support.informer_sources import LoggedSource, informer_of


async def test_latch_is_set_when_the_condition_holds() -> None:
    """19.6: a key that is gone, and one that has another uid."""
    source = LoggedSource("a", "b")
    async with informer_of(source) as informer, asyncio.timeout(20):
        await informer.has_synced
        store = informer.store
        gone = informer.wait_until(lambda: "default/a" not in store, "removed a")
        added = informer.wait_until(lambda: "default/c" in store, "added c")
        assert not gone
        assert informer.wait_until(lambda: "default/b" in store, "added b")
        source.delete("a")
        await gone
        assert not added
        source.add("c")
        await added


async def test_condition_may_be_given_before_the_start() -> None:
    """19.6: the first list is checked like events."""
    informer = informer_of(LoggedSource("a"))
    latch = informer.wait_until(lambda: "default/a" in informer.store, "added a")
    async with informer, asyncio.timeout(20):
        await latch


async def test_waiting_ends_with_the_informer() -> None:
    """19.6: nothing waits for a store that does not change any more."""
    informer = informer_of(LoggedSource("a"))
    async with informer:
        await informer.has_synced
        latch = informer.wait_until(lambda: False, "removed a")
    why = "informer pods stopped before it removed a; start it again"
    with pytest.raises(AlreadyStoppedError, match=why):
        await latch
    with pytest.raises(AlreadyStoppedError, match=why):
        informer.wait_until(lambda: False, "removed a")


async def test_condition_that_fails_later_ends_the_wait_only() -> None:
    """19.6: an exception of user code reaches the waiter, not the informer."""
    source = LoggedSource("a")
    async with informer_of(source) as informer, asyncio.timeout(20):
        await informer.has_synced
        store = informer.store

        def fails_with_b() -> bool:
            if "default/b" in store:
                raise ValueError("b is not expected")
            return False

        latch = informer.wait_until(fails_with_b, "removed a")
        source.add("b")
        with pytest.raises(AlreadyStoppedError, match="the condition failed: ValueError"):
            await latch
        source.add("c")
        await informer.wait_until(lambda: "default/c" in store, "added c")


async def test_condition_that_fails_at_once_raises_at_once() -> None:
    """19.6: a mistake in a condition is reported where it is made."""
    informer = informer_of(LoggedSource("a"))
    with pytest.raises(ZeroDivisionError):
        informer.wait_until(lambda: bool(1 / 0), "divided")

    async def condition() -> bool:
        return True

    with pytest.raises(ConfigError, match="condition must not be async"):
        informer.wait_until(condition, "waited")  # type: ignore[arg-type]


def test_condition_is_not_called_any_more_once_it_held() -> None:
    """19.6: a latch that is set costs nothing afterwards."""
    waiters, answers = StoreWaiters("pods"), [True, False]
    latch = waiters.latch(lambda: answers.pop(), "counted")
    waiters.check()
    assert latch
    assert not waiters.waiting
    waiters.check()  # would pop from an empty list
