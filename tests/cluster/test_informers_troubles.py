"""Informers against a real kube-apiserver on a bad day: it goes away, forgets, refuses, changes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kinform.api import GVR
from kinform.client import Client
from kinform.errors import (
    ForbiddenError,
    NoMatchError,
    NotFoundError,
    TransportError,
    UnauthorizedError,
)
from kinform.informers import DynamicSharedInformerFactory, Phase, WatchFailure
from kinform.transport import StaticToken, TokenFile
from tests.cluster.informer_flows import (
    CONFIG_MAPS,
    EVENTS,
    PATIENCE,
    SECRETS,
    Line,
    Listener,
    client_in_new_namespace,
    config_map,
    config_of,
    event,
    quick,
)
from tests.support.cluster import RealCluster
from tests.support.waiting import wait_until

pytestmark = pytest.mark.cluster

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
WIDGETS = GVR("informers.example.com", "v1", "widgets")
RBAC = "rbac.authorization.k8s.io"


@pytest.fixture
async def client(real_cluster: RealCluster) -> AsyncIterator[Client]:
    async with client_in_new_namespace(real_cluster) as client:
        yield client


async def test_a_dropped_connection_is_resumed_without_a_list(
    client: Client, real_cluster: RealCluster
) -> None:
    listener, failures = Listener(), list[WatchFailure]()
    await client.create(config_map("a"))
    async with Line(real_cluster) as line, Client(line.through(config_of(real_cluster))) as far:
        factory = DynamicSharedInformerFactory(
            far, namespace=client.namespace, options=quick(), on_watch_error=failures.append
        )
        informer = factory.for_resource(CONFIG_MAPS).informer
        informer.add_event_handler(listener)
        async with factory:
            await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
            line.cut()
            await client.delete(CONFIG_MAPS, "a")
            await client.create(config_map("a"))
            await client.create(config_map("b"))
            await wait_until(lambda: len(failures) > 1)
            line.mend()
            await wait_until(lambda: len(listener.calls) == 4)
            assert not informer.status().relists
    assert listener.calls == ["add a", "delete a", "add a", "add b"]
    assert {failure.phase for failure in failures} == {Phase.WATCHING}
    assert all(isinstance(failure.error, TransportError) for failure in failures)
    assert all(failure.resource_version for failure in failures)


async def test_what_was_missed_behind_a_compaction_is_found_by_a_list(
    client: Client, real_cluster: RealCluster
) -> None:
    listener = Listener()
    for name in "abc":
        await client.create(event(client, name))
    async with Line(real_cluster) as line, Client(line.through(config_of(real_cluster))) as far:
        factory = DynamicSharedInformerFactory(far, namespace=client.namespace, options=quick())
        informer = factory.for_resource(EVENTS).informer
        informer.add_event_handler(listener)
        async with factory:
            await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
            line.cut()
            await client.delete(EVENTS, "a")
            await client.delete(EVENTS, "b")
            await client.create(event(client, "b"))
            await client.patch(EVENTS, "c", {"message": "changed"})
            await client.create(event(client, "d"))
            await asyncio.to_thread(real_cluster.compact)
            line.mend()
            await wait_until(lambda: len(listener.calls) == 8)
            status = informer.status()
    assert sorted(listener.calls[3:]) == [
        *("add b", "add d", "delete a unseen", "delete b unseen", "update c"),
    ]
    assert not listener.broken_promises
    assert status.relists == {"expired": 1}
    assert status.errors["Expired"] >= 1


async def test_a_restarted_server_that_forgot_its_watch_window_is_listed_anew(
    client: Client, real_cluster: RealCluster
) -> None:
    listener = Listener()
    for name in "abc":
        await client.create(config_map(name))
    async with Line(real_cluster) as line, Client(line.through(config_of(real_cluster))) as far:
        factory = DynamicSharedInformerFactory(far, namespace=client.namespace, options=quick())
        informer = factory.for_resource(CONFIG_MAPS).informer
        informer.add_event_handler(listener)
        async with factory:
            await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
            line.cut()
            await client.delete(CONFIG_MAPS, "a")
            await client.create(config_map("d"))
            # Not in a thread: a server that is started by one ends with it.
            real_cluster.restart_apiserver()
            line.mend()
            await wait_until(lambda: len(listener.calls) == 5)
            await client.create(config_map("e"))
            await wait_until(lambda: len(listener.calls) == 6)
            status = informer.status()
    assert sorted(listener.calls[3:5]) == ["add d", "delete a unseen"]
    assert listener.calls[5] == "add e"
    assert status.relists == {"expired": 1}


async def test_a_server_that_dies_under_a_watch_is_waited_for(
    client: Client, real_cluster: RealCluster
) -> None:
    listener = Listener()
    await client.create(config_map("a"))
    async with Line(real_cluster) as line, Client(line.through(config_of(real_cluster))) as far:
        factory = DynamicSharedInformerFactory(far, namespace=client.namespace, options=quick())
        informer = factory.for_resource(CONFIG_MAPS).informer
        informer.add_event_handler(listener)
        async with factory:
            await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
            # With the line up, it would not die before the watch has ended by itself.
            line.cut()
            await asyncio.to_thread(real_cluster.stop_apiserver)
            line.mend()
            attempts = informer.sync_status().attempts
            await wait_until(lambda: informer.sync_status().attempts > attempts)
            status = informer.sync_status()
            assert status.synced
            assert isinstance(status.error, TransportError)
            assert [obj.name for obj in informer.store.list()] == ["a"]
            real_cluster.start_apiserver()
            await client.create(config_map("b"))
            await wait_until(lambda: "add b" in listener.calls)
            assert informer.sync_status().error is None
    assert listener.calls == ["add a", "add b"]


def crd() -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{WIDGETS.group}"},
        "spec": {
            "group": WIDGETS.group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [version],
        },
    }


async def create_widget(client: Client, name: str) -> None:
    """As soon as the server serves them."""
    widget = {
        "apiVersion": f"{WIDGETS.group}/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": client.namespace},
    }
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await client.create(widget, resource=WIDGETS)
            except (NotFoundError, NoMatchError):
                await asyncio.sleep(0.1)
            else:
                return


async def test_a_crd_that_goes_and_comes_back_is_noticed_both_times(client: Client) -> None:
    name = f"widgets.{WIDGETS.group}"
    listener = Listener()
    factory = DynamicSharedInformerFactory(client, namespace=client.namespace, options=quick())
    informer = factory.for_resource(WIDGETS).informer
    informer.add_event_handler(listener)
    async with factory:
        result = await factory.wait_for_cache_sync(timeout=1.0)
        [status] = result.values()
        assert not status
        assert isinstance(status.error, NotFoundError | NoMatchError)
        await client.create(crd())
        await create_widget(client, "a")
        await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
        await wait_until(lambda: listener.calls == ["add a"])

        await client.delete(CRDS, name)
        absent = (NotFoundError, NoMatchError)
        await wait_until(lambda: isinstance(informer.sync_status().error, absent))
        assert informer.sync_status().phase in (Phase.WAITING, Phase.STREAMING, Phase.LISTING)
        await wait_until(lambda: listener.calls[1:] == ["delete a"])

        await client.create(crd())
        try:
            await create_widget(client, "b")
            await wait_until(lambda: listener.calls[2:] == ["add b"])
            assert informer.sync_status().error is None
        finally:
            await client.delete(CRDS, name)
    assert not listener.broken_promises


async def grant(client: Client, subject: dict[str, str], *resources: str) -> None:
    """Let somebody read resources in the client's namespace."""
    name = f"{subject['name']}-{'-'.join(resources)}"
    rules = [{"apiGroups": [""], "resources": [*resources], "verbs": ["list", "watch"]}]
    head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": name}}
    await client.create({**head, "kind": "Role", "rules": rules})
    reference = {"apiGroup": RBAC, "kind": "Role", "name": name}
    binding = {**head, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]}
    await client.create(binding)


async def test_a_forbidden_resource_is_named_and_keeps_no_other_from_syncing(
    client: Client, real_cluster: RealCluster
) -> None:
    nobody = {"kind": "User", "apiGroup": RBAC, "name": "nobody"}
    await grant(client, nobody, "configmaps")
    config = config_of(real_cluster, StaticToken(real_cluster.nobody_token))
    async with Client(config) as limited:
        factory = DynamicSharedInformerFactory(limited, namespace=client.namespace, options=quick())
        allowed = factory.for_resource(CONFIG_MAPS).informer
        forbidden = factory.for_resource(SECRETS).informer
        async with factory:
            async with asyncio.timeout(PATIENCE):
                await allowed.has_synced
            result = await factory.wait_for_cache_sync(timeout=1.0)
            assert not result
            assert result[allowed.name]
            assert list(result.unsynced) == [forbidden.name]
            assert isinstance(result[forbidden.name].error, ForbiddenError)
            assert "secrets" in str(result)
            assert result[forbidden.name].attempts > 0

            await grant(client, nobody, "secrets")
            assert await factory.wait_for_cache_sync(timeout=PATIENCE)


async def new_token(client: Client, account: str) -> str:
    """Of a new account; with the one of that name before it, all its tokens end."""
    accounts = GVR("", "v1", "serviceaccounts")
    head = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}
    with contextlib.suppress(NotFoundError):
        await client.delete(accounts, account)
    await client.create(head)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{client.namespace}/serviceaccounts/{account}/token"
    answer = await client.request(
        "POST",
        path,
        body=json.dumps(request).encode(),
        headers={"Content-Type": "application/json"},
    )
    return str(json.loads(answer)["status"]["token"])


async def test_a_token_that_is_rotated_under_a_watch_is_read_again(
    client: Client, real_cluster: RealCluster, tmp_path: Path
) -> None:
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": str(client.namespace)}
    await grant(client, subject, "configmaps")
    token_file = tmp_path / "token"
    token_file.write_text(await new_token(client, "reader"))
    listener, failures = Listener(), list[WatchFailure]()
    config = replace(config_of(real_cluster), credentials=TokenFile(token_file))
    async with Line(real_cluster) as line, Client(line.through(config)) as reader:
        factory = DynamicSharedInformerFactory(
            reader, namespace=client.namespace, options=quick(), on_watch_error=failures.append
        )
        informer = factory.for_resource(CONFIG_MAPS).informer
        informer.add_event_handler(listener)
        async with factory:
            await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
            fresh = await new_token(client, "reader")
            await client.create(config_map("a"))
            # The old token is no good any more, and the new one is not in the file yet. The
            # server believes in a token for ten seconds after it has seen it.
            async with asyncio.timeout(PATIENCE):
                while not any(isinstance(each.error, UnauthorizedError) for each in failures):
                    line.drop()
                    await asyncio.sleep(0.25)
            await client.create(config_map("b"))
            token_file.write_text(fresh)
            await wait_until(lambda: len(listener.calls) == 2)
            assert not informer.status().relists
    assert listener.calls == ["add a", "add b"]
