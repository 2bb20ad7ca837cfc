"""The examples on informers say the same to a real API server as to the embedded one."""

from __future__ import annotations

import asyncio
import importlib.util
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

from kinform import GVR, Client, ClusterConfig, NotFoundError, blocking
from kinform.transport import StaticToken
from tests.support.cluster import RealCluster
from tests.unit.test_examples import SAID

EXAMPLES = Path(__file__).parents[2] / "examples"
DEFINITIONS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def admin(real_cluster: RealCluster) -> Iterator[ClusterConfig]:
    config = ClusterConfig(
        server=real_cluster.url,
        certificate_authority=real_cluster.ca_file,
        credentials=StaticToken(real_cluster.admin_token),
    )
    yield config
    with blocking.Client(config) as client:
        for name in ("ipamblocks.crd.projectcalico.org", "crontabs.cron.example.com"):
            with suppress(NotFoundError):
                client.delete(DEFINITIONS, name)


@pytest.fixture
def config(admin: ClusterConfig) -> Iterator[ClusterConfig]:
    """A namespace for one example alone; no controller makes the account that its pods want."""
    config = replace(admin, namespace=f"example-{uuid.uuid4().hex[:8]}")
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": config.namespace}}
    with blocking.Client(config) as client:
        client.create(home)
        client.create(account)
        yield config


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


def missing(name: str, said: str, namespace: str) -> list[str]:
    """What the example promises and did not say; its objects are in another namespace here."""
    promised = [words.replace("default/", f"{namespace}/") for words in SAID[name]]
    return [words for words in promised if words not in said]


@pytest.mark.parametrize(
    "name",
    [
        "cache_namespaces",
        "cache_web_service",
        "ipam_blocks",
        "late_handler",
        "metadata_watch",
        "node_informer",
        "own_kind",
        "pod_informer",
        "pods_by_node",
        "pods_on_node",
        "stateful_sets",
        "write_then_read",
    ],
)
async def test_an_example_says_the_same_on_a_real_server(
    config: ClusterConfig,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)  # as if it were run as a program
    async with Client(config) as client, asyncio.timeout(50):
        await load(name).run(client)

    assert missing(name, capsys.readouterr().out, config.namespace) == []


@pytest.mark.parametrize("name", ["ipam_blocks_blocking", "stateful_sets_blocking"])
def test_a_blocking_example_says_the_same_on_a_real_server(
    config: ClusterConfig, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    with blocking.Client(config) as client:
        load(name).run(client)

    assert missing(name, capsys.readouterr().out, config.namespace) == []
