"""The programs and manifests of docs/recipes, and processes that run them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs/recipes"
PATIENCE = 40.0


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a language on a page, in order."""
    text = (FOLDER / f"{page}.md").read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def write_program(folder: Path, page: str, number: int = 1) -> Path:
    """Write a program of a page to a file that pytest would also collect."""
    script = folder / f"test_{page.replace('-', '_')}_{number}.py"
    script.write_text(blocks(page, "python")[number - 1], "utf-8")
    return script


class Program:
    """A recipe that runs as a process, with its output in files."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self._process = process
        self._out = out
        self._err = err

    @property
    def out(self) -> str:
        return self._out.read_text("utf-8")

    @property
    def err(self) -> str:
        return self._err.read_text("utf-8")

    def wait_for(self, text: str, *, count: int = 1) -> None:
        """Return when the program has printed or logged this text; fail if it does not."""

        def is_there() -> bool:
            assert self._process.poll() is None, f"it has ended:\n{self.out}\n{self.err}"
            return (self.out + self.err).count(text) >= count

        wait_until(is_there, lambda: f"no {text!r} in:\n{self.out}\n{self.err}")

    def terminate(self) -> int:
        """Send SIGTERM, and return the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def wait(self) -> int:
        return self._process.wait(PATIENCE)


@contextmanager
def running(script: Path, kubeconfig: Path, **environment: str) -> Iterator[Program]:
    """Run a program against the cluster of a kubeconfig; kill it at the end if it still runs."""
    inherited = {k: v for k, v in os.environ.items() if k != "KUBERNETES_SERVICE_HOST"}
    out, err = script.with_suffix(".out"), script.with_suffix(".err")
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, str(script)],
            env={**inherited, "KUBECONFIG": str(kubeconfig), **environment},
            stdout=stdout,
            stderr=stderr,
        )
        try:
            yield Program(process, out, err)
        finally:
            process.kill()
            process.wait()


def get(url: str) -> tuple[int, str]:
    """Return the status and the body of a response; 0 while nothing listens."""
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def wait_for_answer(url: str, status: int, text: str = "") -> str:
    """Return the first answer with this status and text; fail if there is none."""
    last = (0, "")

    def is_there() -> bool:
        nonlocal last
        last = get(url)
        return last[0] == status and text in last[1]

    wait_until(is_there, lambda: f"{url} answers {last}")
    return last[1]


def wait_until(condition: Callable[[], bool], explain: Callable[[], str] = str) -> None:
    """Return as soon as ``condition`` holds; fail if it does not in time."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, explain()
        time.sleep(0.02)
