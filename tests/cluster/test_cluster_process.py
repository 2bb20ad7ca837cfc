"""Server processes of the harness: seen when they fail, gone when the tests are."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cluster_process import (
    PortTakenError,
    ServerProcess,
    StartError,
    free_port,
)

ROOT = Path(__file__).parents[2]


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # Killed and not yet reaped by whoever adopted it is as good as gone.
    state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


def test_a_server_that_dies_is_reported_with_its_last_words(tmp_path: Path) -> None:
    server = ServerProcess(
        _python("import sys; sys.exit('no such flag: --bogus')"), log=tmp_path / "log"
    )

    with pytest.raises(StartError, match=r"exited with 1; its last lines:\n  no such flag"):
        server.wait_until(lambda: False, timeout=10)


def test_a_server_that_is_never_ready_is_reported(tmp_path: Path) -> None:
    server = ServerProcess(_python("import time; time.sleep(60)"), log=tmp_path / "log")

    with pytest.raises(StartError, match=r"not ready after 0\.1 s"):
        server.wait_until(lambda: False, timeout=0.1)
    server.kill()

    assert not server.is_running


def test_a_taken_port_is_told_from_other_failures(tmp_path: Path) -> None:
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        port = squatter.getsockname()[1]
        server = ServerProcess(
            _python(
                "import socket, sys\n"
                f"try: socket.create_server(('127.0.0.1', {port}))\n"
                "except OSError as e: sys.exit(e.strerror.lower())"
            ),
            log=tmp_path / "log",
        )

        with pytest.raises(PortTakenError):
            server.wait_until(lambda: False, timeout=10)


def test_a_free_port_can_be_listened_on() -> None:
    with socket.create_server(("127.0.0.1", free_port())):
        pass


def test_stopping_asks_first_and_insists_later(tmp_path: Path) -> None:
    log = tmp_path / "log"
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    server = ServerProcess(_python(f"{stubborn}; print('up', flush=True); time.sleep(60)"), log=log)
    server.wait_until(lambda: log.read_text() == "up\n", timeout=10)

    server.stop(grace=0.1)

    assert not server.is_running


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of that")
def test_a_server_dies_with_a_test_run_that_was_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    run = subprocess.Popen(
        _python(
            "import sys, time\n"
            "from pathlib import Path\n"
            "from tests.support.cluster_process import ServerProcess\n"
            f"ServerProcess([sys.executable, '-c', {server!r}], log=Path({str(log)!r}))\n"
            "time.sleep(60)"
        ),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        _wait_for(lambda: log.exists() and log.read_text().endswith("\n"))
        process = int(log.read_text())
        assert _is_alive(process)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()

    _wait_for(lambda: not _is_alive(process))
