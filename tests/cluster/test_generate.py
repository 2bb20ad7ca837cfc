"""``kinform generate`` on what a real kube-apiserver says of itself."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinform import blocking
from kinform.client import Client
from kinform.errors import DiscoveryError, NoMatchError
from kinform.generate._cluster import read_cluster
from kinform.generate._crd import CustomKind, read_files
from kinform.generate._files import write_files
from kinform.generate._package import render_package
from kinform.transport import AiohttpTransport, StaticToken
from tests.cluster.informer_flows import PATIENCE, config_of, create_namespace
from tests.support.cluster import RealCluster
from tests.support.custom_kinds import ALL
from tests.support.custom_kinds_program import BLOCKING_PROGRAM, BLOCKING_SAID, PROGRAM, SAID

pytestmark = pytest.mark.cluster


def _refuse(message: str) -> None:
    raise AssertionError(message)


@pytest.fixture(scope="module")
def cluster(real_cluster: RealCluster) -> Iterator[RealCluster]:
    """One that has all the definitions."""
    with blocking.Client(config_of(real_cluster)) as client:
        definitions = [client.create(yaml.safe_load(text)) for text in ALL]
        yield real_cluster
        for definition in definitions:
            client.delete(definition.gvk, definition.name)


@pytest.fixture
async def transport(cluster: RealCluster) -> AsyncIterator[AiohttpTransport]:
    transport = AiohttpTransport(config_of(cluster))
    yield transport
    await transport.close()


@pytest.fixture
async def client(cluster: RealCluster, transport: AiohttpTransport) -> AsyncIterator[Client]:
    async with Client(config_of(cluster), transport=transport) as client:
        await _until_served(client)
        yield client


async def _until_served(client: Client) -> None:
    wanted = {yaml.safe_load(text)["spec"]["group"] for text in ALL}
    async with asyncio.timeout(PATIENCE):
        while wanted - {each.gvr.group for each in await client.discovery.resources()}:
            await asyncio.sleep(0.1)
            await client.discovery.refresh()


async def test_a_definition_reads_the_same_from_the_cluster_and_from_its_file(
    client: Client, transport: AiohttpTransport, tmp_path: Path
) -> None:
    for number, text in enumerate(ALL):
        (tmp_path / f"{number}.yaml").write_text(text, encoding="utf-8")
    files = read_files([tmp_path], _refuse)
    wanted = dict.fromkeys(kind.gvr.api_version for kind in files)

    found = [kind for each in wanted for kind in await read_cluster(client, transport, each)]

    assert render_package(found, _refuse) == render_package(files, _refuse)


async def test_who_may_not_read_definitions_reads_the_same_from_the_document(
    client: Client, transport: AiohttpTransport, cluster: RealCluster
) -> None:
    config = config_of(cluster, StaticToken(cluster.nobody_token))
    other = AiohttpTransport(config)
    async with Client(config, transport=other) as nobody:
        [seen] = await _once_described(nobody, other, "certs.example.com/v1")
    [read] = await read_cluster(client, transport, "certs.example.com/v1")

    texts = [render_package([kind], _refuse)["certs_example_com/v1.py"] for kind in (seen, read)]
    assert texts[0] == texts[1]


async def _once_described(
    client: Client, transport: AiohttpTransport, group_version: str
) -> list[CustomKind]:
    """The server writes the document some time after it serves the kind."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await read_cluster(client, transport, group_version)
            except DiscoveryError:
                await asyncio.sleep(0.1)


@pytest.mark.parametrize("group_version", ["v1", "apps/v1", "apiextensions.k8s.io/v1"])
async def test_documents_with_references_become_modules(
    client: Client, transport: AiohttpTransport, group_version: str, tmp_path: Path
) -> None:
    warnings: list[str] = []
    kinds = await read_cluster(client, transport, group_version)
    files = render_package(kinds, warnings.append)

    [path] = [path for path in files if path.endswith("/v1.py")]
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(files[path], path, "exec"), names)
    assert {kind.kind for kind in kinds} <= set(names)
    assert all("typed as Any" in warning for warning in warnings)
    write_files(tmp_path, {path: files[path]})
    for command in (["format", "--check"], ["check"]):
        arguments = [*command, "--isolated", "--no-cache", "--line-length", "100", "."]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
    if group_version == "apps/v1":
        assert warnings == []
        assert "    spec: Part[DeploymentSpec] = Part(" in files[path]


async def test_a_group_version_that_is_not_there_is_answered_with_the_nearest(
    client: Client, transport: AiohttpTransport
) -> None:
    with pytest.raises(NoMatchError, match=r"did you mean stable\.example\.com/v1"):
        await read_cluster(client, transport, "stable.exmaple.com/v1")


@pytest.mark.parametrize(
    ("program", "said"),
    [(PROGRAM, SAID), (BLOCKING_PROGRAM, BLOCKING_SAID)],
    ids=["asyncio", "blocking"],
)
async def test_client_and_factory_are_typed_by_what_was_generated(
    program: str,
    said: object,
    client: Client,
    transport: AiohttpTransport,
    cluster: RealCluster,
    tmp_path: Path,
) -> None:
    namespace = f"generate-{uuid.uuid4().hex[:8]}"
    await create_namespace(client, namespace)
    kinds = await read_cluster(client, transport, "stable.example.com/v1")
    write_files(tmp_path / "mypkg", render_package(kinds, _refuse))

    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-W", "error", "-c", program, str(cluster.kubeconfig), namespace],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == said
