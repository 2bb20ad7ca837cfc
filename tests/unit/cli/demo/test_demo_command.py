"""``kinform demo`` as a process, without a terminal and with one."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time

DEMO = [sys.executable, "-m", "kinform", "demo"]


def test_without_a_terminal_it_tells_events_line_by_line_and_ends_by_itself() -> None:
    done = subprocess.run(
        [*DEMO, "--seconds", "4"], capture_output=True, text=True, timeout=50, check=True
    )

    first, *lines = done.stdout.splitlines()
    assert re.fullmatch(r"A simulated cluster runs on http://127\.0\.0\.1:\d+; .*", first)
    assert any(re.fullmatch(r"\d\d:\d\d:\d\d \S pod \S+ is running", line) for line in lines)
    assert re.search(r"\d+ changes received by 3 informers", done.stdout)
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
    assert b"changes received by 3 informers" in closing
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
