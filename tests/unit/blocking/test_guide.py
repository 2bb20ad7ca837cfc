"""The programs of the guide run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kinform.testing import BlockingApiServer

GUIDE = (Path(__file__).parents[3] / "docs/guides/blocking.md").read_text("utf-8")
PROGRAMS = re.findall(r"^```python\n(from .*?)^```", GUIDE, re.M | re.S)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "nginx"}]},
}


@pytest.mark.parametrize(("number", "said"), [(0, "web-0"), (1, "ADDED default/web-0"), (2, "a")])
def test_a_program_of_the_guide_runs(
    kinform_server: BlockingApiServer, number: int, said: str
) -> None:
    kinform_server.create(POD)
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
    assert said in run.stdout.splitlines()


def test_no_program_of_the_guide_is_left_out() -> None:
    assert len(PROGRAMS) == 3
