"""The names of informers in metrics: short, stable, and different."""

from __future__ import annotations

from typing import Any

import pytest

from kinform import GVR, Client
from kinform.informers import (
    DynamicSharedInformerFactory,
    InformerFactory,
    KindOptions,
    ListWatch,
    MetadataSharedInformerFactory,
    ResourceInformer,
    Selectors,
    SharedIndexInformer,
)
from kinform.metrics import NoMetrics
from kinform.objects import Unstructured
from kinform.testing import ApiServer
from tests.support.waiting import wait_until

MAPS = "v1/configmaps"


class Names(NoMetrics):
    def __init__(self) -> None:
        self.started: list[str] = []
        self.lists: set[str] = set()
        self.handlers: set[tuple[str, str]] = set()

    def informer_started(self, informer: str, staleness: Any) -> None:
        self.started.append(informer)

    def list_finished(self, informer: str, duration: float, items: int) -> None:
        self.lists.add(informer)

    def handler_done(self, informer: str, handler: str, ok: bool, seconds: float) -> None:
        self.handlers.add((informer, handler))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "v1/configmaps"),
        ({"labels": "app=web,!internal", "fields": "metadata.name=a"}, "v1/configmaps"),
        ({"namespace": "default"}, "v1/configmaps/default"),
        ({"namespace": ["default", "kube-system"]}, "v1/configmaps"),
    ],
)
async def test_a_name_is_the_resource_and_its_namespace(
    client: Client, options: dict[str, Any], name: str
) -> None:
    """18.28: no sentence with selectors."""
    metrics = Names()
    factory = DynamicSharedInformerFactory(client, metrics=metrics)
    factory.for_resource(MAPS, **options)
    async with factory:
        await factory.wait_for_cache_sync(timeout=20, strict=True)
    assert metrics.started == [name]
    sources = {"v1/configmaps[default]", "v1/configmaps[kube-system]"}
    assert metrics.lists == (sources if isinstance(options.get("namespace"), list) else {name})


async def test_sources_with_several_selectors_are_named_by_namespace(client: Client) -> None:
    """18.28: ``any_of`` adds no selector to the name."""
    metrics = Names()
    selectors = [Selectors(labels="app=web"), Selectors(labels="app=db")]
    factory = DynamicSharedInformerFactory(client, metrics=metrics)
    for namespace in ("", "default"):
        factory.for_resource(MAPS, options=KindOptions(any_of=selectors, namespace=namespace))
    async with factory:
        await factory.wait_for_cache_sync(timeout=20, strict=True)
    assert metrics.lists == {f"{MAPS}[*]", f"{MAPS}/default[default]"}


async def test_informers_of_one_resource_have_different_names(client: Client) -> None:
    """18.28: also those of two factories, if they report to the same metrics."""
    metrics = Names()
    factories: list[InformerFactory[Any]] = [
        DynamicSharedInformerFactory(client, metrics=metrics),
        DynamicSharedInformerFactory(client, metrics=metrics),
        MetadataSharedInformerFactory(client, metrics=metrics),
    ]
    leases: list[ResourceInformer[Any]] = [
        factories[0].for_resource(MAPS),
        factories[0].for_resource(MAPS, labels="app=web"),
        factories[1].for_resource(MAPS),
        factories[2].for_resource(MAPS),
    ]
    single = SharedIndexInformer(ListWatch.for_resource(client, GVR.parse(MAPS)), metrics=metrics)
    mine = SharedIndexInformer(
        ListWatch.for_resource(client, GVR.parse(MAPS)), metrics_name="mine", metrics=metrics
    )
    for factory in factories:
        factory.start()
    async with single, mine:
        for lease in leases:
            await lease.informer.has_synced
    for factory in factories:
        await factory.shutdown()
    expected = ["mine", MAPS, f"{MAPS}#2", f"{MAPS}#3", f"{MAPS}#4", f"{MAPS}:metadata"]
    assert sorted(metrics.started) == expected

    other = DynamicSharedInformerFactory(client, metrics=metrics)
    other.for_resource(MAPS)
    async with other:
        await other.wait_for_cache_sync(timeout=20, strict=True)
    assert metrics.started[-1] == MAPS, "the name of a stopped informer is free again"


async def test_a_handler_is_named_without_its_informer(
    kinform_api: ApiServer, client: Client
) -> None:
    """18.28: the informer has a label of its own; logs keep the full name."""
    metrics = Names()
    metadata = {"name": "a", "namespace": "default"}
    kinform_api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    factory = DynamicSharedInformerFactory(client, metrics=metrics)
    maps = factory.for_resource(MAPS, namespace="default", labels="!internal").informer

    def on_add(obj: Unstructured) -> None: ...

    registrations = [maps.add_event_handler(on_add=on_add, name="mine") for _ in range(2)]
    async with factory:
        await wait_until(lambda: len(metrics.handlers) == 2)
    assert metrics.handlers == {
        ("v1/configmaps/default", "mine"),
        ("v1/configmaps/default", "mine (2)"),
    }
    assert registrations[0].name == "v1/configmaps in default where !internal/mine"
