"""``kinform demo`` as a process, without a terminal and with one."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from kinform.api import GVR
from kinform.cli import main
from kinform.cli.demo._ledger import Ledger

DEMO = [sys.executable, "-m", "kinform", "demo"]


def test_without_a_terminal_it_tells_events_line_by_line_and_ends_by_itself() -> None:
    done = subprocess.run(
        [*DEMO, "--seconds", "4"], capture_output=True, text=True, timeout=50, check=True
    )

    first, *lines = done.stdout.splitlines()
    assert re.fullmatch(r"A simulated cluster runs on http://127\.0\.0\.1:\d+; .*", first)
    assert any(re.fullmatch(r"\d\d:\d\d:\d\d \S pod \S+ is running", line) for line in lines)
    assert "Nothing was lost:" in lines
    assert "kinform serve --living" in lines[-2]
    assert (done.stderr, "\x1b" in done.stdout) == ("", False)


def test_the_same_seed_tells_the_same_story() -> None:
    runs = [
        subprocess.run(
            [*DEMO, "--once", "--seed", "7"], capture_output=True, text=True, timeout=50, check=True
        ).stdout
        for _ in range(2)
    ]

    # The port, and the resource versions, which begin at the current time.
    pictures = [re.sub(r"127\.0\.0\.1:\d+|\d{16}", "…", run) for run in runs]
    assert pictures[0] == pictures[1]
    assert "shop/web" in pictures[0]
    assert "5/5" in pictures[0]


def test_on_a_terminal_it_paints_until_ctrl_c_and_gives_the_terminal_back() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(DEMO, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    try:
        painted = _read_until(ours, b"resource version")
        process.send_signal(signal.SIGINT)
        painted += _read_until(ours, b"kinform serve --help")
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)

    assert painted.startswith(b"\x1b[?1049h")
    closing = painted.rpartition(b"\x1b[?1049l")[2]
    assert b"Nothing was lost:" in closing
    assert b"Traceback" not in painted


def _read_until(descriptor: int, marker: bytes) -> bytes:
    received = b""
    deadline = time.monotonic() + 40
    while marker not in received:
        assert time.monotonic() < deadline, received[-2000:]
        received += os.read(descriptor, 65536)
    return received


def test_a_reader_that_leaves_early_is_no_error() -> None:
    process = subprocess.Popen(
        [*DEMO, "--seconds", "5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()

    complaint = process.stderr.read()
    assert process.wait(40) == 0
    assert complaint == ""
    process.stderr.close()


def test_it_breaks_its_connections_and_proves_that_nothing_was_lost() -> None:
    """18.26: resets all watches, discards the history, and accounts for each change."""
    done = subprocess.run(
        [*DEMO, "--seconds", "9", "--seed", "3"], capture_output=True, text=True, timeout=55
    )

    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout
    order = [
        "demo resets the connections of 3 watches",
        "informers resumed 3 watches where they were",
        "demo resets all connections for 0.9 s, drops the history",
        "informers got 410 Expired, listed 3 resources again",
        "Nothing was lost:",
    ]
    assert [each for each in order if each not in said] == []
    assert sorted(order, key=said.find) == order
    found = re.search(
        r"  (\d+) changes on the server\n"
        r"  (\d+) received, (\d+) replaced by a later one before a new list, 0 lost, 0 repeated\n"
        r"  3 watches resumed, 3 resources listed again\n"
        r"  \d+ objects in 3 stores, equal to the server: yes\n",
        said,
    )
    assert found is not None
    written, received, replaced = map(int, found.groups())
    assert written == received + replaced
    assert received > 50


def _lose(received: Callable[..., None], ledger: Ledger, gvr: GVR, key: str, version: int) -> None:
    if gvr.resource == "pods" and key.startswith("shop/web"):
        return
    received(ledger, gvr, key, version)


def _repeat(
    received: Callable[..., None], ledger: Ledger, gvr: GVR, key: str, version: int
) -> None:
    received(ledger, gvr, key, version)
    received(ledger, gvr, key, version)


@pytest.mark.parametrize(
    ("sabotage", "said"),
    [(_lose, r" [1-9]\d* lost"), (_repeat, r" [1-9]\d* repeated")],
    ids=["lost", "repeated"],
)
def test_it_fails_if_an_event_is_lost_or_repeated(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    sabotage: Callable[..., None],
    said: str,
) -> None:
    """18.26: the exit code is 1, and the output names some of the changes."""
    received = Ledger.received
    monkeypatch.setattr(Ledger, "received", lambda *event: sabotage(received, *event))
    monkeypatch.setattr("kinform.cli.demo._proof._PATIENCE", 0.2)

    assert main(["demo", "--seconds", "3", "--seed", "3"]) == 1
    output = capsys.readouterr().out
    assert "The check failed:" in output
    assert re.search(said, output)
    assert re.search(r"(lost|repeated): pods \S+/\S+ at version \d+", output)
