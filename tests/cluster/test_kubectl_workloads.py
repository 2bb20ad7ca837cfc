"""The real kubectl on the embedded server with our controllers: rollouts, scaling and waiting."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kinform import Client
from kinform.controller_manager.workloads import deployment_controller, replica_set_controller
from kinform.controllers import Manager
from kinform.testing import ApiServer
from tests.support.simulated_kubelet import SimulatedKubelet
from tools.cluster_binaries import assets_folder

# The fixture knows when to skip: kubectl is built together with the real servers.
pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("real_cluster")]

MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
"""


class Kubectl:
    """Runs kubectl against the server."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(home)}

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        process = await asyncio.create_subprocess_exec(
            str(assets_folder() / "kubectl"),
            *arguments,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await process.communicate(stdin.encode())
        assert process.returncode == 0, errors.decode()
        return out.decode()


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    """A kubectl of an embedded server, on which controllers and a kubelet work."""
    async with ApiServer() as server, Client(server.config) as client:
        manager = Manager(client)
        manager.add(deployment_controller())
        manager.add(replica_set_controller())
        async with manager, SimulatedKubelet(client).running():
            run = Kubectl(server.kubeconfig(), tmp_path)
            await run("create", "--validate=false", "-f", "-", stdin=MANIFEST)
            await run("rollout", "status", "deployment/web", "--timeout=30s")
            yield run


async def _image(kubectl: Kubectl) -> str:
    path = "jsonpath={.spec.template.spec.containers[0].image}"
    return await kubectl("get", "deployment", "web", "-o", path)


async def test_rollout_status_waits_for_a_rollout(kubectl: Kubectl) -> None:
    await kubectl("set", "image", "deployment/web", "web=web:2")
    said = await kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    assert 'deployment "web" successfully rolled out' in said
    pods = await kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}")
    assert pods.split() == ["web:2", "web:2"]


async def test_rollout_undo_goes_back(kubectl: Kubectl) -> None:
    for image in ("web:2", "web:3"):
        await kubectl("set", "image", "deployment/web", f"web={image}")
        await kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    history = await kubectl("rollout", "history", "deployment/web")
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["1", "2", "3"]
    await kubectl("rollout", "undo", "deployment/web")
    await kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    assert await _image(kubectl) == "web:2"
    await kubectl("rollout", "undo", "deployment/web", "--to-revision=1")
    await kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    assert await _image(kubectl) == "web:1"
    history = await kubectl("rollout", "history", "deployment/web")
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["3", "4", "5"]


async def test_rollout_restart_replaces_all_pods(kubectl: Kubectl) -> None:
    names = ("get", "pods", "-o", "jsonpath={.items[*].metadata.name}")
    before = set((await kubectl(*names)).split())
    await kubectl("rollout", "restart", "deployment/web")
    await kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    after = set((await kubectl(*names)).split())
    assert len(after) == 2
    assert not before & after


async def test_pause_holds_a_rollout_until_resume(kubectl: Kubectl) -> None:
    await kubectl("rollout", "pause", "deployment/web")
    await kubectl("set", "image", "deployment/web", "web=web:2")
    sets = await kubectl("get", "replicasets", "-o", "name")
    assert len(sets.split()) == 1
    await kubectl("rollout", "resume", "deployment/web")
    await kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    sets = await kubectl("get", "replicasets", "-o", "name")
    assert len(sets.split()) == 2


async def test_scale_and_wait(kubectl: Kubectl) -> None:
    await kubectl("scale", "deployment/web", "--replicas=5")
    await kubectl(
        "wait", "deployment/web", "--for=jsonpath={.status.readyReplicas}=5", "--timeout=30s"
    )
    await kubectl("wait", "deployment/web", "--for=condition=Available", "--timeout=30s")
    await kubectl("wait", "pods", "-l", "app=web", "--for=condition=Ready", "--timeout=30s")
