"""A contender's work in, one JSON line about it out: CPU, memory, wall time, and its own facts.

Runs inside the contender's process, in whichever environment that is: standard library only.
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
    baseline = _peak()
    cpu, wall = _cpu(), time.perf_counter()
    facts = work(parameters)
    figures = {
        "work_cpu": _cpu() - cpu,
        "work_wall": time.perf_counter() - wall,
        "cpu": _cpu(),
        "baseline": baseline,
        "peak": _peak(),
    }
    print(json.dumps({**figures, **facts}))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak() -> int:
    """The most memory that this process has had resident."""
    # A process that has just been started inherits ru_maxrss from the one that started it.
    try:
        with open("/proc/self/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        return int(lines["VmHWM"].split()[0]) * 1024
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
