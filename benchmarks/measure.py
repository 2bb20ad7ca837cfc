"""Measures the work of a contender and prints one JSON line: CPU, memory, wall time, its own facts.

Runs inside the contender's process, in any environment, so it uses only the standard library.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

Parameters = Mapping[str, Any]
Facts = Mapping[str, Any]


def report(work: Callable[[Parameters], Facts]) -> None:
    """Do ``work`` with the parameters of the command line; print what it took.

    The process's own figures (``cpu``, ``peak``) hold interpreter and imports too; those of the
    work alone are beside them. Sizes are in bytes, times in seconds.
    """
    parameters = json.loads(sys.argv[1])
    baseline = peak_memory()
    cpu, wall = used_cpu(), time.perf_counter()
    facts = work(parameters)
    figures = {
        "work_cpu": used_cpu() - cpu,
        "work_wall": time.perf_counter() - wall,
        "cpu": used_cpu(),
        "baseline": baseline,
        "peak": peak_memory(),
    }
    print(json.dumps({**figures, **facts}), flush=True)


class Window:
    """The changes that a handler sees between ``go`` and ``stop``, and how late each one was.

    What the harness says comes in on stdin, a word a line. A handler on another thread may note
    changes at the same time.
    """

    def __init__(self) -> None:
        self._open = False
        self._delays: list[int] = []
        self._missing = 0

    def note(self, written: str | None) -> None:
        """A change, and the ``time.monotonic_ns()`` at which its writer says it was written."""
        now = time.monotonic_ns()
        if not self._open:
            return
        if written is None:
            self._missing += 1
        else:
            self._delays.append((now - int(written)) // 1000)

    def measure(self) -> Facts:
        """Say that all is ready, wait for ``go`` and ``stop``; what was between them.

        Blocking: with asyncio, call it on another thread.
        """
        print("synced", flush=True)
        sys.stdin.readline()
        self._open = True
        before = used_cpu()
        sys.stdin.readline()
        cpu = used_cpu() - before
        self._open = False
        return {"window_cpu": cpu, "delays": self._delays, "missing": self._missing}


def since(started: int) -> float:
    """Seconds since that ``time.monotonic_ns()``, which another process may have read."""
    return (time.monotonic_ns() - started) / 1e9


def used_cpu() -> float:
    """User and system time of this process, in seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_memory() -> int:
    """What this process has resident now. Linux only."""
    return _status("VmRSS")


def peak_memory() -> int:
    """The most memory that this process has had resident."""
    # A process that has just been started inherits ru_maxrss from the one that started it.
    try:
        return _status("VmHWM")
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def forget_peak() -> None:
    """Let the peak begin anew at what is resident now. Linux only."""
    with open("/proc/self/clear_refs", "w") as knob:
        knob.write("5")


def _status(name: str) -> int:
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines[name].split()[0]) * 1024
