"""18.25: every program of docs/recipes runs as it stands, against the embedded server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from kinform import GVR, Client, SharedInformerFactory
from kinform.testing import ApiServer, BlockingApiServer, faults
from tests.support.cluster_process import free_port
from tests.support.recipes import (
    FOLDER,
    PATIENCE,
    blocks,
    get,
    running,
    wait_for_answer,
    wait_until,
)
from tests.support.recipes import write_program as program

MAPS = GVR("", "v1", "configmaps")
NAMESPACES = GVR("", "v1", "namespaces")
# The number of programs that the tests below run, by page.
PROGRAMS = {
    "README": 0,
    "aiohttp-service": 1,
    "controller-by-hand": 1,
    "fastapi-service": 2,
    "probes": 2,
    "rbac": 1,
    "sigterm": 2,
    "virtual-time": 1,
}


def test_every_program_on_a_page_is_known_here() -> None:
    """18.25: a recipe that no test runs is found by this one."""
    found = {page.stem: len(blocks(page.stem, "python")) for page in FOLDER.glob("*.md")}

    assert found == PROGRAMS


def pod(name: str, node: str = "node-1") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop"}
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "nginx"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def namespace(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


@pytest.fixture
def api(kinform_server: BlockingApiServer) -> BlockingApiServer:
    kinform_server.create(namespace("shop"))
    kinform_server.create(pod("web"))
    return kinform_server


@pytest.mark.parametrize(
    ("page", "number", "path", "pods"),
    [
        ("aiohttp-service", 1, "/nodes/node-1/pods", ["shop/web"]),
        ("fastapi-service", 1, "/nodes/node-1/pods", ["shop/web"]),
        ("fastapi-service", 2, "/namespaces/shop/pods", ["web"]),
    ],
    ids=["aiohttp", "fastapi", "starlette"],
)
def test_a_service_answers_through_an_outage_and_stops_on_sigterm(
    api: BlockingApiServer, tmp_path: Path, page: str, number: int, path: str, pods: list[str]
) -> None:
    """18.13, 18.25: in an outage it stays live and ready, and says how old its data is."""
    port = str(free_port())
    base = f"http://127.0.0.1:{port}"
    injected = api.faults.inject(faults.unavailable(), path="/api/v1/pods", times=None)
    with running(program(tmp_path, page, number), api.kubeconfig(), PORT=port) as service:
        wait_for_answer(f"{base}/readyz", 503, "v1/pods: not synced")
        assert get(f"{base}/livez")[0] == 200
        assert get(f"{base}{path}")[0] == 503
        injected.remove()
        assert wait_for_answer(f"{base}/readyz", 200) == "ok"
        assert json.loads(wait_for_answer(f"{base}{path}", 200))["pods"] == pods

        api.stop()
        wait_for_answer(f"{base}/readyz", 200, "v1/pods: synced, but not updated for")
        assert get(f"{base}/livez")[0] == 200
        served = json.loads(wait_for_answer(f"{base}{path}", 200))
        assert served["pods"] == pods
        assert served["staleness"] > 0

        # uvicorn stops the application, and then ends by the signal that it was sent.
        assert service.terminate() in (0, -signal.SIGTERM)
        assert "Traceback" not in service.err


@pytest.mark.parametrize("number", [1, 2], ids=["asyncio", "blocking"])
def test_probes_beside_a_program(api: BlockingApiServer, tmp_path: Path, number: int) -> None:
    """18.13, 18.25: not ready before the first sync, live throughout."""
    port = str(free_port())
    base = f"http://127.0.0.1:{port}"
    injected = api.faults.inject(faults.forbidden(), path="/api/v1/pods", times=None)
    with running(program(tmp_path, "probes", number), api.kubeconfig(), PORT=port) as probes:
        wait_for_answer(f"{base}/readyz", 503, "orbidden")
        assert get(f"{base}/livez")[0] == 200
        assert get(f"{base}/other")[0] == 404
        injected.remove()
        probes.wait_for("1 pods")
        assert get(f"{base}/readyz") == (200, "ok")
        api.stop()
        wait_for_answer(f"{base}/livez", 200, "v1/pods: synced, but not updated for")


async def test_the_handlers_of_the_guide_follow_the_health(kinform_api: ApiServer) -> None:
    """18.13: those of docs/guides/observability.md, before the start and after the first sync."""
    aiohttp_block, starlette_block = [
        block for block in blocks("../guides/observability", "python") if "/livez" in block
    ]
    async with Client(kinform_api.config) as client:
        factory = SharedInformerFactory(client)
        _ = factory.core.v1.pods
        names: dict[str, Any] = {"factory": factory}
        exec(aiohttp_block, names)
        exec(starlette_block, names)
        endpoints = {route.path: route.endpoint for route in names["routes"]}

        async def answers() -> list[tuple[int, str]]:
            found = []
            for path in ("/livez", "/readyz"):
                response = await endpoints[path](None)
                found.append((response.status_code, response.body.decode()))
                async with guide.get(path) as answer:
                    assert (answer.status, await answer.text()) == found[-1]
            return found

        async with TestClient(TestServer(names["app"])) as guide:
            not_started = "v1/pods: not started"
            assert await answers() == [(200, not_started), (503, not_started)]
            async with factory:
                await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
                assert await answers() == [(200, "ok"), (200, "ok")]


def test_sigterm_cancels_an_asyncio_program(api: BlockingApiServer, tmp_path: Path) -> None:
    """18.25: exit code 0; the last line is printed after the informers have stopped."""
    with running(program(tmp_path, "sigterm"), api.kubeconfig()) as run:
        run.wait_for("running")
        assert run.terminate() == 0
        assert [line[:18] for line in run.out.splitlines()] == [
            "running",
            "last request to v1",
            "stopped",
        ]
        assert run.err == ""


def test_sigterm_leaves_a_blocking_program(api: BlockingApiServer, tmp_path: Path) -> None:
    """18.25: exit code 0; the last line is printed after the informers have stopped."""
    api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
    with running(program(tmp_path, "sigterm", 2), api.kubeconfig()) as run:
        run.wait_for("added node-1")
        assert run.terminate() == 0
        assert run.out.splitlines() == ["added node-1", "stopped"]
        assert run.err == ""


def test_sigterm_ends_the_wait_for_the_first_sync(api: BlockingApiServer, tmp_path: Path) -> None:
    """18.25: also if the API server does not answer."""
    injected = api.faults.inject(faults.hang(), path="/api/v1/nodes", times=None)
    with running(program(tmp_path, "sigterm"), api.kubeconfig()) as run:
        wait_until(lambda: injected.hits > 0)
        assert run.terminate() == 0
        assert run.out == "stopped\n"


def test_the_rbac_program_reads_what_it_may(api: BlockingApiServer, tmp_path: Path) -> None:
    """18.25: the permissions themselves are checked on a real server, in tests/cluster."""
    for name in ("settings", "other"):
        metadata = {"name": name, "namespace": "shop"}
        api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    with running(program(tmp_path, "rbac"), api.kubeconfig()) as run:
        assert run.wait() == 0
        assert run.out.splitlines() == [
            "all 2 informers have synced",
            "metadata: all 1 informers have synced",
            "['web']",
            "['settings']",
        ]


def test_the_virtual_time_recipe_is_a_test_that_passes(tmp_path: Path) -> None:
    """18.25: an hour of virtual time, in its own pytest."""
    script = program(tmp_path, "virtual-time")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_the_controller_keeps_its_rule(api: BlockingApiServer, tmp_path: Path) -> None:
    """18.25: before and after changes, failures and interference."""

    def team(name: str) -> str | None:
        found = [each for each in api.list(MAPS, name) if each["metadata"]["name"] == "team"]
        return found[0]["data"]["team"] if found else None

    api.create(namespace("red", team="red"))
    with running(program(tmp_path, "controller-by-hand"), api.kubeconfig()) as controller:
        wait_until(lambda: team("red") == "red")
        api.patch(NAMESPACES, "red", {"metadata": {"labels": {"team": "rot"}}})
        wait_until(lambda: team("red") == "rot")
        api.delete(MAPS, "team", "red")  # somebody interferes
        wait_until(lambda: team("red") == "rot")
        api.patch(NAMESPACES, "red", {"metadata": {"labels": {"team": None}}})
        wait_until(lambda: team("red") is None)

        refused = api.faults.inject(
            faults.forbidden(),
            verb="create",
            resource="configmaps",
            namespace="blue",
            times=None,
        )
        api.create(namespace("blue", team="blue"))
        api.create(namespace("green", team="green"))
        wait_until(lambda: team("green") == "green")
        controller.wait_for("teams: blue: ", count=2)
        assert team("blue") is None
        refused.remove()
        wait_until(lambda: team("blue") == "blue")

        assert controller.terminate() == 0
        assert "Traceback" not in controller.err
    assert team("shop") is None
