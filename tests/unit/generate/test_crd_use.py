"""A generated package at work: client, factory and informers on the embedded server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinform.generate._crd import kinds_of
from kinform.generate._files import write_files
from kinform.generate._package import render_package
from kinform.testing import BlockingApiServer
from tests.support.custom_kinds import CRON_TAB
from tests.support.custom_kinds_program import BLOCKING_PROGRAM, BLOCKING_SAID, PROGRAM, SAID


@pytest.mark.parametrize(
    ("program", "said"),
    [(PROGRAM, SAID), (BLOCKING_PROGRAM, BLOCKING_SAID)],
    ids=["asyncio", "blocking"],
)
def test_client_and_factory_are_typed_by_it(
    program: str, said: Any, kinform_server: BlockingApiServer, tmp_path: Path
) -> None:
    definition = yaml.safe_load(CRON_TAB)
    kinform_server.create(definition)
    kinds = list(kinds_of(definition, "here", _refuse))
    write_files(tmp_path / "mypkg", render_package(kinds, _refuse))
    command = [sys.executable, "-W", "error", "-c", program]

    done = subprocess.run(
        [*command, str(kinform_server.kubeconfig()), "default"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == said


def _refuse(message: str) -> None:
    raise AssertionError(message)
