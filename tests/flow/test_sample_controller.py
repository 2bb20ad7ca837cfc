"""The sample controller on the embedded server, killed at random points."""

from __future__ import annotations

import random

import pytest

from kinform import Client
from kinform.testing import ApiServer
from tests.support.sample_kills import DEFINITION, check, run_with_kills


@pytest.mark.timeout(240)
async def test_killed_controller_reaches_the_right_end() -> None:
    """500 objects: no Deployment is missing, without an owner, or was created twice."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    async with ApiServer() as server, Client(server.config) as client:
        server.create(DEFINITION)
        outcome = await run_with_kills(
            client, server.kubeconfig(), "default", objects=500, kills=4, seed=seed
        )
        created = [
            request
            for request in server.requests.matching(verb="create", resource="deployments")
            if request.status == 201
        ]
    check(outcome)
    assert len(created) == len(outcome.deployments)
