"""Inline delivery where asyncio supports it, and delivery by the task everywhere else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.informers.dispatch._mailbox import Item, UnboundedMailbox
from kinform.informers.dispatch._runner import TaskRunner
from kinform.informers.dispatch._task_switch import task_switch_for
from tests.support.changes import added, record
from tests.support.foreign_loop import run_on_foreign_loop
from tests.support.waiting import wait_until

A, B, C = (added(record(name)) for name in "abc")


async def _received_inline() -> tuple[list[Item], list[Item], set[asyncio.Task[Any] | None]]:
    """Deliver A, and then B and C in a callback of the loop, to a handler that sometimes waits.

    Returns what it received in that callback and in total, and the tasks that it ran in.
    """
    loop, mailbox = asyncio.get_running_loop(), UnboundedMailbox()
    received: list[Item] = []
    tasks: set[asyncio.Task[Any] | None] = set()

    async def handle(item: Item) -> None:
        received.append(item)
        tasks.add(asyncio.current_task())
        if item is C:
            await asyncio.sleep(0)
            tasks.add(asyncio.current_task())

    runner = TaskRunner(mailbox, handle, name="task")
    runner.start(loop)
    mailbox.put([A])
    runner.notify()
    await wait_until(lambda: received == [A])
    await asyncio.sleep(0)
    inline: list[Item] = []

    def arrive() -> None:
        mailbox.put([B, C])
        runner.run_inline()
        inline.extend(received[1:])

    loop.call_soon(arrive)
    await wait_until(lambda: len(received) == 3)
    ended = loop.create_future()
    runner.halt(lambda: ended.set_result(None))
    await ended
    return inline, received, tasks


async def test_selector_loop_delivers_inline() -> None:
    inline, received, tasks = await _received_inline()
    assert inline == [B, C]
    assert received == [A, B, C]
    assert [task.get_name() for task in tasks if task] == ["task"]


def _check_delivered_by_the_task(
    outcome: tuple[list[Item], list[Item], set[asyncio.Task[Any] | None]],
) -> None:
    inline, received, tasks = outcome
    assert inline == []
    assert received == [A, B, C]
    assert [task.get_name() for task in tasks if task] == ["task"]


@pytest.mark.parametrize("name", ["_enter_task", "_leave_task"])
async def test_python_without_the_function_delivers_by_the_task(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(asyncio.tasks, name)
    _check_delivered_by_the_task(await _received_inline())


async def test_function_with_another_signature_delivers_by_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asyncio.tasks, "_enter_task", lambda task: None)
    _check_delivered_by_the_task(await _received_inline())


async def test_function_without_effect_delivers_by_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_enter_task", "_leave_task"):
        monkeypatch.setattr(asyncio.tasks, name, lambda loop, task: None)
    _check_delivered_by_the_task(await _received_inline())


def test_foreign_loop_delivers_by_the_task() -> None:
    async def main() -> None:
        _check_delivered_by_the_task(await _received_inline())

    run_on_foreign_loop(main())


async def test_the_check_leaves_no_current_task_behind() -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(asyncio.sleep(10))
    checked = loop.create_future()

    def check() -> None:
        checked.set_result((task_switch_for(loop, task), asyncio.current_task()))

    loop.call_soon(check)
    switch, current = await checked
    assert switch is not None
    assert current is None
    task.cancel()
