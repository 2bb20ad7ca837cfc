"""Typed informers that no accessor makes: built for a factory, or without one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Client, SharedInformerFactory, new_informer
from kinform.api import GVR, ListOptions
from kinform.errors import ConfigError, InvalidNameError, NoMatchError
from kinform.informers import KindOptions, ListWatch, SharedIndexInformer, label_index
from kinform.models.core.v1 import ConfigMap, Node, Pod, PodExecOptions
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK

PODS = GVR("", "v1", "pods")


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


@pytest.fixture
async def factory(client: Client) -> AsyncIterator[SharedInformerFactory]:
    factory = SharedInformerFactory(client, options=QUICK)
    yield factory
    await factory.shutdown()


# -- informers made by others ----------------------------------------------------------------


async def test_informer_for_builds_once_and_the_factory_runs_it(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a", app="web"))
    kinform_api.create(config_map("b", app="db"))
    factory = SharedInformerFactory(
        client, 5.0, by_kind={ConfigMap: KindOptions(resync_period=7.0)}
    )
    built: list[tuple[Client, float]] = []

    def build(client: Client, resync_period: float) -> SharedIndexInformer[ConfigMap]:
        built.append((client, resync_period))
        return new_informer(ConfigMap, client, labels="app=web", resync_period=resync_period)

    informer = factory.informer_for(ConfigMap, build)
    assert factory.informer_for(ConfigMap, build) is informer
    assert factory.core.v1.config_maps.informer is informer
    assert list(factory.informers.values()) == [informer]
    assert built == [(client, 7.0)]
    async with factory:
        assert await factory.wait_for_cache_sync(timeout=20)
        assert [each.name for each in informer.indexer.list()] == ["a"]
        # Who builds an informer counts as a user for good.
        factory.core.v1.config_maps.release()
        assert informer.is_running
    assert informer.is_stopped


def test_who_builds_an_informer_may_ask_the_factory_for_others(
    factory: SharedInformerFactory,
) -> None:
    def build(client: Client, resync_period: float) -> SharedIndexInformer[Pod]:
        assert factory.core.v1.nodes.informer.form is Node
        return new_informer(Pod, client)

    assert factory.informer_for(Pod, build).form is Pod
    assert len(factory.informers) == 2


def test_a_build_that_fails_leaves_nothing_behind(factory: SharedInformerFactory) -> None:
    def fail(client: Client, resync_period: float) -> SharedIndexInformer[Pod]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        factory.informer_for(Pod, fail)
    assert factory.informers == {}


async def test_an_informer_of_another_form_is_seen_as_the_class(
    kinform_api: ApiServer, factory: SharedInformerFactory
) -> None:
    metadata = {"name": "web-0", "namespace": "default"}
    kinform_api.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "node-1"}}
    )

    def build(client: Client, resync_period: float) -> SharedIndexInformer[Any]:
        return SharedIndexInformer(ListWatch.for_resource(client, PODS))

    informer = factory.informer_for(Pod, build)
    factory.start()
    assert await factory.wait_for_cache_sync(timeout=20)
    assert [each.spec.node_name for each in informer.indexer.list()] == ["node-1"]


# -- without a factory -----------------------------------------------------------------------


async def test_an_informer_of_ones_own_takes_namespaces_selectors_and_indexers(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}},
    )
    for name, namespace, app in (
        ("a", "default", "web"),
        ("b", "other", "web"),
        ("c", "other", "db"),
        ("d", "kube-system", "web"),
    ):
        kinform_api.create(config_map(name, namespace, app=app))
    maps = new_informer(
        ConfigMap,
        client,
        namespace=["default", "other"],
        labels={"app": "web"},
        indexers={"app": label_index("app")},
        options=QUICK,
    )
    async with maps, asyncio.timeout(20):
        await maps.has_synced
        assert maps.namespaces == ("default", "other")
        assert maps.indexer.list_keys() == ["default/a", "other/b"]
        assert {type(each) for each in maps.indexer.by_index("app", "web")} == {ConfigMap}
    watched = {each.namespace for each in kinform_api.requests.watches(MAPS)}
    assert watched == {"default", "other"}


async def test_its_tweak_sees_every_request(kinform_api: ApiServer, client: Client) -> None:
    def tweak(options: ListOptions) -> ListOptions:
        return options.replace(label_selector="zone=a")

    for name, zone in (("node-1", "a"), ("node-2", "b")):
        kinform_api.create(node(name, zone=zone))
    nodes = new_informer(Node, client, tweak_list_options=tweak)
    async with nodes, asyncio.timeout(20):
        await nodes.has_synced
        assert [each.name for each in nodes.indexer.list()] == ["node-1"]
    asked = kinform_api.requests.matching(resource="nodes")
    assert {each.query["labelSelector"] for each in asked} == {"zone=a"}


def test_it_is_shared_with_nobody_and_refuses_what_cannot_be_meant(client: Client) -> None:
    factory = SharedInformerFactory(client)
    assert new_informer(Node, client) is not factory.core.v1.nodes.informer
    with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped"):
        new_informer(Node, client, namespace="default")
    with pytest.raises(ConfigError, match="pass non-empty names"):
        new_informer(Pod, client, namespace=["a", ""])
    with pytest.raises(InvalidNameError):
        new_informer(PodExecOptions, client)
