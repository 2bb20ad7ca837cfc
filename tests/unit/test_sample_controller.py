"""The tests of the sample controller pass, as its readers run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "examples" / "sample_controller"


@pytest.mark.timeout(180)
def test_sample_passes_its_own_tests() -> None:
    options = ("-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--rootdir", str(SAMPLE))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_controller.py"],
        cwd=SAMPLE,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed" in done.stdout
