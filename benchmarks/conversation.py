"""Runs a command and returns what its process printed about itself.

A contender that is measured in phases prints ``synced`` when it is ready, and reads ``go`` and
``stop``, one word per line. Each ends with one line of JSON. One that answers questions reads and
prints a line of JSON for each.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from benchmarks.servers import environment

Record = Mapping[str, Any]
"""What a contender printed about one run of itself."""

_READY = "synced\n"


class ContenderFailedError(Exception):
    """A contender ended badly; says what it printed."""


class Conversation:
    """With a contender that is ready."""

    def __init__(self, stdin: IO[str]) -> None:
        self._stdin = stdin

    def say(self, word: str) -> None:
        self._stdin.write(f"{word}\n")
        self._stdin.flush()


def run_to_end(name: str, command: list[str], parameters: str | Mapping[str, object]) -> Record:
    """Start it, and read what it printed.

    Raises:
        ContenderFailedError: It did not end well.
    """
    done = subprocess.run(
        [*command, _argument(parameters)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return _record(name, done.returncode, done.stdout, done.stderr)


def talk(
    name: str,
    command: list[str],
    parameters: str | Mapping[str, object],
    drive: Callable[[Conversation], None],
) -> Record:
    """Start it, let ``drive`` lead it once it is ready, and read what it printed.

    Raises:
        ContenderFailedError: It did not get ready, or did not end well.
    """
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            [*command, _argument(parameters)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if process.stdout.readline() == _READY:
                # One that has died says why, below.
                with contextlib.suppress(BrokenPipeError):
                    drive(Conversation(process.stdin))
            printed = process.stdout.read()
            code = process.wait()
        finally:
            process.kill()
            # What it did not read cannot be flushed, and closing would try.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        complaints.seek(0)
        return _with_percentiles(_record(name, code, printed, complaints.read()))


class Questions:
    """Sends questions to a running process, one at a time."""

    def __init__(self, name: str, process: subprocess.Popen[str], complaints: IO[str]) -> None:
        self._name = name
        self._process = process
        self._complaints = complaints

    def ask(self, do: str, **parameters: object) -> Record:
        """Return the answer to one command.

        Raises:
            ContenderFailedError: The process ended instead of answering.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"do": do, **parameters}) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self._complaints.seek(0)
            return _record(self._name, code, line, self._complaints.read())
        answer: Record = json.loads(line)
        return answer


@contextmanager
def questions(name: str, command: list[str]) -> Iterator[Questions]:
    """Start a command that answers questions; it is ended with the block."""
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            command,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        ) as process,
    ):
        try:
            yield Questions(name, process, complaints)
        finally:
            process.kill()
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()


def _argument(parameters: str | Mapping[str, object]) -> str:
    if isinstance(parameters, str):
        return parameters
    # Wall time counts from here: interpreters and runtimes have to start, too.
    return json.dumps({**parameters, "started": time.monotonic_ns()})


def _record(name: str, code: int, printed: str, complaints: str) -> Record:
    if code or not printed:
        raise ContenderFailedError(f"{name} failed:\n{complaints.strip()[-2000:]}")
    record: Record = json.loads(printed)
    return record


def _with_percentiles(record: Record) -> Record:
    """The delays of single events are too many to keep."""
    if "delays" not in record:
        return record
    delays = sorted(record["delays"])
    kept = {name: value for name, value in record.items() if name != "delays"}
    if not delays:
        return {**kept, "events": 0}
    median, late = delays[len(delays) // 2], delays[min(len(delays) * 99 // 100, len(delays) - 1)]
    return {**kept, "events": len(delays), "p50": median, "p99": late, "latest": delays[-1]}
