"""Processes that talk in lines: the proxy, the writer and the watchers."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from benchmarks.conversation import ContenderFailedError
from benchmarks.servers import ROOT, environment

_SCRIPTS = ROOT / "benchmarks" / "faults"
_END_SECONDS = 5.0


class LineProcess:
    """A process whose lines are read with a time limit; ended with the ``with`` block."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self._command = list(command)
        self._lines: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> Self:
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            self._command,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(_END_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # what it did not read cannot be flushed
        self._errors.close()

    def say(self, line: str) -> None:
        """Send one line.

        Raises:
            ContenderFailedError: It has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure("ended early") from None

    def next_line(self, timeout: float) -> str | None:
        """The next line that it printed; ``None`` if there is none in time.

        Raises:
            ContenderFailedError: It has ended.
        """
        try:
            line = self._lines.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return None
        if line is None:
            raise self._failure("ended early")
        return line

    def expect(self, word: str, timeout: float) -> None:
        """Wait for this line.

        Raises:
            ContenderFailedError: It ended, was too slow, or said something else.
        """
        if (line := self.next_line(timeout)) != word:
            raise self._failure(f"said {line!r} instead of {word!r}")

    def read_json(self, timeout: float) -> Any:
        """The next line that is a document.

        Raises:
            ContenderFailedError: It ended, or was too slow.
        """
        while (line := self.next_line(timeout)) is not None:
            if line[:1] in "{[":
                return json.loads(line)
        raise self._failure(f"said nothing for {timeout:g} s")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _failure(self, what: str) -> ContenderFailedError:
        self._errors.seek(0)
        return ContenderFailedError(f"{self.name} {what}:\n{self._errors.read()[-2000:]}")


def script(name: str, *arguments: str) -> list[str]:
    """The command that runs a script of this folder with our Python."""
    return [sys.executable, "-P", str(_SCRIPTS / f"{name}.py"), *arguments]


class ProxyProcess(LineProcess):
    """The proxy in a process of its own."""

    def __init__(self, server_port: int, ports: int) -> None:
        super().__init__("proxy", script("proxy", str(server_port), str(ports)))

    def __enter__(self) -> Self:
        super().__enter__()
        self.ports: list[int] = self.read_json(10)
        return self

    def send(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Apply one command; its answer, with the instant at which it was applied."""
        self.say(json.dumps({"do": do, **arguments}))
        answer: dict[str, Any] = self.read_json(10)
        return answer
