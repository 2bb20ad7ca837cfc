"""The loop that does not wait: order kept, time skipped, deadlocks named."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kinform.errors import StateError
from kinform.testing import VirtualTimeLoop, run_virtual, virtual_time


def test_a_long_sleep_takes_no_time_and_moves_the_clock() -> None:
    async def sleep() -> float:
        loop = asyncio.get_running_loop()
        before = loop.time()
        await asyncio.sleep(600)
        return loop.time() - before

    before = time.monotonic()
    assert run_virtual(sleep()) == pytest.approx(600)
    assert time.monotonic() - before < 60


def test_a_day_and_more_is_slept_through_to_the_second() -> None:
    async def sleep() -> float:
        await asyncio.sleep(10 * 86_400.25)
        return asyncio.get_running_loop().time()

    assert run_virtual(sleep()) == pytest.approx(10 * 86_400.25)


@virtual_time
async def test_timers_run_in_the_order_in_which_they_are_due() -> None:
    loop = asyncio.get_running_loop()
    seen: list[tuple[str, float]] = []

    async def ticking(name: str, period: float) -> None:
        for _ in range(2):
            await asyncio.sleep(period)
            seen.append((name, loop.time()))

    await asyncio.gather(ticking("slow", 50), ticking("quick", 30))

    assert seen == [("quick", 30), ("slow", 50), ("quick", 60), ("slow", 100)]


@virtual_time
async def test_the_clock_stands_still_while_something_can_run() -> None:
    loop = asyncio.get_running_loop()
    timer = loop.call_later(1, lambda: None)

    for _ in range(1000):
        await asyncio.sleep(0)

    assert loop.time() < timer.when()


@virtual_time
async def test_a_timeout_runs_out_and_not_before_its_time() -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(300):
            await loop.create_future()
    assert loop.time() == pytest.approx(300)


@virtual_time
async def test_a_decorated_test_takes_its_fixtures(tmp_path: Path) -> None:
    await asyncio.sleep(3600)
    assert tmp_path.is_dir()


@pytest.mark.parametrize("number", [1, 2])
@virtual_time
async def test_a_decorated_test_takes_its_parameters(number: int) -> None:
    await asyncio.sleep(number)
    assert asyncio.get_running_loop().time() == number


def test_who_waits_for_what_cannot_come_is_named_with_the_place() -> None:
    async def wait_for_nobody() -> None:
        await asyncio.get_running_loop().create_future()

    async def wait() -> None:
        await wait_for_nobody()

    with pytest.raises(StateError, match=r"no timer is set.*wait_for_nobody \(.*\.py:\d+\)"):
        run_virtual(wait())


def test_a_deadlock_still_lets_the_tasks_tidy_up() -> None:
    tidied = []

    async def wait() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            tidied.append(True)

    with pytest.raises(StateError):
        run_virtual(wait())
    assert tidied == [True]


def test_another_thread_can_still_call_in() -> None:
    async def ask_a_thread() -> str:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str] = loop.create_future()

        def call() -> None:
            loop.call_soon_threadsafe(answer.set_result, "hello")

        thread = threading.Thread(target=call)
        thread.start()
        try:
            return await answer
        finally:
            thread.join()

    assert run_virtual(ask_a_thread()) == "hello"


def test_work_in_an_executor_is_waited_for_to_the_end() -> None:
    done: list[bool] = []

    async def leave_it() -> None:
        asyncio.get_running_loop().run_in_executor(None, done.append, True)

    run_virtual(leave_it())
    assert done == [True]


def test_patience_is_for_the_maker_to_choose() -> None:
    with (
        asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(patience=0.01)) as runner,
        pytest.raises(StateError, match=r"within 0\.01 s"),
    ):
        runner.run(asyncio.Event().wait())


def test_an_error_of_the_coroutine_comes_out_as_it_is() -> None:
    async def fail() -> None:
        await asyncio.sleep(5)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        run_virtual(fail())


def test_a_hook_puts_a_folder_of_coroutine_tests_and_fixtures_on_it(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
        "filterwarnings = error\n"
    )
    (tmp_path / "conftest.py").write_text(
        "from kinform.testing import VirtualTimeLoop\n"
        "def pytest_asyncio_loop_factories(config, item):\n"
        "    return {'virtual': VirtualTimeLoop}\n"
    )
    (tmp_path / "test_theirs.py").write_text(
        "import asyncio, pytest\n"
        "@pytest.fixture\n"
        "async def late():\n"
        "    await asyncio.sleep(1000)\n"
        "    yield asyncio.get_running_loop().time()\n"
        "async def test_it(late):\n"
        "    await asyncio.sleep(1000)\n"
        "    assert late == 1000 and asyncio.get_running_loop().time() == 2000\n"
    )

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
