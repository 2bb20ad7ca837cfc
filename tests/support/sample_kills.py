"""The sample controller on many objects, killed at random points: what must be right at the end."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from kinform import Client, NotFoundError
from kinform.errors import NoMatchError
from kinform.models.apps.v1 import Deployment
from kinform.objects import Unstructured

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("sample_program.py")
DEFINITION: dict[str, Any] = yaml.safe_load(
    (ROOT / "examples/sample_controller/foo.yaml").read_text("utf-8")
)
FOOS = "samples.example.com/v1/foos"


class Outcome:
    """What is there at the end, by name.

    Attributes:
        foos: The remaining objects.
        deployments: All Deployments of the namespace.
        kills: How often the controller was killed.
    """

    def __init__(
        self, foos: dict[str, Unstructured], deployments: dict[str, Deployment], kills: int
    ) -> None:
        self.foos = foos
        self.deployments = deployments
        self.kills = kills


async def run_with_kills(
    client: Client, kubeconfig: Path, namespace: str, *, objects: int, kills: int, seed: int
) -> Outcome:
    """Create, change and delete objects, and kill the controller meanwhile."""
    chance = random.Random(seed)
    killed = 0
    await _wait_until_served(client)
    process = _start(kubeconfig)
    try:
        writing = asyncio.create_task(_write(client, namespace, objects))
        while killed < kills:
            await asyncio.sleep(chance.uniform(1.0, 2.5))  # a random point of its work
            process.kill()
            process.wait()
            killed += 1
            process = _start(kubeconfig)
        await writing
        # Work for the last process, too, so that it is not stopped while it starts.
        await client.patch(FOOS, "foo-001", {"spec": {"image": "foo:3"}}, namespace=namespace)
        outcome = await _wait_until_settled(client, namespace, objects, killed)
        process.terminate()
        assert process.wait(timeout=40) == 0
        return outcome
    finally:
        process.kill()
        process.wait()


def _start(kubeconfig: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(kubeconfig)], stderr=subprocess.DEVNULL
    )


async def _wait_until_served(client: Client) -> None:
    """Wait until the server serves the kind, whose definition was just created."""
    async with asyncio.timeout(30):
        while True:
            try:
                await client.list(FOOS, namespace="default")
                return
            except (NoMatchError, NotFoundError):
                await asyncio.sleep(0.1)


async def _write(client: Client, namespace: str, objects: int) -> None:
    """Half of the objects first; then the other half, new images, and the end of every tenth."""
    names = [f"foo-{number:03}" for number in range(objects)]
    for name in names[: objects // 2]:
        await client.create(_foo(name, namespace))
    for name in names[objects // 2 :]:
        await client.create(_foo(name, namespace))
        await asyncio.sleep(0.005)
    for name in names:
        patch = {"spec": {"image": "foo:2"}}
        await client.patch(FOOS, name, patch, namespace=namespace)
    for name in names[::10]:
        await client.delete(FOOS, name, namespace=namespace)


async def _wait_until_settled(client: Client, namespace: str, objects: int, killed: int) -> Outcome:
    deadline = time.monotonic() + 150
    while True:
        foos = {each.name: each for each in await client.list(FOOS, namespace=namespace)}
        deployments = {
            each.name: each for each in await client.list(Deployment, namespace=namespace)
        }
        outcome = Outcome(foos, deployments, killed)
        if len(foos) == objects - len(range(0, objects, 10)) and all(
            is_settled(foo, deployments) for foo in foos.values()
        ):
            return outcome
        late = [name for name, foo in foos.items() if not is_settled(foo, deployments)]
        assert time.monotonic() < deadline, f"{len(foos)} objects, not settled: {late[:5]}"
        await asyncio.sleep(0.5)


def is_settled(foo: Unstructured, deployments: dict[str, Deployment]) -> bool:
    found = deployments.get(foo.name)
    if found is None:
        return False
    image = found.spec.template.spec.containers[0].image
    conditions: list[Any] = foo.get_path("status.conditions") or []
    observed = [each.get("observedGeneration") for each in conditions]
    return image == foo.get_path("spec.image") and observed == [foo.generation]


def _foo(name: str, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "samples.example.com/v1",
        "kind": "Foo",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"image": "foo:1", "replicas": 2},
    }


def check(outcome: Outcome) -> None:
    """Every object has its Deployment, and every Deployment its owner."""
    for name, foo in outcome.foos.items():
        owners = outcome.deployments[name].metadata.owner_references
        assert [(owner.uid, owner.controller) for owner in owners] == [(foo.uid, True)]
        assert foo.get_path("metadata.finalizers") == ["samples.example.com/cleanup"]
    assert [
        each.name for each in outcome.deployments.values() if not each.metadata.owner_references
    ] == []
