"""The sample controller on a real API server, killed at random points, and what it deploys."""

from __future__ import annotations

import random
import uuid
from pathlib import Path

import pytest
import yaml

from kinform import Client, ClusterConfig
from kinform.transport import StaticToken
from tests.support.cluster import RealCluster
from tests.support.sample_kills import DEFINITION, ROOT, check, run_with_kills

pytestmark = pytest.mark.cluster

CRDS = "apiextensions.k8s.io/v1/customresourcedefinitions"


def _admin(real_cluster: RealCluster) -> ClusterConfig:
    return ClusterConfig(
        server=real_cluster.url,
        certificate_authority=real_cluster.ca_file,
        credentials=StaticToken(real_cluster.admin_token),
    )


@pytest.mark.timeout(300)
async def test_killed_controller_reaches_the_right_end(real_cluster: RealCluster) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    namespace = f"foos-{uuid.uuid4().hex[:8]}"
    async with Client(_admin(real_cluster)) as client:
        await client.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        )
        await client.create(DEFINITION)
        try:
            outcome = await run_with_kills(
                client, Path(real_cluster.kubeconfig), namespace, objects=500, kills=4, seed=seed
            )
        finally:
            await client.delete(CRDS, DEFINITION["metadata"]["name"])
    check(outcome)


async def test_yaml_of_the_deployment_is_accepted(real_cluster: RealCluster) -> None:
    text = (ROOT / "examples/sample_controller/deploy.yaml").read_text("utf-8")
    async with Client(_admin(real_cluster)) as client:
        for document in yaml.safe_load_all(text):
            await client.create(document, dry_run=True, field_validation="Strict")
