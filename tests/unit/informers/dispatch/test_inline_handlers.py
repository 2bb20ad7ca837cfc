"""A task that waits is told where a change arrives; whatever a handler does, it cannot tell."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kinform._runtime import Latch
from kinform.informers.dispatch._mailbox import SYNCED, Item, UnboundedMailbox
from kinform.informers.dispatch._runner import TaskRunner
from tests.support.changes import added, record
from tests.support.waiting import wait_until

A, B, C = (added(record(name)) for name in "abc")
WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")

Tell = Callable[[Item], Coroutine[Any, Any, None]]


class Scene:
    """A runner whose task waits for something to tell."""

    def __init__(self, tell: Tell) -> None:
        self.mailbox = UnboundedMailbox()
        self.told: list[Item] = []
        self._tell = tell
        self.runner = TaskRunner(self.mailbox, self._note, name="task")
        self.turns = 0

    async def _note(self, item: Item) -> None:
        self.told.append(item)
        await self._tell(item)

    async def begin(self) -> None:
        """Let the task begin: with a marker, which is passed over."""
        tell, self._tell = self._tell, _nothing
        self.runner.start(asyncio.get_running_loop())
        self.mailbox.put_synced()
        self.runner.notify()
        await wait_until(lambda: self.told == [SYNCED])
        await asyncio.sleep(0)
        self.told.clear()
        self._tell = tell

    def arrive(self, *items: Any) -> None:
        """As changes do: in a callback of the loop, and in nobody's task."""
        self.mailbox.put(items)
        self.runner.run_inline()

    async def after_arrival(self, *items: Any) -> None:
        """Return in the very turn of the loop in which they arrived."""
        arrived = asyncio.get_running_loop().create_future()

        def arrive() -> None:
            self.arrive(*items)
            arrived.set_result(list(self.told))

        asyncio.get_running_loop().call_soon(arrive)
        self.told_here = await arrived


async def _nothing(_item: Item) -> None:
    pass


async def _scene(tell: Tell) -> Scene:
    scene = Scene(tell)
    await scene.begin()
    return scene


async def test_a_handler_that_never_waits_is_called_where_the_change_arrives() -> None:
    scene = await _scene(_nothing)
    await scene.after_arrival(A, B)
    assert scene.told_here == [A, B]
    await scene.after_arrival(C)
    assert scene.told == [A, B, C]


async def test_one_that_waits_goes_on_in_its_task_and_the_next_is_told_after_it() -> None:
    gate = asyncio.Event()
    steps: list[str] = []

    async def tell(item: Any) -> None:
        steps.append(f"begin {item.key}")
        await gate.wait()
        await asyncio.sleep(0)
        steps.append(f"end {item.key}")

    scene = await _scene(tell)
    await scene.after_arrival(A, B)
    assert steps == ["begin default/a"]
    await scene.after_arrival(C)
    assert steps == ["begin default/a"]
    gate.set()
    await wait_until(lambda: len(steps) == 6)
    assert steps == [f"{step} default/{name}" for name in "abc" for step in ("begin", "end")]


async def test_what_it_waits_for_may_fail_and_give_values() -> None:
    failing: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    giving: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    got: list[object] = []

    async def tell(_item: Item) -> None:
        try:
            await failing
        except ValueError as error:
            got.append(str(error))
        got.append(await giving)

    scene = await _scene(tell)
    await scene.after_arrival(A)
    failing.set_exception(ValueError("no"))
    giving.set_result(7)
    await wait_until(lambda: got == ["no", 7])


async def test_the_task_and_the_context_are_the_handlers_own_before_and_after_it_waits() -> None:
    seen: list[tuple[asyncio.Task[Any] | None, str]] = []

    async def tell(item: Any) -> None:
        seen.append((asyncio.current_task(), WHO.get()))
        WHO.set(item.key)
        await asyncio.sleep(0)
        seen.append((asyncio.current_task(), WHO.get()))

    scene = await _scene(tell)
    WHO.set("the test")
    await scene.after_arrival(A)
    await wait_until(lambda: len(seen) == 2)
    await scene.after_arrival(B)
    await wait_until(lambda: len(seen) == 4)
    tasks, names = zip(*seen, strict=True)
    assert len(set(tasks)) == 1
    assert tasks[0] is not None
    assert tasks[0].get_name() == "task"
    # What a handler sets is there when it is called again, and nowhere else.
    assert list(names) == ["nobody", "default/a", "default/a", "default/b"]
    assert WHO.get() == "the test"
    assert asyncio.current_task() is not tasks[0]


async def test_a_time_limit_in_a_handler_holds() -> None:
    late = asyncio.Event()

    async def tell(_item: Item) -> None:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            late.set()

    scene = await _scene(tell)
    await scene.after_arrival(A)
    await asyncio.wait_for(late.wait(), 5)


async def test_many_changes_leave_the_loop_to_others_now_and_then() -> None:
    scene = await _scene(_nothing)
    await scene.after_arrival(*[A] * 500)
    assert 0 < len(scene.told_here) < 500
    await wait_until(lambda: len(scene.told) == 500)


async def test_who_is_in_a_task_has_it_told_by_the_handlers_own() -> None:
    scene = await _scene(_nothing)
    scene.arrive(A)
    assert scene.told == []
    await wait_until(lambda: scene.told == [A])


async def test_on_a_loop_that_makes_its_own_tasks_the_task_is_woken() -> None:
    loop = asyncio.get_running_loop()
    loop.set_task_factory(lambda loop, coro: asyncio.Task(coro, loop=loop))
    try:
        scene = await _scene(_nothing)
        await scene.after_arrival(A)
        assert scene.told_here == []
        await wait_until(lambda: scene.told == [A])
    finally:
        loop.set_task_factory(None)


async def test_what_a_handler_lets_arrive_is_told_after_it_and_not_within() -> None:
    steps: list[str] = []

    async def tell(item: Any) -> None:
        steps.append(f"begin {item.key}")
        if item is A:
            scene.arrive(B)
        steps.append(f"end {item.key}")

    scene = await _scene(tell)
    await scene.after_arrival(A)
    await wait_until(lambda: len(steps) == 4)
    assert steps == ["begin default/a", "end default/a", "begin default/b", "end default/b"]


async def test_a_handler_may_halt_its_runner_and_is_the_last_that_is_told() -> None:
    ended = Latch()

    async def tell(_item: Item) -> None:
        scene.runner.halt(ended.set)
        assert not ended

    scene = await _scene(tell)
    await scene.after_arrival(A, B)
    await ended
    assert scene.told == [A]
    scene._tell = _nothing
    scene.runner.start(asyncio.get_running_loop())
    await wait_until(lambda: scene.told == [A, B])


async def test_halted_while_it_waits_it_ends_when_the_handler_has() -> None:
    gate, ended = asyncio.Event(), Latch()

    async def tell(_item: Item) -> None:
        await gate.wait()

    scene = await _scene(tell)
    await scene.after_arrival(A, B)
    scene.runner.halt(ended.set)
    await asyncio.sleep(0.01)
    assert not ended
    gate.set()
    await ended
    assert scene.told == [A]


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_handler_that_waits_is_cancelled_by_way_of_what_it_waits_for(at_once: bool) -> None:
    """At once: before its task has had a turn."""
    child_ended, handled = asyncio.Event(), asyncio.Event()

    async def child() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            child_ended.set()
            raise

    async def tell(_item: Item) -> None:
        try:
            await asyncio.create_task(child())
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            handled.set()
            raise

    scene = await _scene(tell)
    loop, ended = asyncio.get_running_loop(), Latch()

    def arrive() -> None:
        scene.arrive(A)
        if at_once:
            stop()

    def stop() -> None:
        scene.runner.halt(ended.set)
        scene.runner.cancel()

    loop.call_soon(arrive)
    await wait_until(lambda: bool(scene.told))
    if not at_once:
        await asyncio.sleep(0.01)
        stop()
    await ended
    assert handled.is_set()
    # A task that never had its first step has nothing to end.
    assert child_ended.is_set() or at_once


async def test_a_handler_that_only_yields_can_be_cancelled_before_its_task_has_had_a_turn() -> None:
    cancelled = asyncio.Event()

    async def tell(_item: Item) -> None:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    scene = await _scene(tell)
    ended = Latch()

    def arrive() -> None:
        scene.arrive(A)
        scene.runner.halt(ended.set)
        scene.runner.cancel()

    asyncio.get_running_loop().call_soon(arrive)
    await ended
    assert cancelled.is_set()


async def test_a_handler_that_will_not_be_cancelled_goes_on() -> None:
    async def tell(_item: Item) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)

    scene = await _scene(tell)

    def arrive() -> None:
        scene.arrive(A)
        scene.runner.cancel()

    asyncio.get_running_loop().call_soon(arrive)
    await wait_until(lambda: scene.told == [A])
    await asyncio.sleep(0.01)
    scene._tell = _nothing
    await scene.after_arrival(B)
    await wait_until(lambda: scene.told == [A, B])


async def test_a_handler_that_cancels_its_own_task_loses_it_and_gets_another() -> None:
    tasks: list[asyncio.Task[Any] | None] = []

    async def tell(item: Item) -> None:
        task = asyncio.current_task()
        tasks.append(task)
        if item is A:
            assert task is not None
            task.cancel()

    scene = await _scene(tell)
    await scene.after_arrival(A)
    await wait_until(lambda: tasks[0] is not None and tasks[0].done())
    await scene.after_arrival(B)
    await wait_until(lambda: len(tasks) == 2)
    assert tasks[0] is not tasks[1]


async def test_what_ends_the_task_ends_it_in_its_own_turn() -> None:
    async def tell(_item: Item) -> None:
        raise asyncio.CancelledError

    scene = await _scene(tell)
    await scene.after_arrival(A)  # nothing is raised where the change arrives
    scene._tell = _nothing
    await asyncio.sleep(0.01)
    await scene.after_arrival(B)
    await wait_until(lambda: scene.told == [A, B])


async def test_threads_may_nudge_meanwhile() -> None:
    scene = await _scene(_nothing)
    loop, rounds = asyncio.get_running_loop(), 300

    def hammer() -> None:
        for _ in range(rounds):
            scene.mailbox.put([A])
            scene.runner.notify()

    threads = [threading.Thread(target=hammer) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(rounds):
        loop.call_soon(scene.arrive, B)
        await asyncio.sleep(0)
    await wait_until(lambda: len(scene.told) == 3 * rounds)
    for thread in threads:
        thread.join()
