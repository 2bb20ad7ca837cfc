"""The client against whole servers: the embedded one, and with ``--cluster`` the real one."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from kinform.api import GVK, GVR
from kinform.client import Client, EventType
from kinform.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    MethodNotAllowedError,
    NoMatchError,
    NotFoundError,
    ResourceVersionTooLargeError,
    UnauthorizedError,
)
from kinform.testing import ApiServer
from kinform.transport import ClusterConfig, StaticToken
from tests.support.cluster import RealCluster

CONFIG_MAPS = GVR("", "v1", "configmaps")
DEPLOYMENTS = GVR("apps", "v1", "deployments")
EVENTS = GVR("", "v1", "events")
NAMESPACES = GVR("", "v1", "namespaces")
NODES = GVR("", "v1", "nodes")
PODS = GVR("", "v1", "pods")

ADMIN, STRANGER = "admin-token", "stranger-token"


class Target:
    """A server to talk to, whichever it is."""

    def __init__(self, config: ClusterConfig, server: ApiServer | RealCluster) -> None:
        self.config = config
        self.server = server

    def forget_history(self) -> None:
        self.server.compact()


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.cluster)])
async def target(request: pytest.FixtureRequest) -> AsyncIterator[Target]:
    if request.param == "embedded":
        async with ApiServer(tokens={ADMIN: "admin"}) as api:
            config = replace(api.config, credentials=StaticToken(ADMIN))
            yield Target(config, api)
    else:
        cluster: RealCluster = request.getfixturevalue("real_cluster")
        yield Target(real_config(cluster, cluster.admin_token), cluster)


def real_config(cluster: RealCluster, token: str) -> ClusterConfig:
    return ClusterConfig(
        server=cluster.url, certificate_authority=cluster.ca_file, credentials=StaticToken(token)
    )


@pytest.fixture
async def client(target: Target) -> AsyncIterator[Client]:
    """In a namespace of its own, in pages of two."""
    namespace = f"client-{uuid.uuid4().hex[:8]}"
    config = replace(target.config, namespace=namespace)
    async with Client(config, page_size=2) as client:
        await client.create(
            {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": namespace}}
        )
        yield client


def config_map(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"k": "v"}}


def deployment(name: str) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": name},
        "spec": spec,
    }


def pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}


async def create_config_maps(client: Client, *names: str, **labels: str) -> None:
    for name in names:
        await client.create(config_map(name, **labels))


# -- one object ------------------------------------------------------------------------------


async def test_what_is_created_can_be_read(client: Client) -> None:
    created = await client.create(config_map("a", app="web"))
    assert created.namespace == client.namespace
    assert created.uid
    read = await client.get(CONFIG_MAPS, "a")
    assert read == created
    assert read == await client.get(GVK("", "v1", "ConfigMap"), "a")
    assert read["data"] == {"k": "v"}


async def test_a_name_is_taken_once(client: Client) -> None:
    await client.create(config_map("a"))
    with pytest.raises(AlreadyExistsError) as caught:
        await client.create(config_map("a"))
    assert caught.value.details["name"] == "a"


async def test_a_dry_run_leaves_no_trace(client: Client) -> None:
    answer = await client.create(config_map("a"), dry_run=True)
    assert answer.name == "a"
    with pytest.raises(NotFoundError, match='configmaps "a" not found'):
        await client.get(CONFIG_MAPS, "a")


async def test_a_name_can_be_made_by_the_server(client: Client) -> None:
    obj = config_map("")
    obj["metadata"] = {"generateName": "made-"}
    created = await client.create(obj)
    assert created.name.startswith("made-")


async def test_who_writes_second_gets_a_conflict(client: Client) -> None:
    first = (await client.create(config_map("a"))).copy()
    second = first.copy()
    first["data"] = {"k": "first"}
    updated = await client.update(first)
    assert updated["data"] == {"k": "first"}
    second["data"] = {"k": "second"}
    with pytest.raises(ConflictError):
        await client.update(second)


async def test_patches_of_every_kind_change_the_object(client: Client) -> None:
    await client.create(deployment("d"))
    merged = await client.patch(DEPLOYMENTS, "d", {"metadata": {"labels": {"a": "1"}}})
    assert merged.labels == {"a": "1"}
    operations = [{"op": "replace", "path": "/metadata/labels/a", "value": "2"}]
    patched = await client.patch(DEPLOYMENTS, "d", operations, type="json")
    assert patched.labels == {"a": "2"}
    sidecar = {"containers": [{"name": "sidecar", "image": "i"}]}
    strategic = await client.patch(
        DEPLOYMENTS, "d", {"spec": {"template": {"spec": sidecar}}}, type="strategic"
    )
    containers = strategic.get_path("spec.template.spec.containers")
    assert {container["name"] for container in containers} == {"c", "sidecar"}


async def test_an_invalid_patch_is_refused_with_its_reason(client: Client) -> None:
    await client.create(config_map("a"))
    with pytest.raises(InvalidError):
        await client.patch(
            CONFIG_MAPS, "a", [{"op": "test", "path": "/data/k", "value": "x"}], type="json"
        )
    with pytest.raises(BadRequestError):
        await client.patch(CONFIG_MAPS, "a", {"op": "no list"}, type="json")


async def test_status_is_a_subresource(client: Client) -> None:
    edited = (await client.create(deployment("d"))).copy()
    edited["status"] = {"replicas": 3, "readyReplicas": 3}
    assert not (await client.update(edited)).get_path("status.readyReplicas")
    fresh = (await client.get(DEPLOYMENTS, "d")).copy()
    fresh["status"] = {"replicas": 3, "readyReplicas": 3}
    updated = await client.update(fresh, subresource="status")
    assert updated.get_path("status.readyReplicas") == 3


async def test_scale_is_a_subresource(client: Client) -> None:
    await client.create(deployment("d"))
    scale = (await client.get(DEPLOYMENTS, "d", subresource="scale")).copy()
    assert scale.gvk == GVK("autoscaling", "v1", "Scale")
    scale["spec"] = {"replicas": 5}
    await client.update(scale, resource=DEPLOYMENTS, subresource="scale")
    assert (await client.get(DEPLOYMENTS, "d")).get_path("spec.replicas") == 5
    await client.patch(DEPLOYMENTS, "d", {"spec": {"replicas": 6}}, subresource="scale")
    assert (await client.get(DEPLOYMENTS, "d")).get_path("spec.replicas") == 6


# -- deleting --------------------------------------------------------------------------------


async def test_a_delete_that_is_done_gives_none(client: Client) -> None:
    await client.create(config_map("a"))
    assert await client.delete(CONFIG_MAPS, "a") is None
    with pytest.raises(NotFoundError):
        await client.delete(CONFIG_MAPS, "a")


async def test_a_finalizer_keeps_the_object(client: Client) -> None:
    obj = config_map("a")
    obj["metadata"]["finalizers"] = ["example.com/guard"]
    await client.create(obj)
    left = await client.delete(CONFIG_MAPS, "a")
    assert left is not None
    assert left.deletion_timestamp is not None
    await client.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": None}})
    with pytest.raises(NotFoundError):
        await client.get(CONFIG_MAPS, "a")


async def test_preconditions_protect_another_object_of_the_name(client: Client) -> None:
    created = await client.create(config_map("a"))
    for condition in ({"uid": str(uuid.uuid4())}, {"resource_version": "1"}):
        with pytest.raises(ConflictError):
            await client.delete(CONFIG_MAPS, "a", **condition)  # type: ignore[call-overload]  # one each
    await client.delete(
        CONFIG_MAPS, "a", uid=created.uid, resource_version=created.resource_version
    )


async def test_a_collection_is_deleted_by_selector_in_one_namespace(client: Client) -> None:
    await create_config_maps(client, "a", "b", group="old")
    await create_config_maps(client, "c", group="new")
    await client.delete_collection(CONFIG_MAPS, namespace=client.namespace, labels="group=old")
    found = await client.list(CONFIG_MAPS, namespace=client.namespace, labels="group")
    assert [each.name for each in found] == ["c"]
    with pytest.raises(MethodNotAllowedError, match="pass namespace="):
        await client.delete_collection(CONFIG_MAPS, labels="group=new")


# -- lists -----------------------------------------------------------------------------------


async def test_a_list_comes_in_pages_and_is_one(client: Client) -> None:
    await create_config_maps(client, *"abcde", suite="pages")
    found = await client.list(CONFIG_MAPS, namespace=client.namespace, labels={"suite": "pages"})
    assert [each.name for each in found] == list("abcde")
    assert {each.kind for each in found} == {"ConfigMap"}
    newest = await client.get(CONFIG_MAPS, "e")
    assert int(found.resource_version) >= int(newest.resource_version)


async def test_a_list_can_be_walked_by_hand(client: Client) -> None:
    await create_config_maps(client, *"abc", suite="hand")
    options: dict[str, Any] = {"namespace": client.namespace, "fields": {"metadata.name": "b"}}
    assert [each.name for each in await client.list(CONFIG_MAPS, **options)] == ["b"]
    names: list[str] = []
    token, versions = "", set()
    while True:
        page = await client.list(
            CONFIG_MAPS, namespace=client.namespace, limit=1, continue_token=token
        )
        names += [each.name for each in page if each.labels]
        versions.add(page.resource_version)
        token = page.continue_token
        if not token:
            break
    assert names == ["a", "b", "c"]
    assert len(versions) == 1


async def test_all_namespaces_are_listed_when_none_is_named(client: Client) -> None:
    label = f"all-{uuid.uuid4().hex[:8]}"
    await create_config_maps(client, "a", where=label)
    found = await client.list(CONFIG_MAPS, labels={"where": label})
    assert [each.namespace for each in found] == [client.namespace]


async def test_a_continue_token_can_expire(client: Client, target: Target) -> None:
    for name in "abc":
        await client.create(
            {
                "kind": "Event",
                "apiVersion": "v1",
                "metadata": {"name": name},
                "involvedObject": {"namespace": client.namespace},
            }
        )
    page = await client.list(EVENTS, namespace=client.namespace, limit=1)
    await client.create(config_map("later"))
    target.forget_history()
    with pytest.raises(ExpiredError) as caught:
        await client.list(
            EVENTS, namespace=client.namespace, limit=1, continue_token=page.continue_token
        )
    assert caught.value.continue_token
    rest = await client.list(
        EVENTS,
        namespace=client.namespace,
        limit=5,
        continue_token=caught.value.continue_token,
    )
    assert [each.name for each in rest] == ["b", "c"]


async def test_a_version_not_seen_yet_is_too_large(target: Target) -> None:
    async with Client(target.config, max_retries=0) as client:
        with pytest.raises(ResourceVersionTooLargeError):
            await client.list(
                CONFIG_MAPS,
                limit=1,
                resource_version=str(10**18),
                resource_version_match="NotOlderThan",
            )


# -- watches ---------------------------------------------------------------------------------


async def test_a_watch_follows_a_list(client: Client) -> None:
    await create_config_maps(client, "a")
    found = await client.list(CONFIG_MAPS, namespace=client.namespace)
    async with asyncio.timeout(20):
        async with client.watch(
            CONFIG_MAPS,
            namespace=client.namespace,
            fields="metadata.name!=kube-root-ca.crt",
            resource_version=found.resource_version,
            bookmarks=False,
        ) as watch:
            await client.create(config_map("b"))
            await client.patch(CONFIG_MAPS, "b", {"data": {"k": "é\u0085"}})
            await client.delete(CONFIG_MAPS, "b")
            seen = [await anext(watch) for _ in range(3)]
    assert [event.type for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
    assert {event.object.name for event in seen} == {"b"}
    assert seen[1].object["data"] == {"k": "é\u0085"}


async def test_a_watch_ends_cleanly_when_its_time_is_over(client: Client) -> None:
    async with client.watch(CONFIG_MAPS, namespace=client.namespace, timeout_seconds=1) as watch:
        async with asyncio.timeout(20):
            kinds = [event.type async for event in watch]
    assert set(kinds) <= {EventType.ADDED, EventType.BOOKMARK}


async def test_a_watch_from_a_forgotten_version_has_expired(client: Client, target: Target) -> None:
    event = {"kind": "Event", "apiVersion": "v1", "metadata": {"name": "a"}}
    event["involvedObject"] = {"namespace": client.namespace}
    created = await client.create(event)
    await client.create(config_map("later"))
    target.forget_history()
    with pytest.raises(ExpiredError):
        async with client.watch(
            EVENTS,
            namespace=client.namespace,
            resource_version=str(int(created.resource_version) - 1),
        ) as watch:
            await anext(watch)


async def test_a_refused_request_leaves_a_watch_alone(client: Client) -> None:
    async with client.watch(
        CONFIG_MAPS, namespace=client.namespace, labels="suite=alone", bookmarks=False
    ) as watch:
        for _ in range(3):
            with pytest.raises(NotFoundError):
                await client.get(CONFIG_MAPS, "nobody")
        await create_config_maps(client, "a", suite="alone")
        async with asyncio.timeout(20):
            assert (await anext(watch)).object.name == "a"


# -- metadata --------------------------------------------------------------------------------


async def test_metadata_alone_travels(client: Client) -> None:
    await create_config_maps(client, *"abc", suite="metadata")
    one = await client.metadata.get(CONFIG_MAPS, "a")
    many = await client.metadata.list(
        CONFIG_MAPS, namespace=client.namespace, labels="suite=metadata"
    )
    assert one.kind == "PartialObjectMetadata"
    assert "data" not in one
    assert [each.name for each in many] == ["a", "b", "c"]
    assert not any("data" in each for each in many)
    async with client.metadata.watch(
        CONFIG_MAPS, namespace=client.namespace, labels="suite=metadata"
    ) as watch:
        async with asyncio.timeout(20):
            seen = await anext(watch)
    assert seen.object.kind == "PartialObjectMetadata"
    assert "data" not in seen.object


async def test_metadata_is_changed_and_deleted(client: Client) -> None:
    await create_config_maps(client, "a")
    patched = await client.metadata.patch(
        CONFIG_MAPS, "a", {"metadata": {"annotations": {"note": "x"}}}
    )
    assert patched.annotations == {"note": "x"}
    assert "data" not in patched
    assert (await client.get(CONFIG_MAPS, "a"))["data"] == {"k": "v"}
    assert await client.metadata.delete(CONFIG_MAPS, "a") is None


# -- discovery -------------------------------------------------------------------------------


async def test_discovery_maps_what_there_is(client: Client) -> None:
    nodes = await client.discovery.for_resource(NODES)
    assert (nodes.kind, nodes.namespaced) == ("Node", False)
    deployments = await client.discovery.for_kind(GVK("apps", "v1", "Deployment"))
    assert deployments.gvr == DEPLOYMENTS
    assert {"scale", "status"} <= set(deployments.subresources)
    assert {"get", "list", "watch"} <= deployments.verbs
    assert "deploy" in deployments.short_names


async def test_a_new_kind_is_found(client: Client) -> None:
    await client.discovery.resources()
    group = f"{uuid.uuid4().hex[:8]}.kinform.test"
    gadget = GVK(f"a{group}", "v1", "Gadget")
    with pytest.raises(NoMatchError):
        await client.discovery.for_kind(gadget)
    await client.create(definition_of(gadget))
    async with asyncio.timeout(30):
        while True:
            try:
                found = await client.discovery.for_kind(gadget)
                break
            except NoMatchError:
                await asyncio.sleep(0.05)
    assert found.gvr.resource == "gadgets"
    await client.delete(
        GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
        f"gadgets.{gadget.group}",
    )


def definition_of(gvk: GVK) -> dict[str, Any]:
    plural, singular = f"{gvk.kind.lower()}s", gvk.kind.lower()
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": gvk.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"plural": plural, "singular": singular, "kind": gvk.kind}
    return {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": f"{plural}.{gvk.group}"},
        "spec": {
            "group": gvk.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


@pytest.mark.parametrize(
    ("gvr", "meant"),
    [
        ("v1/pod", "v1/pods"),
        ("v1/deployments", "apps/v1/deployments"),
        ("apps/v1beta1/deployments", "apps/v1/deployments"),
    ],
)
async def test_a_wrong_resource_is_answered_with_the_right_one(
    client: Client, gvr: str, meant: str
) -> None:
    for attempt in (client.get(GVR.parse(gvr), "x"), client.list(GVR.parse(gvr))):
        with pytest.raises(NoMatchError, match=f"did you mean {meant}"):
            await attempt


async def test_a_namespace_for_what_has_none_is_called_so(client: Client) -> None:
    for attempt in (client.list(NODES, namespace="x"), client.get(NODES, "n", namespace="x")):
        with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped"):
            await attempt


# -- who may ---------------------------------------------------------------------------------


async def test_an_unknown_token_is_unauthorized(target: Target) -> None:
    config = replace(target.config, credentials=StaticToken(STRANGER))
    async with Client(config) as client:
        with pytest.raises(UnauthorizedError):
            await client.list(CONFIG_MAPS)
        with pytest.raises(UnauthorizedError):
            async with client.watch(CONFIG_MAPS):
                pass


async def test_the_servers_version_is_told(client: Client) -> None:
    assert (await client.server_version())["major"] == "1"


# -- only the real one -----------------------------------------------------------------------


@pytest.mark.cluster
async def test_who_may_nothing_is_forbidden(real_cluster: RealCluster) -> None:
    async with Client(real_config(real_cluster, real_cluster.nobody_token)) as client:
        with pytest.raises(ForbiddenError, match="cannot list"):
            await client.list(CONFIG_MAPS)
        with pytest.raises(ForbiddenError, match="cannot watch"):
            async with client.watch(CONFIG_MAPS):
                pass


@pytest.mark.cluster
@pytest.mark.parametrize("target", ["real"], indirect=True)
async def test_server_side_apply_creates_changes_and_conflicts(client: Client) -> None:
    applied = await client.apply(config_map("a"), field_manager="me")
    assert applied["data"] == {"k": "v"}
    other = config_map("a")
    other["data"] = {"k": "theirs"}
    with pytest.raises(ConflictError) as caught:
        await client.apply(other, field_manager="them")
    assert caught.value.causes[0]["reason"] == "FieldManagerConflict"
    forced = await client.apply(other, field_manager="them", force=True)
    assert forced["data"] == {"k": "theirs"}


@pytest.mark.cluster
@pytest.mark.parametrize("target", ["real"], indirect=True)
async def test_a_pod_is_bound_and_evicted(client: Client) -> None:
    await client.create(
        {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "default"}}
    )
    await client.create(pod("a"))
    binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "a"}}
    binding["target"] = {"kind": "Node", "apiVersion": "v1", "name": "n1"}
    answer = await client.create(binding, resource=PODS, name="a", subresource="binding")
    assert answer.kind == "Status"
    assert (await client.get(PODS, "a")).get_path("spec.nodeName") == "n1"
    eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "a"}}
    answer = await client.create(eviction, resource=PODS, name="a", subresource="eviction")
    assert answer.kind == "Status"
    assert (await client.get(PODS, "a")).deletion_timestamp is not None


@pytest.mark.cluster
@pytest.mark.parametrize("target", ["real"], indirect=True)
async def test_an_invalid_object_is_told_field_by_field(client: Client) -> None:
    bad = deployment("d")
    bad["spec"]["replicas"] = -1
    with pytest.raises(InvalidError) as caught:
        await client.create(bad)
    assert "spec.replicas" in [cause["field"] for cause in caught.value.causes]
