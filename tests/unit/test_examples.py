"""Every example runs, on its own, without a cluster, and says what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SAID = {
    "first_steps": "DELETED default/web",
    "metadata_only": "metadata only:",
    "survive_an_expired_watch": "forgotten where we were: Expired",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_says_what_it_promises(example: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], capture_output=True, text=True, timeout=50
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert SAID[example.stem] in done.stdout
