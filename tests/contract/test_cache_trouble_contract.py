"""Kinds that are missing and access that is missing, on the embedded and on the real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from kinform import GVK, GVR, Cache, Client, KindOptions, NotFoundError
from kinform.api import ApiResource
from kinform.cache import CachedKindOptions, MissingAccess, NamespaceSelector
from kinform.errors import (
    CacheError,
    CacheSyncError,
    ForbiddenError,
    NoMatchError,
    OutOfScopeError,
)
from kinform.informers import Backoff, ReflectorOptions
from kinform.models.core.v1 import ConfigMap, Secret
from kinform.transport import ClusterConfig, StaticToken
from tests.cluster.informer_flows import Line
from tests.contract.cache_server import CacheServer
from tests.support.cluster import RealCluster
from tests.support.definitions import definition
from tests.support.waiting import wait_until

DEFINITIONS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
RBAC = "rbac.authorization.k8s.io"
MAPS = GVR("", "v1", "configmaps")
SECRETS = GVR("", "v1", "secrets")
QUICK = ReflectorOptions(
    backoff=lambda: Backoff(0.05, cap=0.5), reconnect_backoff=lambda: Backoff(0.05, cap=0.5)
)

real_only = pytest.mark.parametrize("server", ["real"], indirect=True)


# -- kinds -----------------------------------------------------------------------------------------


async def create_when_served(client: Client, resource: GVR, name: str, namespace: str) -> None:
    made = {
        "apiVersion": f"{resource.group}/v1",
        "kind": "Gadget",
        "metadata": {"name": name, "namespace": namespace},
    }
    described = ApiResource(resource, kind="Gadget", namespaced=True)
    async with asyncio.timeout(60):
        while True:
            try:
                await client.create(made, resource=described)
            except (NotFoundError, NoMatchError):
                await asyncio.sleep(0.1)
            else:
                return


async def test_kind_whose_definition_comes_later_goes_and_comes_back(server: CacheServer) -> None:
    """19: a read waits and says why; the kind starts by itself, also after the second creation."""
    namespace = await server.new_namespace()
    gadgets = GVR(f"{server.marker}.example.com", "v1", "gadgets")
    crd = definition("gadgets", "Gadget", gadgets.group)
    name = crd["metadata"]["name"]
    cache = Cache(server.client, namespace=namespace, kinds=[gadgets], options=QUICK)
    cache.index_field(gadgets, "metadata.name")

    async def names() -> list[str]:
        return [each.name for each in await cache.list(gadgets, timeout=60)]

    async def come_to(*expected: str) -> None:
        async with asyncio.timeout(60):
            while await names() != list(expected):  # noqa: ASYNC110  # nothing to await
                await asyncio.sleep(0.05)

    async with cache:
        with pytest.raises(CacheSyncError, match=rf"{gadgets.group}.*gadgets.*"):
            await cache.list(gadgets, timeout=0.5)
        with pytest.raises(CacheSyncError) as missing:
            await cache.get(gadgets, f"{namespace}/a", timeout=0.1)
        assert isinstance(missing.value.__cause__, NoMatchError | NotFoundError)
        waiting = asyncio.ensure_future(names())
        await server.client.create(crd)
        assert await waiting == []
        await create_when_served(server.client, gadgets, "a", namespace)
        await come_to("a")

        await server.client.delete(DEFINITIONS, name)
        await come_to()
        await server.client.create(crd)
        try:
            await create_when_served(server.client, gadgets, "b", namespace)
            await come_to("b")
            found = await cache.list(gadgets, fields={"metadata.name": "b"})
            assert [each.name for each in found] == ["b"]
        finally:
            await server.client.delete(DEFINITIONS, name)


async def test_kind_named_by_gvk_whose_definition_comes_later(server: CacheServer) -> None:
    """19: reads and informers by GVK wait, and say why."""
    namespace = await server.new_namespace()
    gvk = GVK(f"{server.marker}.later.example.com", "v1", "Gadget")
    crd = definition("gadgets", "Gadget", gvk.group)
    async with Cache(server.client, namespace=namespace, options=QUICK) as cache:
        for read in (cache.list(gvk, timeout=0.1), cache.get_informer(gvk, timeout=0.1)):
            with pytest.raises(CacheSyncError, match=rf"{gvk.group}.*no informer") as missing:
                await read
            assert isinstance(missing.value.__cause__, NoMatchError)
        waiting = asyncio.ensure_future(cache.list(gvk, timeout=60))
        await server.client.create(crd)
        try:
            assert list(await waiting) == []
            await create_when_served(server.client, GVR(gvk.group, "v1", "gadgets"), "a", namespace)
            async with asyncio.timeout(60):
                while not await cache.list(gvk):  # noqa: ASYNC110  # nothing to await
                    await asyncio.sleep(0.05)
        finally:
            await server.client.delete(DEFINITIONS, crd["metadata"]["name"])
    with_errors = Cache(server.client, namespace=namespace, undeclared_reads="error")
    async with with_errors:
        with pytest.raises(NoMatchError):
            await with_errors.list(GVK("missing.example.com", "v1", "Gadget"))


# -- access ----------------------------------------------------------------------------------------


class Account:
    """A service account without permissions, and a client of it, whose connections can be ended."""

    def __init__(self, server: CacheServer, client: Client, line: Line, namespace: str) -> None:
        self._admin = server.client
        self._home = namespace
        self.client = client
        self.line = line

    async def allow(self, namespace: str, **verbs: list[str]) -> None:
        """Allow verbs on resources of a namespace."""
        rules = [
            {"apiGroups": [""], "resources": [resource], "verbs": allowed}
            for resource, allowed in verbs.items()
        ]
        head: Mapping[str, Any] = {
            "apiVersion": f"{RBAC}/v1",
            "metadata": {"name": "reader", "namespace": namespace},
        }
        await self._admin.create({**head, "kind": "Role", "rules": rules})
        role = {"apiGroup": RBAC, "kind": "Role", "name": "reader"}
        subject = {"kind": "ServiceAccount", "name": "reader", "namespace": self._home}
        await self._admin.create(
            {**head, "kind": "RoleBinding", "roleRef": role, "subjects": [subject]}
        )

    async def forbid(self, namespace: str) -> None:
        for resource in ("rolebindings", "roles"):
            await self._admin.delete(GVR(RBAC, "v1", resource), "reader", namespace=namespace)


@pytest.fixture
async def account(server: CacheServer, real_cluster: RealCluster) -> AsyncIterator[Account]:
    home = await server.new_namespace()
    head = {"name": "reader", "namespace": home}
    await server.client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": head})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await server.client.request(
        "POST",
        f"/api/v1/namespaces/{home}/serviceaccounts/reader/token",
        body=json.dumps(request).encode(),
        headers={"Content-Type": "application/json"},
    )
    config = ClusterConfig(
        server=real_cluster.url,
        certificate_authority=real_cluster.ca_file,
        credentials=StaticToken(str(json.loads(answer)["status"]["token"])),
    )
    async with Line(real_cluster) as line, Client(line.through(config)) as client:
        yield Account(server, client, line, home)


READ = ["get", "list", "watch"]


@pytest.mark.cluster
@real_only
async def test_user_of_some_namespaces_falls_back_to_them(
    server: CacheServer, account: Account
) -> None:
    """19: all namespaces together are forbidden, so those of the options are cached."""
    first, second, other = [await server.new_namespace() for _ in range(3)]
    for namespace in (first, second, other):
        await server.create_map("a", namespace)
    for namespace in (first, second):
        await account.allow(namespace, configmaps=READ)
    options = CachedKindOptions[ConfigMap](fallback_namespaces=[first, second])
    async with Cache(account.client, by_kind={ConfigMap: options}, options=QUICK) as cache:
        found = await cache.list(ConfigMap, labels={"test": server.marker})
        assert [each.key for each in found] == sorted([f"{first}/a", f"{second}/a"])
        with pytest.raises(OutOfScopeError, match=first):
            await cache.get(ConfigMap, f"{other}/a")
        created = await server.create_map("b", second)
        await cache.caught_up(created.resource_version, ConfigMap, timeout=90)
        assert (await cache.get(ConfigMap, f"{second}/b")).uid == created.uid


@pytest.mark.cluster
@real_only
async def test_field_selector_of_a_namespace_needs_access_to_it_only(
    server: CacheServer, account: Account
) -> None:
    """19: it is requested in the namespace."""
    namespace = await server.new_namespace()
    created = await server.create_map("a", namespace)
    await account.allow(namespace, configmaps=READ)
    selected = KindOptions[ConfigMap](fields={"metadata.namespace": namespace})
    async with Cache(account.client, by_kind={ConfigMap: selected}, options=QUICK) as cache:
        assert (await cache.get(ConfigMap, created.key)).uid == created.uid


@pytest.mark.cluster
@real_only
async def test_preflight_names_the_missing_verbs_of_each_kind(
    server: CacheServer, account: Account
) -> None:
    first, second = [await server.new_namespace() for _ in range(2)]
    await account.allow(first, configmaps=READ, secrets=["list"])
    await account.allow(second, configmaps=["get"])
    cache = Cache(account.client, kinds=[ConfigMap, Secret], namespace=[first, second])
    async with asyncio.timeout(30):  # the server learns about roles a little later
        while len((await cache.preflight()).missing) != 3:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    result = await cache.preflight()
    assert not result
    assert set(result.missing) == {
        MissingAccess(SECRETS, first, ("watch",)),
        MissingAccess(MAPS, second, ("list", "watch")),
        MissingAccess(SECRETS, second, ("list", "watch")),
    }
    with pytest.raises(CacheError, match=f"list and watch v1/configmaps in namespace {second}"):
        result.raise_for_missing()
    everywhere = MissingAccess(MAPS, "", ("list", "watch"))
    for cache in (
        Cache(account.client, kinds=[ConfigMap]),
        Cache(account.client, by_kind={ConfigMap: KindOptions()}),
    ):
        assert (await cache.preflight()).missing == (everywhere,)
    followed = Cache(account.client, kinds=[ConfigMap], namespace=NamespaceSelector("team=web"))
    assert (await followed.preflight()).missing == (
        MissingAccess(GVR("", "v1", "namespaces"), "", ("list", "watch")),
    )


@pytest.mark.cluster
@real_only
async def test_revoked_access_keeps_serving_and_recovers(
    server: CacheServer, account: Account
) -> None:
    """19: reads go on with what is known, the staleness grows, and the status has the reason."""
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    await account.allow(namespace, configmaps=READ)
    async with Cache(account.client, namespace=namespace, options=QUICK) as cache:
        assert (await cache.get(ConfigMap, f"{namespace}/a")).name == "a"
        informer = await cache.get_informer(ConfigMap)
        await account.forbid(namespace)
        async with asyncio.timeout(50):
            # The server checks permissions when a watch is opened, and learns of them a bit later.
            while not isinstance(informer.sync_status().error, ForbiddenError):
                account.line.drop()
                await asyncio.sleep(0.5)
        before = informer.staleness
        assert before is not None
        await server.create_map("b", namespace)
        await wait_until(lambda: (informer.staleness or 0.0) > before + 1)
        found = await cache.list(ConfigMap, labels={"test": server.marker})
        assert [each.name for each in found] == ["a"]
        assert "forbidden" in str(informer.sync_status()).lower()
        assert not informer.is_fresh(before + 0.5)

        await account.allow(namespace, configmaps=READ)
        await wait_until(lambda: len(cache.peek(ConfigMap).list(labels="test")) == 2, timeout=50)
        assert informer.sync_status().error is None
