"""Clients that read from one cache, and write to the server with identities of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from kinform import Cache, Client, ClusterConfig, NotFoundError
from kinform.client import WriteHook
from kinform.controllers import Cluster
from kinform.errors import ConfigError
from kinform.models.core.v1 import ConfigMap, Secret
from kinform.testing import ApiServer
from tests.support.config_maps import config_map


@pytest.fixture
async def root(kinform_api: ApiServer) -> AsyncIterator[Client]:
    async with Client(replace(kinform_api.config, user_agent="root")) as client:
        yield client


@pytest.fixture
async def other(kinform_api: ApiServer) -> AsyncIterator[Client]:
    async with Client(replace(kinform_api.config, user_agent="other")) as client:
        yield client


def _agents(api: ApiServer, verb: str, resource: str) -> list[str]:
    return [
        each.headers["user-agent"] for each in api.requests.matching(verb=verb, resource=resource)
    ]


async def test_writes_go_through_the_other_client_and_reads_through_the_cache(
    kinform_api: ApiServer, root: Client, other: Client
) -> None:
    async with Cache(root) as cache:
        client = cache.client(through=other)
        await client.create(config_map("a"))
        await client.get(ConfigMap, "default/a")

    assert client.live is other
    assert _agents(kinform_api, "create", "configmaps") == ["other"]
    assert set(_agents(kinform_api, "watch", "configmaps")) == {"root"}


async def test_reads_wait_for_writes_of_each_client(root: Client, other: Client) -> None:
    async with Cache(root, kinds=[ConfigMap]) as cache:
        first, second = cache.client(), cache.client(through=other)
        for number in range(20):
            writer, reader = (first, second) if number % 2 else (second, first)
            made = await writer.create(config_map(f"m{number}"))
            for client in (writer, reader):
                found = await client.get(ConfigMap, f"default/m{number}")
                assert found.resource_version == made.resource_version
            await reader.delete(ConfigMap, f"m{number}", namespace="default")
            with pytest.raises(NotFoundError):
                await writer.get(ConfigMap, f"default/m{number}")


async def test_live_kinds_are_read_with_the_other_client(
    kinform_api: ApiServer, root: Client, other: Client
) -> None:
    async with Cache(root, undeclared_reads="live") as cache:
        await cache.client(through=other, live=[Secret]).list(Secret)
        await cache.client(through=other).list(ConfigMap)
        await cache.client().list(ConfigMap)

    assert _agents(kinform_api, "list", "secrets") == ["other"]
    assert _agents(kinform_api, "list", "configmaps") == ["other", "root"]


async def test_writes_are_not_recorded_any_more_after_the_cache_has_stopped(
    root: Client, other: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[str] = []

    def note(name: str, client: Client) -> None:
        remove = client.remove_write_hook

        def remove_and_note(hook: WriteHook) -> None:
            removed.append(name)
            remove(hook)

        monkeypatch.setattr(client, "remove_write_hook", remove_and_note)

    note("root", root)
    note("other", other)
    async with Cache(root) as cache:
        # Asked for twice, recorded once: a hook cannot be added a second time.
        for _ in range(2):
            cache.client(through=other)
            cache.client()
        assert removed == []

    assert sorted(removed) == ["other", "root"]


async def test_a_client_of_another_server_is_refused(root: Client) -> None:
    async with Client(ClusterConfig(server="http://127.0.0.1:9")) as stranger:
        with pytest.raises(ConfigError, match=r"cannot write through a client of http://127.*:9"):
            Cache(root).client(through=stranger)
        with pytest.raises(ConfigError, match="cannot write through"):
            Cluster(stranger, cache=Cache(root))


async def test_clusters_of_several_identities_share_one_cache(
    kinform_api: ApiServer, root: Client, other: Client
) -> None:
    async with Cache(root) as cache:
        cluster = Cluster(other, cache=cache)
        await cluster.client.create(config_map("a"))
        await cluster.client.get(ConfigMap, "default/a")

    assert cluster.live is other
    assert cluster.cache is cache
    assert _agents(kinform_api, "create", "configmaps") == ["other"]
