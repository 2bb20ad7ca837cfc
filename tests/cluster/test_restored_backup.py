"""A real kube-apiserver whose etcd is restored from a backup, under a running informer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from kinform.client import Client
from kinform.informers import DynamicSharedInformerFactory, SharedIndexInformer
from kinform.objects import Unstructured
from tests.cluster.informer_flows import (
    CONFIG_MAPS,
    PATIENCE,
    Line,
    Listener,
    client_in_new_namespace,
    config_map,
    config_of,
    quick,
)
from tests.support.cluster import RealCluster
from tests.support.waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def cluster(real_cluster: RealCluster) -> Iterator[RealCluster]:
    """A cluster for this test alone, because its versions go back."""
    with RealCluster() as cluster:
        yield cluster


@pytest.fixture
async def client(cluster: RealCluster) -> AsyncIterator[Client]:
    async with client_in_new_namespace(cluster) as client:
        yield client


def versions(informer: SharedIndexInformer[Unstructured]) -> dict[str, str]:
    return {obj.name: obj.resource_version for obj in informer.store.list()}


async def listed(client: Client) -> dict[str, str]:
    objects = await client.list(CONFIG_MAPS, namespace=client.namespace)
    return {obj.name: obj.resource_version for obj in objects}


@pytest.mark.timeout(240)  # both servers are restarted twice
async def test_the_informer_has_what_the_restored_server_has(
    client: Client, cluster: RealCluster
) -> None:
    """18.8: There, a watch from a version of the future is silent: it has not even bookmarks."""
    for name in ("same", "changed", "deleted"):
        await client.create(config_map(name))
    # Not in a thread: a server that is started by one ends with it.
    backup = cluster.save()
    listener = Listener()
    async with Line(cluster) as line, Client(line.through(config_of(cluster))) as far:
        factory = DynamicSharedInformerFactory(far, namespace=client.namespace, options=quick())
        informer = factory.for_resource(CONFIG_MAPS).informer
        informer.add_event_handler(listener)
        async with factory:
            await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
            await client.patch(CONFIG_MAPS, "changed", {"data": {"k": "lost"}})
            await client.delete(CONFIG_MAPS, "deleted")
            # More than a server writes while it starts: it must not reach the version again.
            ghosts = [f"ghost-{number}" for number in range(200)]
            for name in ghosts:
                await client.create(config_map(name))
            await wait_until(lambda: len(listener.calls) == 3 + 2 + 200)
            known = informer.last_sync_resource_version
            del listener.calls[:]

            line.cut()
            cluster.restore(backup)
            attempts = informer.sync_status().attempts
            await wait_until(lambda: informer.sync_status().attempts > max(attempts, 1))
            line.mend()
            assert int((await client.list(CONFIG_MAPS)).resource_version) < int(known)
            await wait_until(lambda: len(listener.calls) == 2 + 200, timeout=PATIENCE)
            assert versions(informer) == await listed(client)
            assert sorted(versions(informer)) == ["changed", "deleted", "same"]
            assert informer.status().relists == {"versions went back": 1}

            await client.create(config_map("new"))
            await wait_until(lambda: listener.calls[-1] == "add new")
            assert versions(informer) == await listed(client)
    assert sorted(listener.calls) == sorted(
        ["add deleted", "add new", "update changed", *(f"delete {name} unseen" for name in ghosts)]
    )
    assert not listener.broken_promises
