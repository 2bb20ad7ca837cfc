"""A command line in, a running server process out, which never outlives the test run."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

# Run in front of the server: on Linux the kernel kills it when our process is gone, however
# it went. A stub that execs is used instead of ``preexec_fn``, which may deadlock where
# threads run.
_DIE_WITH_PARENT = """
import ctypes, os, sys
if sys.platform == "linux":
    PR_SET_PDEATHSIG, SIGKILL = 1, 9
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit("parent is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""


class StartError(Exception):
    """A server did not come up; the message ends with the last lines of its log."""


class PortTakenError(StartError):
    """Somebody else took the port between our choosing it and the server's binding it."""


def free_port() -> int:
    """A loopback port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServerProcess:
    """One server in a process group of its own, its output in a file.

    Start it from a thread that lives on: to the kernel that thread is its parent.
    """

    def __init__(self, command: Sequence[str | Path], *, log: Path) -> None:
        self._name = Path(command[0]).name
        self._log = log
        with log.open("ab") as output:
            # What an earlier process wrote there says nothing about this one.
            self._log_start = output.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _DIE_WITH_PARENT, str(os.getpid()), *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        atexit.register(self.kill)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def cpu_seconds(self) -> float:
        """What it has used so far, by itself and for the kernel. Linux only."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        # After the name, which may have spaces: the 12th and 13th from there.
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_until(self, ready: Callable[[], bool], *, timeout: float) -> None:
        """Poll ``ready`` until it holds.

        Raises:
            PortTakenError: The process died because its port was in use.
            StartError: The process died, or the time is up.
        """
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.is_running:
                reason = f"{self._name} exited with {self._process.returncode}"
                taken = "address already in use" in self._output()
                raise (PortTakenError if taken else StartError)(self._with_log(reason))
            if time.monotonic() > deadline:
                raise StartError(self._with_log(f"{self._name} not ready after {timeout:g} s"))
            time.sleep(0.05)

    def stop(self, *, grace: float = 10.0) -> None:
        """Ask it to end, and make it end when it does not."""
        if self.is_running:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace)
        self.kill()

    def kill(self) -> None:
        """End it now, with everything it started. Harmless when it is gone already."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        atexit.unregister(self.kill)

    def _signal(self, number: signal.Signals) -> None:
        # Once the leader is reaped its number may belong to somebody else.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _output(self) -> str:
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def _with_log(self, reason: str) -> str:
        last_lines = self._output().splitlines()[-15:]
        return "\n  ".join([f"{reason}; its last lines:", *last_lines])
