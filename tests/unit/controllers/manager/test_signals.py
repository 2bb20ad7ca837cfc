"""Signals, in real processes: the first one stops gracefully, the second one at once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kinform.controllers.manager._signals import stop_on_signals
from kinform.errors import StateError
from tests.support.managed_fakes import new_manager

# Slow steps of the loop, such as imports, are no complaint about the program.
_PROGRAM = """
import asyncio, logging, sys, threading, time
logging.getLogger("asyncio").addFilter(lambda said: "Executing %s took" not in str(said.msg))
import kinform
from kinform.controllers.manager import Manager

def say(text):
    print(text, flush=True)

class Finishing:
    name = "web"
    needs_leader = True
    async def warm_up(self, cluster, *, recorder=None): pass
    async def work(self, leadership=None):
        self.end = asyncio.Event()
        say("working")
        await self.end.wait()
        WORK
        say("finished")
    def stop(self):
        say("asked to stop")
        self.end.set()
    async def close(self): say("closed")
    def status(self): return {}
    def problems(self): return ()

async def main():
    async with kinform.Client(kinform.ClusterConfig(server="http://127.0.0.1:9")) as client:
        manager = Manager(client, address="127.0.0.1:0", metrics=kinform.metrics.NO_METRICS)
        manager.add(Finishing())
        await manager.run_until_signal()
        left = [t.get_name() for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        say(f"tasks left: {left}")

asyncio.run(main())
threads = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
say(f"threads left: {threads}")
"""


@contextmanager
def _process(work: str = "await asyncio.sleep(0.2)") -> Iterator[subprocess.Popen[str]]:
    """A manager with one controller, which does ``work`` when it is asked to stop."""
    program = subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", _PROGRAM.replace("WORK", work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "working\n"
        yield program
    finally:
        program.kill()
        program.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_stops_gracefully_and_leaves_nothing(number: signal.Signals) -> None:
    with _process() as program:
        program.send_signal(number)
        out, err = program.communicate(timeout=30)

        # Development mode would complain about sockets that are not closed.
        assert (program.returncode, err) == (0, "")
        assert out.splitlines() == [
            "asked to stop",
            "finished",
            "closed",
            "tasks left: []",
            "threads left: []",
        ]


@pytest.mark.parametrize(
    ("first", "second"), [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)]
)
def test_the_second_signal_exits_at_once(first: signal.Signals, second: signal.Signals) -> None:
    with _process("await asyncio.sleep(3600)") as program:
        program.send_signal(first)
        assert program.stdout is not None
        assert program.stdout.readline() == "asked to stop\n"
        program.send_signal(second)
        out, err = program.communicate(timeout=30)

        assert program.returncode == 128 + second
        assert out == ""
        assert "second signal: exiting without cleanup" in err


def test_the_second_signal_ends_a_program_whose_loop_is_blocked() -> None:
    with _process('say("blocking"); time.sleep(3600)') as program:
        program.send_signal(signal.SIGTERM)
        assert program.stdout is not None
        assert program.stdout.readline() == "asked to stop\n"
        assert program.stdout.readline() == "blocking\n"
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=30)

        assert program.returncode == 128 + signal.SIGINT


async def test_the_previous_handlers_are_restored() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    manager = new_manager()
    running = asyncio.create_task(manager.run_until_signal())
    await manager.ready
    assert signal.getsignal(signal.SIGTERM) not in before
    manager.stop()
    await running

    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


def test_other_threads_cannot_handle_signals() -> None:
    errors: list[Exception] = []

    def run() -> None:
        try:
            asyncio.run(new_manager().run_until_signal())
        except StateError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert "run_until_signal() must be called in the main thread" in str(errors[0])


def test_a_handler_that_is_not_from_python_does_not_break_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    restored: list[object] = []

    def set_handler(number: int, handler: object) -> None:
        restored.append(handler)

    monkeypatch.setattr(signal, "signal", set_handler)
    with stop_on_signals(lambda: None, receiver="it"):
        del restored[:]

    assert restored == [signal.SIG_DFL, signal.SIG_DFL]
