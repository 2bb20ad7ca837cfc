"""The programs of the client's guide run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kinform.testing import BlockingApiServer

GUIDE = (Path(__file__).parents[3] / "docs/guides/client.md").read_text("utf-8")
PROGRAMS = re.findall(r"^```python\n(import asyncio\n.*?)^```", GUIDE, re.M | re.S)


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0, r"default/settings\n"),
        (
            1,
            r"done: create v1/configmaps default/settings \d+\n"
            r"failed: update v1/configmaps default/settings update v1/configmaps default/settings: "
            r"this replica is not the leader\n",
        ),
    ],
)
def test_program_of_the_guide_runs(
    kinform_server: BlockingApiServer, number: int, printed: str
) -> None:
    environment = {**os.environ, "KUBECONFIG": str(kinform_server.kubeconfig())}
    environment.pop("KUBERNETES_SERVICE_HOST", None)
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-c", PROGRAMS[number]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(printed, run.stdout)


def test_every_program_of_the_guide_is_run() -> None:
    assert len(PROGRAMS) == 2
