"""``kinform controller-manager``: what it lists, what it runs, how it stops."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from kinform.cli import main
from kinform.controller_manager import ControllerContext, ControllerRegistry
from kinform.testing import BlockingApiServer


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> ControllerRegistry:
    """What the command finds instead of the shipped controllers."""
    found = ControllerRegistry()
    monkeypatch.setattr("kinform.controller_manager.default_registry", lambda: found)

    stopped: list[str] = []

    def build(context: ControllerContext) -> Any:
        async def stop() -> None:
            stopped.append(context.name)
            if len(stopped) == 1:  # a second signal would end the process at once
                os.kill(os.getpid(), signal.SIGTERM)

        return stop

    found.controller("one-controller", aliases=["one"])(build)
    found.controller("two-controller", gates=["Two"])(build)
    found.controller("three-controller", default_on=False)(build)
    return found


def _kubeconfig(server: BlockingApiServer, folder: Path) -> str:
    return str(server.kubeconfig(folder / "kubeconfig"))


def test_it_lists_all_controllers(
    registry: ControllerRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["controller-manager", "--list"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "one-controller (also one)",
        "two-controller (needs the gate Two)",
        "three-controller (off by default)",
    ]


@pytest.mark.parametrize(
    ("options", "running"),
    [
        ([], "one-controller"),
        (["--feature-gates=Two=true"], "one-controller, two-controller"),
        (["--controllers=three-controller"], "three-controller"),
        (["--controllers=*,-one", "--feature-gates", "Two=true"], "two-controller"),
    ],
    ids=["default", "gate", "named", "without"],
)
def test_it_runs_the_selected_controllers_until_a_signal(
    registry: ControllerRegistry,
    kinform_server: BlockingApiServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    running: str,
) -> None:
    kubeconfig = _kubeconfig(kinform_server, tmp_path)

    assert main(["controller-manager", "--kubeconfig", kubeconfig, *options]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"kinform: running {running} on {kinform_server.url}",
        "kinform: stopped",
    ]


def test_with_an_election_it_works_under_the_lease(
    registry: ControllerRegistry, kinform_server: BlockingApiServer, tmp_path: Path
) -> None:
    kubeconfig = _kubeconfig(kinform_server, tmp_path)
    options = ["--leader-elect", "--leader-elect-resource-namespace", "default", "--address=:0"]

    assert main(["controller-manager", "--kubeconfig", kubeconfig, *options]) == 0
    requests = kinform_server.requests.matching(verb="create", resource="leases")
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--controllers=four"], 1, "no controller 'four'; there are: one-controller"),
        (["--controllers=-one"], 1, "no controllers to run"),
        (["--feature-gates=Two"], 2, "'Two' is not of the form NAME=true"),
        (["--start-interval=soon"], 2, "'soon' is not a number"),
        (["--kubeconfig=/nowhere/at/all"], 1, "/nowhere/at/all"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_mistake_is_named(
    registry: ControllerRegistry,
    kinform_server: BlockingApiServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    code: int,
    message: str,
) -> None:
    kubeconfig = _kubeconfig(kinform_server, tmp_path)

    assert main(["controller-manager", "--kubeconfig", kubeconfig, *options]) == code
    assert message in capsys.readouterr().err
