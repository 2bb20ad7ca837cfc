"""``def`` handlers on the event loop: where they run, and what happens if they block it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform.errors import ConfigError
from kinform.informers import Registration
from kinform.informers.dispatch import _stall_monitor
from kinform.informers.dispatch._dispatcher import Dispatcher
from kinform.informers.dispatch._handler_options import HandlerOptions
from kinform.informers.dispatch._stall_monitor import StallMonitor
from kinform.objects import Unstructured
from tests.support.changes import added, deliver, record, version, wake
from tests.support.waiting import wait_until

Pods = Dispatcher[Unstructured]

A, B, C = (added(record(name)) for name in "abc")
WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


@pytest.fixture
async def pods() -> AsyncIterator[Pods]:
    pods: Pods = Dispatcher(name="pods", from_entry=wake, version=version)
    pods.start()
    yield pods
    await pods.stop()


def listen(pods: Pods, **given: Any) -> Registration[Unstructured]:
    return pods.add(HandlerOptions(**given))


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]


async def arrive(pods: Pods, *changes: Any) -> None:
    """As changes do: in a callback of the loop. Returns directly after it."""
    loop = asyncio.get_running_loop()
    arrived = loop.create_future()

    def callback() -> None:
        deliver(pods, changes)
        arrived.set_result(None)

    loop.call_soon(callback)
    await arrived


async def test_a_queue_filled_by_a_plain_handler_wakes_its_reader(pods: Pods) -> None:
    """18.24: in debug mode asyncio refuses to wake a reader from another thread."""
    asyncio.get_running_loop().set_debug(True)
    queue: asyncio.Queue[Unstructured] = asyncio.Queue()
    reading = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    registration = listen(pods, on_add=lambda pod: queue.put_nowait(pod))
    deliver(pods, [A])
    await wait_until(lambda: registration.stats.processed == 1)
    assert registration.stats.last_error is None
    assert (await asyncio.wait_for(reading, 10)).name == "a"


async def test_a_plain_handler_runs_where_the_change_arrives(pods: Pods) -> None:
    """18.24: on the loop's thread, without a task, in the context of its registration."""
    seen: list[tuple[str, object, object, str]] = []

    def on_add(pod: Unstructured) -> None:
        seen.append((pod.name, threading.get_ident(), asyncio.current_task(), WHO.get()))
        WHO.set("handler")

    WHO.set("caller")
    listen(pods, on_add=on_add)
    WHO.set("nobody")
    await arrive(pods, A)
    here = threading.get_ident()
    assert seen == [("a", here, None, "caller")]
    deliver(pods, [B])  # in a task: later, but before the next turn of the loop
    assert len(seen) == 1
    await asyncio.sleep(0)
    assert seen[1:] == [("b", here, None, "handler")]
    assert WHO.get() == "nobody"


async def test_many_changes_leave_the_loop_to_others(pods: Pods) -> None:
    calls: list[str] = []
    turns = 0
    registration = listen(pods, on_add=lambda pod: calls.append(pod.name))
    deliver(pods, [added(record(f"p{number}")) for number in range(2000)])
    while registration.stats.processed < 2000:
        turns += 1
        await asyncio.sleep(0)
    assert turns >= 2000 // 50
    assert calls == [f"p{number}" for number in range(2000)]


async def test_changes_that_arrive_inside_a_handler_follow_it(pods: Pods) -> None:
    calls: list[str] = []

    def on_add(pod: Unstructured) -> None:
        if pod.name == "a":
            deliver(pods, [B])
        calls.append(pod.name)

    listen(pods, on_add=on_add)
    await arrive(pods, A)
    await wait_until(lambda: calls == ["a", "b"])


async def test_handlers_added_on_other_threads_run_on_the_loop(pods: Pods) -> None:
    threads: list[int] = []
    options = HandlerOptions[Unstructured](on_add=lambda _: threads.append(threading.get_ident()))

    def add_many() -> None:
        for _ in range(100):
            pods.add(options, replay=[A])

    await asyncio.to_thread(add_many)
    await wait_until(lambda: len(threads) == 100)
    assert set(threads) == {threading.get_ident()}


async def test_a_removal_by_the_handler_itself_is_its_last_call(pods: Pods) -> None:
    calls: list[str] = []

    def on_add(pod: Unstructured) -> None:
        calls.append(pod.name)
        registration.remove()
        assert not registration.stopped

    registration = listen(pods, on_add=on_add)
    await arrive(pods, A, B)
    await registration.stopped
    assert calls == ["a"]


async def test_what_was_pending_at_a_stop_is_delivered_after_a_restart(pods: Pods) -> None:
    calls: list[str] = []
    listen(pods, on_add=lambda pod: calls.append(pod.name))
    deliver(pods, [A, B])
    await pods.stop()
    deliver(pods, [C])
    pods.start()
    await wait_until(lambda: calls == ["a", "b", "c"])


@pytest.mark.parametrize("exit_type", [SystemExit, KeyboardInterrupt])
def test_an_exit_of_a_plain_handler_ends_the_loop(exit_type: type[BaseException]) -> None:
    """As in an async def handler; it is counted, and raised where no change is being applied."""
    registrations: list[Registration[Unstructured]] = []

    def leave(_pod: Unstructured) -> None:
        raise exit_type

    async def main() -> None:
        pods: Pods = Dispatcher(name="pods", from_entry=wake, version=version)
        pods.start()
        registrations.append(listen(pods, on_add=leave))
        await arrive(pods, A)
        await asyncio.sleep(10)

    with pytest.raises(exit_type):
        asyncio.run(main())
    assert (registrations[0].stats.processed, registrations[0].stats.failed) == (1, 1)


# -- mistakes --------------------------------------------------------------------------------


async def test_a_handler_that_blocks_the_loop_is_reported_once(
    pods: Pods, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """18.24: with its name, the object and the way out."""
    monkeypatch.setattr(_stall_monitor, "_LONGEST_CALL", 0.01)
    monkeypatch.setattr(_stall_monitor, "_GROWTH", 100_000)
    registration = listen(pods, on_add=lambda _: threading.Event().wait(0.02), name="slow")
    await arrive(pods, A, B, C)
    await wait_until(lambda: registration.stats.processed == 3)
    (warning,) = messages(caplog)
    assert "handler pods/slow blocked the event loop for 0." in warning
    assert "on ADDED of default/a" in warning
    assert "run_on='thread'" in warning


def test_a_stall_is_reported_again_when_it_is_ten_times_as_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """18.24: from 1, 10 and 100 s on."""
    monitor = StallMonitor("pods/slow")
    for seconds in (0.9, 1.2, 8.0, 48.0, 80.0, 400.0):
        if seconds >= monitor.limit:
            monitor.report(A, seconds)
    durations = [message.split(" for ")[1].split(" s ")[0] for message in messages(caplog)]
    assert durations == ["1.20", "48.00", "400.00"]


async def test_a_handler_on_a_thread_that_uses_an_asyncio_object_is_reported(
    pods: Pods, caplog: pytest.LogCaptureFixture
) -> None:
    """18.24: at its registration, with the name of the variable."""
    queue: asyncio.Queue[Unstructured] = asyncio.Queue()
    listen(pods, on_add=lambda pod: queue.put_nowait(pod), name="lost", run_on="thread")
    (warning,) = messages(caplog)
    assert (
        "handler pods/lost runs on a thread, but its on_add uses asyncio.Queue 'queue'" in warning
    )
    assert "run_on='loop'" in warning
    caplog.clear()
    listen(pods, on_add=lambda pod: queue.put_nowait(pod), name="found", run_on="loop")
    listen(pods, on_add=lambda pod: print(pod), name="printer", run_on="thread")
    assert messages(caplog) == []


async def test_a_handler_on_a_thread_that_misses_the_loop_learns_why(
    pods: Pods, caplog: pytest.LogCaptureFixture
) -> None:
    """18.24: asyncio itself only says that no loop is running."""
    registration = listen(
        pods, on_add=lambda _: asyncio.get_running_loop(), name="lost", run_on="thread"
    )
    deliver(pods, [A])
    await wait_until(lambda: registration.stats.processed == 1)
    assert registration.stats.failed == 1
    (warning,) = messages(caplog)
    assert "handler pods/lost runs on a thread, where asyncio cannot be used" in warning
    assert "run_on='loop'" in warning


def test_run_on_is_checked() -> None:
    async def on_add(_pod: Unstructured) -> None: ...

    with pytest.raises(ConfigError, match="run_on must be one of loop, thread, not 'task'"):
        HandlerOptions(on_add=print, run_on="task")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="is async def, which runs on the event loop"):
        HandlerOptions(on_add=on_add, run_on="thread")
    assert HandlerOptions(on_add=on_add, run_on="loop").run_on == "loop"
