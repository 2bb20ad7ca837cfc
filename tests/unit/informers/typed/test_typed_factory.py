"""The typed factory: every built-in kind by group, version and resource, and kinds of one's own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from kinform import Client, SharedInformerFactory
from kinform.api import GVR
from kinform.client import gvr_of
from kinform.errors import (
    AlreadyStoppedError,
    ConfigError,
    DecodeError,
    InvalidNameError,
    NoMatchError,
    NotFoundError,
)
from kinform.informers import (
    DeletedObject,
    KindOptions,
    Lister,
    ResourceInformer,
    SharedIndexInformer,
)
from kinform.informers.typed import Groups, accessor
from kinform.models import known_resources, model_for, register
from kinform.models.core.v1 import ConfigMap, Node, Pod, PodExecOptions
from kinform.models.meta import v1 as meta_v1
from kinform.objects import Model, Part, PartialObjectMetadata, TypedObject, Unstructured
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS, config_map
from tests.support.definitions import definition
from tests.support.informer_sources import QUICK, Notes

PODS = GVR("", "v1", "pods")
CLOCKS = GVR("clocks.example.com", "v1", "clocks")
GO_GROUPS = {
    "admissionregistration",
    "apps",
    "autoscaling",
    "batch",
    "certificates",
    "coordination",
    "core",
    "discovery",
    "events",
    "extensions",
    "flowcontrol",
    "internal",
    "networking",
    "node",
    "policy",
    "rbac",
    "resource",
    "scheduling",
    "storage",
}


class ClockSpec(Model):
    zone: str = ""
    hours: int = 12


@register
class Clock(
    TypedObject,
    group=CLOCKS.group,
    version=CLOCKS.version,
    kind="Clock",
    plural=CLOCKS.resource,
    namespaced=True,
):
    __slots__ = ()
    metadata: Part[meta_v1.ObjectMeta] = Part("metadata", meta_v1.ObjectMeta, meta_v1.ObjectMeta)
    spec: Part[ClockSpec] = Part("spec", ClockSpec, ClockSpec)


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def pod(name: str, on: str = "", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "nginx"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": on, "containers": containers, **spec},
    }


@pytest.fixture
async def factory(client: Client) -> AsyncIterator[SharedInformerFactory]:
    factory = SharedInformerFactory(client, options=QUICK)
    yield factory
    await factory.shutdown()


# -- by group, version and resource ----------------------------------------------------------


def members(owner: object, of: type | None = None) -> Iterator[tuple[str, Any]]:
    for name, member in vars(of or type(owner)).items():
        if isinstance(member, property | accessor):
            yield name, getattr(owner, name)


def holds(factory: SharedInformerFactory) -> Iterator[tuple[str, str, str, ResourceInformer[Any]]]:
    """All there are, with the words that lead to them."""
    for group, versions in members(factory, Groups):
        for version, resources in members(versions):
            for name, hold in members(resources):
                yield group, version, name, hold


def test_every_group_that_a_go_factory_has_is_there(factory: SharedInformerFactory) -> None:
    assert {group for group, *_ in holds(factory)} >= GO_GROUPS


def test_every_accessor_leads_to_its_model_and_its_resource(client: Client) -> None:
    factory = SharedInformerFactory(client)
    led = set()
    for group, version, name, hold in holds(factory):
        model = hold.informer.form
        assert isinstance(hold.informer, SharedIndexInformer)
        assert isinstance(hold.lister, Lister)
        assert model_for(hold.resource) is model
        assert gvr_of(model) == hold.resource
        assert hold.resource.version == version
        # Whatever its words, their letters are the plural: daemon_sets.
        assert name.replace("_", "") == hold.resource.resource
        assert hold.resource.group.startswith(group) or group in ("core", "internal")
        led.add(hold.resource)
    assert len(led) == len(factory.informers) > 90
    assert GVR("internal.apiserver.k8s.io", "v1alpha1", "storageversions") in led


def test_every_kind_that_can_be_watched_has_an_accessor(client: Client) -> None:
    reached = {hold.resource for *_, hold in holds(SharedInformerFactory(client))}
    built_in = {known.gvr for known in known_resources() if known.gvr.group != CLOCKS.group}
    # What there is beside them is listed and never watched, or answered and forgotten.
    beside = {gvr.resource for gvr in built_in - reached}
    assert {each for each in beside if not each.endswith("reviews")} == {
        "bindings",
        "componentstatuses",
    }


def test_the_same_accessor_is_the_same_informer(factory: SharedInformerFactory) -> None:
    assert factory.core.v1.nodes.informer is factory.core.v1.nodes.informer
    assert factory.core.v1.nodes.informer is factory.for_model(Node).informer
    assert factory.for_resource("v1/nodes").informer is factory.core.v1.nodes.informer
    assert factory.for_model(Pod, namespace="a").informer is not factory.core.v1.pods.informer


async def test_threads_that_ask_at_once_share_an_informer_and_have_leases_of_their_own(
    factory: SharedInformerFactory,
) -> None:
    found: list[ResourceInformer[Pod]] = []
    ready = threading.Barrier(8)

    def ask() -> None:
        ready.wait()
        found.append(factory.core.v1.pods)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert len({id(lease) for lease in found}) == 8
    assert len({id(lease.informer) for lease in found}) == 1
    for lease in found[1:]:
        lease.release()
    assert len(factory.informers) == 1
    found[0].release()
    assert factory.informers == {}


async def test_a_release_ends_one_callers_lease_and_the_last_one_the_informer(
    kinform_api: ApiServer, factory: SharedInformerFactory
) -> None:
    kinform_api.create(node("node-1"))
    first, other = factory.core.v1.nodes, factory.core.v1.nodes
    factory.start()
    await factory.wait_for_cache_sync(timeout=20)
    first.release()
    first.release()
    assert first.is_released
    assert not other.is_released
    assert other.informer.is_running
    other.release()
    async with asyncio.timeout(20):
        await first.informer.stopped

    second = factory.core.v1.nodes
    assert second.informer is not first.informer
    factory.start()
    assert await factory.wait_for_cache_sync(timeout=20)
    assert [each.name for each in second.lister.list()] == ["node-1"]
    first.release()  # of no effect on its successor
    assert second.informer.is_running


async def test_after_the_shutdown_what_was_held_can_be_read_and_nothing_new_be_asked(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(node("node-1"))
    factory = SharedInformerFactory(client)
    assert factory.core.v1.nodes.lister.list() == []
    async with factory:
        await factory.wait_for_cache_sync(timeout=20)
    assert [each.name for each in factory.core.v1.nodes.lister.list()] == ["node-1"]
    with pytest.raises(AlreadyStoppedError, match="create another factory"):
        _ = factory.core.v1.pods


# -- typed through and through ---------------------------------------------------------------


async def test_handlers_listers_and_indices_get_objects_of_the_model(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(pod("web-0", "node-1"))
    told = Notes()

    def updated(old: Pod, new: Pod) -> None:
        told.write(f"{old.spec.priority} -> {new.spec.priority}")

    def deleted(gone: DeletedObject[Pod]) -> None:
        assert gone.object is not None
        told.write(f"gone from {gone.object.spec.node_name}")

    factory = SharedInformerFactory(client, options=QUICK)
    pods = factory.core.v1.pods
    pods.informer.add_indexers({"node": lambda each: [each.spec.node_name]})
    pods.informer.add_event_handler(
        on_add=lambda each: told.write(f"{type(each).__name__} {each.spec.containers[0].image}"),
        on_update=updated,
        on_delete=deleted,
        filter=lambda each: each.metadata.name == "web-0",
    )
    async with factory:
        assert await factory.wait_for_cache_sync(timeout=20)
        await told.until("Pod nginx")
        kinform_api.create(pod("db-0", "node-2"))
        changed = kinform_api.get(PODS, "web-0", namespace="default")
        changed["spec"]["priority"] = 5
        written = kinform_api.update(changed)
        await pods.informer.wait_for_rv(written["metadata"]["resourceVersion"])

        found = pods.lister.namespace("default").get("web-0")
        assert isinstance(found, Pod)
        assert found.spec.priority == 5
        assert [each.name for each in pods.lister.namespace("default").list()] == ["db-0", "web-0"]
        (there,) = pods.informer.indexer.by_index("node", "node-1")
        assert isinstance(there, Pod)
        assert there.name == "web-0"
        with pytest.raises(NotFoundError, match='pods "default/none" not found in the cache'):
            pods.lister.namespace("default").get("none")
        await client.delete(Pod, "web-0", namespace="default", grace_period=0)
        lines = await told.until("gone from node-1")
        assert lines[:2] == ["Pod nginx", "None -> 5"]


async def test_one_broken_object_disturbs_no_other_and_says_where_it_is_broken(
    kinform_api: ApiServer,
) -> None:
    kinform_api.create(pod("good"))
    # Protobuf has no way to say this; JSON does.
    kinform_api.create(pod("bad", containers=[{"name": "main", "image": 7}]))
    client = Client(kinform_api.config, wire_format="json")
    factory = SharedInformerFactory(client)
    pods = factory.core.v1.pods
    factory.start()
    assert await factory.wait_for_cache_sync(timeout=20)
    bad, good = pods.lister.list()

    with pytest.raises(DecodeError, match=r"bad.*spec\.containers\[0\]\.image: expected str"):
        _ = bad.spec
    assert bad.metadata.name == "bad"
    assert bad.get_path("spec.containers.0.image") == 7
    assert good.spec.containers[0].image == "nginx"
    kinform_api.create(pod("next"))
    told = Notes()
    pods.informer.add_event_handler(on_add=lambda each: told.write(each.name))
    await told.until("next")
    assert pods.informer.quarantine == {}
    await factory.shutdown()
    await client.close()


# -- options ---------------------------------------------------------------------------------


def test_resync_periods_are_said_by_class(client: Client) -> None:
    factory = SharedInformerFactory(
        client,
        30.0,
        by_kind={Pod: KindOptions(resync_period=60.0), "v1/nodes": KindOptions(resync_period=0.0)},
    )

    def period(hold: ResourceInformer[Any]) -> float:
        return hold.informer.add_event_handler(on_add=lambda obj: None).resync_period

    assert period(factory.core.v1.pods) == 60.0
    assert period(factory.core.v1.nodes) == 0.0
    assert period(factory.core.v1.config_maps) == 30.0
    with pytest.raises(InvalidNameError, match="PodExecOptions has no resource"):
        SharedInformerFactory(client, by_kind={PodExecOptions: KindOptions()})


async def test_the_factorys_namespace_is_for_kinds_that_have_namespaces(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(node("node-1"))
    kinform_api.create(pod("web-0"))
    factory = SharedInformerFactory(client, namespace="default")
    nodes, pods = factory.core.v1.nodes, factory.core.v1.pods
    async with factory:
        assert await factory.wait_for_cache_sync(timeout=20)
        assert [each.name for each in nodes.lister.list()] == ["node-1"]
    assert nodes.informer.namespaces == ()
    assert pods.informer.namespaces == ("default",)
    with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped; omit"):
        SharedInformerFactory(client).for_model(Node, namespace="default")


# -- by resource -----------------------------------------------------------------------------


async def test_a_known_resource_is_typed_however_it_is_said(factory: SharedInformerFactory) -> None:
    for said in (PODS, "v1/pods", Pod):
        hold = factory.for_resource(said)
        assert hold.informer is factory.core.v1.pods.informer
        assert hold.informer.form is Pod


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("v1/pod", r"did you mean v1/pods\?"),
        ("apps/v1/statefulset", r"did you mean apps/v1/statefulsets\?"),
        ("apps/v1beta1/deployments", r"did you mean apps/v1/deployments"),
        ("q/v9/zzz", "is the CRD installed"),
    ],
)
def test_a_resource_without_a_model_is_refused_with_the_nearest_names(
    factory: SharedInformerFactory, said: str, meant: str
) -> None:
    with pytest.raises(NoMatchError, match=f"no model for {said}.*{meant}.*form=Unstructured"):
        factory.for_resource(said)
    assert factory.informers == {}


def test_a_kind_without_a_resource_is_refused(factory: SharedInformerFactory) -> None:
    with pytest.raises(InvalidNameError, match="PodExecOptions has no resource"):
        factory.for_model(PodExecOptions)


def test_the_class_of_another_resource_is_refused(factory: SharedInformerFactory) -> None:
    with pytest.raises(ConfigError, match="Node is the class for v1/nodes, not for v1/pods"):
        factory.for_resource("v1/pods", form=Node)
    assert factory.informers == {}


async def test_kinds_without_a_model_are_seen_without_one(
    kinform_api: ApiServer, factory: SharedInformerFactory
) -> None:
    kinform_api.create(definition("gears", "Gear", CLOCKS.group))
    kinform_api.create(
        {"apiVersion": "clocks.example.com/v1", "kind": "Gear", "metadata": {"name": "a"}, "n": 3}
    )
    gears = factory.for_resource("clocks.example.com/v1/gears", form=Unstructured)
    factory.start()
    assert await factory.wait_for_cache_sync(timeout=20)
    assert [each["n"] for each in gears.lister.list()] == [3]


async def test_a_class_of_ones_own_is_as_good_as_a_built_in_one(
    kinform_api: ApiServer, factory: SharedInformerFactory
) -> None:
    kinform_api.create(definition("clocks", "Clock", CLOCKS.group))
    clock = {"apiVersion": "clocks.example.com/v1", "kind": "Clock", "metadata": {"name": "a"}}
    kinform_api.create({**clock, "spec": {"zone": "UTC"}})
    clocks = factory.for_model(Clock)
    assert factory.for_resource(CLOCKS).informer is clocks.informer
    factory.start()
    assert await factory.wait_for_cache_sync(timeout=20)
    (found,) = clocks.lister.list()
    assert isinstance(found, Clock)
    assert (found.spec.zone, found.spec.hours) == ("UTC", 12)


# -- typed, or metadata only -----------------------------------------------------------------


async def test_object_or_metadata_is_typed_where_there_is_a_model_and_asks_for_metadata_elsewhere(
    kinform_api: ApiServer, factory: SharedInformerFactory
) -> None:
    kinform_api.create(definition("gears", "Gear", CLOCKS.group))
    gear = {"apiVersion": "clocks.example.com/v1", "kind": "Gear", "metadata": {"name": "a"}}
    kinform_api.create({**gear, "spec": {"teeth": 12}})
    kinform_api.create(config_map("a"))
    maps = factory.object_or_metadata(MAPS)
    gears = factory.object_or_metadata("clocks.example.com/v1/gears")
    factory.start()
    assert await factory.wait_for_cache_sync(timeout=20)

    assert maps.informer is factory.core.v1.config_maps.informer
    assert [type(each) for each in maps.lister.list()] == [ConfigMap]
    (found,) = gears.lister.list()
    assert isinstance(found, PartialObjectMetadata)
    assert found.key == "default/a"
    assert "spec" not in found
    assert [str(key) for key in factory.informers] == [
        "v1/configmaps",
        "metadata of clocks.example.com/v1/gears",
    ]
    (asked,) = kinform_api.requests.watches("gears")
    assert "PartialObjectMetadata" in asked.headers["accept"]
    (asked,) = kinform_api.requests.watches(MAPS)
    assert "PartialObjectMetadata" not in asked.headers["accept"]
