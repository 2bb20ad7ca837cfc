"""The little living cluster: its story, and how it takes what others do to it."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from kinform.api import GVR
from kinform.errors import ConfigError
from kinform.testing import ApiServer
from kinform.testing.cluster_life import (
    APPLICATIONS,
    Application,
    ClusterLife,
    realistic_pod,
    realistic_pod_json,
)

NODES = GVR("", "v1", "nodes")
PODS = GVR("", "v1", "pods")
DEPLOYMENTS = GVR("apps", "v1", "deployments")
REPLICA_SETS = GVR("apps", "v1", "replicasets")

WEB = Application("web", "shop", "registry.example/web", 3, "frontend")


def _settled(api: ApiServer, **options: Any) -> ClusterLife:
    life = ClusterLife(api, **options)
    life.populate()
    life.settle()
    return life


def _phases(api: ApiServer) -> Counter[str]:
    return Counter(pod["status"]["phase"] for pod in api.list(PODS))


async def test_a_settled_cluster_runs_what_its_deployments_want(kinform_api: ApiServer) -> None:
    _settled(kinform_api, nodes=3)

    assert len(kinform_api.list(NODES)) == 3
    wanted = sum(app.replicas for app in APPLICATIONS)
    assert _phases(kinform_api) == {"Running": wanted}
    for deployment in kinform_api.list(DEPLOYMENTS):
        assert deployment["status"]["readyReplicas"] == deployment["spec"]["replicas"]


async def test_pods_belong_to_replica_sets_and_these_to_deployments(
    kinform_api: ApiServer,
) -> None:
    _settled(kinform_api, applications=[WEB])

    [deployment] = kinform_api.list(DEPLOYMENTS)
    [replica_set] = kinform_api.list(REPLICA_SETS)
    owners = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in kinform_api.list(PODS)}
    assert owners == {replica_set["metadata"]["uid"]}
    [owner] = replica_set["metadata"]["ownerReferences"]
    assert owner["uid"] == deployment["metadata"]["uid"]
    selector = deployment["spec"]["selector"]["matchLabels"].items()
    assert all(selector <= pod["metadata"]["labels"].items() for pod in kinform_api.list(PODS))


async def _story(seed: int, steps: int) -> list[Any]:
    async with ApiServer() as api:
        life = _settled(api, seed=seed)
        chapters = []
        for _ in range(steps):
            life.step()
            chapters.append(
                [
                    (pod["metadata"]["name"], pod["spec"].get("nodeName"), pod["status"]["phase"])
                    for pod in api.list(PODS)
                ]
            )
        return chapters


async def test_the_same_seed_tells_the_same_story_and_another_seed_another() -> None:
    first, again, other = [await _story(seed, 60) for seed in (1, 1, 2)]

    assert first == again
    assert first != other


async def test_in_half_a_minute_everything_happens_that_can(kinform_api: ApiServer) -> None:
    life = _settled(kinform_api, seed=3)
    tags, wanted, restarts, silent, leaving = set(), set(), 0, 0, 0
    for _ in range(140):
        life.step()
        for deployment in kinform_api.list(DEPLOYMENTS):
            tags.add(deployment["spec"]["template"]["spec"]["containers"][0]["image"])
            wanted.add((deployment["metadata"]["name"], deployment["spec"]["replicas"]))
        for pod in kinform_api.list(PODS):
            leaving += "deletionTimestamp" in pod["metadata"]
            for status in pod["status"].get("containerStatuses", ()):
                restarts = max(restarts, status["restartCount"])
        for node in kinform_api.list(NODES):
            silent += node["status"]["conditions"][0]["status"] != "True"

    assert len(tags) > len(APPLICATIONS), "no rollout"
    assert len(wanted) > len(APPLICATIONS), "nothing was scaled"
    assert restarts >= 1, "nothing crashed"
    assert silent >= 1, "no node went silent"
    assert leaving >= 1, "no pod was seen on its way out"


async def test_a_rolling_update_never_has_less_than_wanted_ready(kinform_api: ApiServer) -> None:
    life = _settled(kinform_api, applications=[WEB])
    [deployment] = kinform_api.list(DEPLOYMENTS)
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/web:2.0"
    kinform_api.update(deployment)
    least = 3
    for _ in range(100):
        life.settle_step()
        ready = kinform_api.list(DEPLOYMENTS)[0]["status"].get("readyReplicas", 0)
        least = min(least, ready)

    images = {pod["spec"]["containers"][0]["image"] for pod in kinform_api.list(PODS)}
    assert images == {"registry.example/web:2.0"}
    assert least == 3


async def test_a_pod_that_someone_deletes_is_replaced(kinform_api: ApiServer) -> None:
    life = _settled(kinform_api, applications=[WEB])
    victim = kinform_api.list(PODS)[0]["metadata"]["name"]

    kinform_api.delete(PODS, victim, "shop")
    for _ in range(40):
        life.settle_step()

    names = {pod["metadata"]["name"] for pod in kinform_api.list(PODS)}
    assert victim not in names
    assert len(names) == 3


async def test_a_deployment_that_someone_deletes_takes_its_pods_along(
    kinform_api: ApiServer,
) -> None:
    life = _settled(kinform_api, applications=[WEB])

    kinform_api.delete(DEPLOYMENTS, "web", "shop")
    for _ in range(40):
        life.settle_step()

    assert kinform_api.list(REPLICA_SETS) == []
    assert kinform_api.list(PODS) == []


async def test_pods_that_others_keep_elsewhere_are_left_alone(kinform_api: ApiServer) -> None:
    kinform_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "load"}})
    kinform_api.load(realistic_pod_json(index, namespace="load") for index in range(3))
    before = kinform_api.list(PODS, "load")

    life = _settled(kinform_api)
    for _ in range(20):
        life.step()

    assert kinform_api.list(PODS, "load") == before


async def test_it_lives_by_itself_until_it_is_cancelled(kinform_api: ApiServer) -> None:
    life = _settled(kinform_api, speed=1000.0)
    before = int(kinform_api.resource_version)
    running = asyncio.create_task(life.run())
    async with asyncio.timeout(30):
        while int(kinform_api.resource_version) < before + 50:  # noqa: ASYNC110 - it is a server
            await asyncio.sleep(0.01)
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"speed": 0.0}, {"speed": -1.0}], ids=str)
async def test_a_cluster_that_cannot_live_is_refused(
    kinform_api: ApiServer, wrong: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ClusterLife(kinform_api, **wrong)


@pytest.mark.parametrize("size", [3_000, 13_000, 100_000])
@pytest.mark.parametrize("index", [0, 7, 99_999])
def test_a_realistic_pod_has_exactly_the_size_that_was_asked_for(index: int, size: int) -> None:
    body = realistic_pod_json(index, size=size, namespace="somewhere")

    assert len(body) == size
    pod = realistic_pod(index, size=size, namespace="somewhere")
    assert msgspec.json.decode(body) == pod
    assert pod["metadata"]["namespace"] == "somewhere"
    assert pod["status"]["phase"] == "Running"


def test_no_two_realistic_pods_share_name_or_address() -> None:
    pods = [realistic_pod(index, size=3_000) for index in range(500)]

    assert len({pod["metadata"]["name"] for pod in pods}) == 500
    assert len({pod["status"]["podIP"] for pod in pods}) == 500
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 100


async def test_a_realistic_pod_is_taken_by_the_server(kinform_api: ApiServer) -> None:
    created = kinform_api.create(realistic_pod(1, namespace="default"))

    assert created["metadata"]["name"] == "load-7d9c-00000001"


def test_a_pod_cannot_be_arbitrarily_small() -> None:
    with pytest.raises(ConfigError, match="at least"):
        realistic_pod(0, size=100)
