"""The pytest plugin in a project of its own, with each way of running async tests."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kinform.testing import ApiServer

_TESTS = """
import asyncio
import urllib.request

import pytest


def test_blocking(kinform_server):
    with urllib.request.urlopen(kinform_server.url + "/version") as answer:
        assert answer.status == 200


def test_each_test_has_a_fresh_server(kinform_server):
    assert len(kinform_server.requests) == 0


@pytest.mark.asyncio
async def test_async(kinform_api):
    port = int(kinform_api.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /version HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    writer.close()
    await writer.wait_closed()
"""


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_the_fixtures_work_in_a_project_that_only_installed_kinform(
    tmp_path: Path, mode: str
) -> None:
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\nasyncio_mode = {mode}\nasyncio_default_fixture_loop_scope = function\n"
        "filterwarnings = error\n"
    )
    (tmp_path / "test_theirs.py").write_text(_TESTS)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert "3 passed" in done.stdout, done.stdout + done.stderr


def test_blocking_tests_need_no_async_plugin(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_theirs.py").write_text(_TESTS.partition("@pytest.mark.asyncio")[0])
    (tmp_path / "pytest_asyncio.py").write_text("raise ImportError('not installed')\n")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "kinform_pytest"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )

    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_run_without_the_fixtures_does_not_load_kinform(tmp_path: Path) -> None:
    """18.28: the plugin costs such a run nothing."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_theirs.py").write_text(
        "import sys\n\n\n"
        "def test_nothing_was_loaded():\n"
        "    assert 'kinform_pytest' in sys.modules\n"
        "    heavy = {'kinform', 'aiohttp', 'msgspec', 'google.protobuf', 'yaml', 'trustme'}\n"
        "    assert not heavy & sys.modules.keys()\n"
    )

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert "1 passed" in done.stdout, done.stdout + done.stderr


def _fastest(once: Callable[[], object]) -> float:
    """On a busy machine the fastest of a few tries says what it takes."""
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        once()
        taken.append(time.perf_counter() - began)
    return min(taken)


async def _start_and_stop() -> None:
    async with ApiServer():
        pass


def _start_and_stop_blocking() -> None:
    with ApiServer.blocking():
        pass


@pytest.mark.parametrize(
    "server",
    [lambda: asyncio.run(_start_and_stop()), _start_and_stop_blocking],
    ids=["async", "blocking"],
)
def test_a_server_starts_and_stops_faster_than_an_interpreter(server: Callable[[], None]) -> None:
    """A test can spare 0.2 s for it; a bare interpreter takes a small part of that."""
    interpreter = _fastest(lambda: subprocess.run([sys.executable, "-S", "-c", ""], check=True))

    assert _fastest(server) < 2 * interpreter
