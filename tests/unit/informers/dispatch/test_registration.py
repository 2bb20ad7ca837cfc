"""What the holder of a registration can see and do."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform.informers.dispatch._dispatcher import Dispatcher
from kinform.informers.dispatch._handler_options import HandlerOptions
from kinform.informers.dispatch._registration import Registration
from kinform.objects import Unstructured
from tests.support.changes import added, deliver, record, version, wake
from tests.support.waiting import wait_until

A, B = added(record("a")), added(record("b"))


def make() -> Dispatcher[Unstructured]:
    return Dispatcher(name="pods", from_entry=wake, version=version)


@pytest.fixture
async def pods() -> AsyncIterator[Dispatcher[Unstructured]]:
    dispatcher = make()
    dispatcher.start()
    yield dispatcher
    await dispatcher.stop()


def listen(pods: Dispatcher[Unstructured], **given: Any) -> Registration[Unstructured]:
    return pods.add(HandlerOptions(**given))


def ignore(_pod: Unstructured) -> None:
    """A handler that does nothing."""


async def ignore_async(_pod: Unstructured) -> None:
    """Likewise."""


def test_a_handler_that_never_started_stops_at_once() -> None:
    pods = make()
    registration = listen(pods, on_add=ignore)
    assert list(pods.registrations) == [registration]
    assert not registration.stopped
    registration.remove()
    registration.remove()
    assert registration.stopped
    assert registration.is_removed
    assert not registration.has_synced
    assert list(pods.registrations) == []


def test_a_registration_is_equal_to_itself_alone() -> None:
    pods = make()
    one, other = listen(pods, on_add=ignore), listen(pods, on_add=ignore)
    assert one != other
    assert one != "pods/ignore"
    assert set(pods.registrations) == {one, other}
    assert repr(one) == "<Registration 'pods/ignore'>"
    one.remove()
    assert repr(one) == "<Registration 'pods/ignore' removed>"


@pytest.mark.parametrize("callback", [ignore, ignore_async])
async def test_nothing_is_told_after_a_waited_removal(
    pods: Dispatcher[Unstructured], callback: Any
) -> None:
    registration = listen(pods, on_add=callback)
    deliver(pods, [A] * 5000)
    registration.remove()
    await registration.stopped
    told = registration.stats.processed
    deliver(pods, [B] * 10)
    await asyncio.sleep(0)
    assert registration.stats.processed == told
    assert registration.stats.depth == 0


async def test_a_plain_handler_may_remove_itself(pods: Dispatcher[Unstructured]) -> None:
    calls: list[str] = []
    box: list[Registration[Unstructured]] = []

    def once(pod: Unstructured) -> None:
        calls.append(pod.name)
        box[0].remove()
        calls.append(f"stopped: {bool(box[0].stopped)}")

    box.append(listen(pods, on_add=once))
    deliver(pods, [A, B])
    await box[0].stopped
    assert calls == ["a", "stopped: False"]


async def test_an_async_handler_may_remove_itself(pods: Dispatcher[Unstructured]) -> None:
    calls: list[str] = []
    box: list[Registration[Unstructured]] = []

    async def once(pod: Unstructured) -> None:
        box[0].remove()
        await asyncio.sleep(0)
        calls.append(pod.name)

    box.append(listen(pods, on_add=once))
    deliver(pods, [A, B])
    await box[0].stopped
    assert calls == ["a"]


async def test_a_removal_waits_for_the_running_callback_and_so_does_a_stop(
    pods: Dispatcher[Unstructured],
) -> None:
    release, entered = threading.Event(), threading.Event()

    def blocks(_pod: Unstructured) -> None:
        entered.set()
        release.wait()

    registration = listen(pods, on_add=blocks, run_on="thread")
    deliver(pods, [A])
    await wait_until(entered.is_set)
    registration.remove()
    assert not registration.stopped
    assert pods.registrations == ()
    stopping = asyncio.ensure_future(pods.stop())
    await asyncio.wait([stopping], timeout=0.05)
    assert not stopping.done()
    release.set()
    await stopping
    assert registration.stopped


async def test_a_removed_handler_is_not_started_again(pods: Dispatcher[Unstructured]) -> None:
    registration = listen(pods, on_add=ignore)
    registration.remove()
    await pods.stop()
    pods.start()
    deliver(pods, [A])
    assert registration.stats.depth == 0


async def test_removal_from_another_thread_can_be_waited_for_there(
    pods: Dispatcher[Unstructured],
) -> None:
    registration = listen(pods, on_add=ignore_async)
    deliver(pods, [A] * 200)

    def remove() -> bool:
        registration.remove()
        return registration.stopped.wait(timeout=10)

    assert await asyncio.to_thread(remove)


def test_a_resync_period_below_a_second_is_raised_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pods = make()
    assert listen(pods, on_add=ignore).resync_period == 0
    assert listen(pods, on_add=ignore, resync_period=0).resync_period == 0
    assert listen(pods, on_add=ignore, resync_period=30).resync_period == 30
    assert caplog.records == []
    assert listen(pods, on_add=ignore, resync_period=0.2).resync_period == 1
    [entry] = caplog.records
    assert (entry.levelno, entry.name) == (logging.WARNING, "kinform.dispatch")
    assert "pods/ignore" in entry.getMessage()


async def test_stats_of_an_idle_handler_are_all_zero(pods: Dispatcher[Unstructured]) -> None:
    registration = listen(pods, on_add=ignore)
    stats = registration.stats
    assert (stats.depth, stats.age, stats.bytes, stats.processed, stats.failed) == (0, 0, 0, 0, 0)
    assert stats.last_error is None
