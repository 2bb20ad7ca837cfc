"""Classes instead of resources: typed in, typed out, on the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kinform.api import GVK, GVR, ListOptions
from kinform.client import (
    Client,
    EventType,
)
from kinform.errors import (
    ConfigError,
    ConflictError,
    DecodeError,
    EncodeError,
    InvalidNameError,
    NoMatchError,
    NotFoundError,
    ReadOnlyError,
)
from kinform.informers import ListWatch
from kinform.models.apps.v1 import Deployment, DeploymentSpec
from kinform.models.authentication.v1 import TokenRequest
from kinform.models.autoscaling.v1 import Scale
from kinform.models.core.v1 import (
    ConfigMap,
    Container,
    Namespace,
    Node,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ServiceAccount,
)
from kinform.models.meta.v1 import LabelSelector, ObjectMeta, Status
from kinform.models.policy.v1 import Eviction
from kinform.objects import Model, Part, PartialObjectMetadata, TypedObject, Unstructured
from kinform.testing import ApiServer
from tests.support.answers import json_answer
from tests.support.memory_transport import MemoryTransport

MAPS = GVR("", "v1", "configmaps")


class GadgetSpec(Model):
    size: int = 0


class Gadget(
    TypedObject, group="example.com", version="v1", kind="Gadget", plural="gadgets", namespaced=True
):
    __slots__ = ()
    metadata: Part[ObjectMeta] = Part("metadata", ObjectMeta, ObjectMeta)
    spec: Part[GadgetSpec] = Part("spec", GadgetSpec, GadgetSpec)


@pytest.fixture
async def cluster(kinform_api: ApiServer) -> AsyncIterator[Client]:
    """Of the embedded server, in pages of two."""
    async with Client(kinform_api.config, page_size=2) as client:
        yield client


def config_map(name: str, *, labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels=labels or {}), data=data)


def deployment(name: str) -> Deployment:
    labels = {"app": name}
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels=labels),
        spec=PodSpec(containers=[Container(name="c", image="i")]),
    )
    return Deployment(
        metadata=ObjectMeta(name=name),
        spec=DeploymentSpec(
            replicas=1, selector=LabelSelector(match_labels=labels), template=template
        ),
    )


# -- reading and writing ---------------------------------------------------------------------


async def test_what_is_created_is_read_as_its_class(cluster: Client) -> None:
    created = await cluster.create(config_map("a", k="v"))
    read = await cluster.get(ConfigMap, "a")

    assert type(created) is type(read) is ConfigMap
    assert read == created
    assert read.metadata.uid
    assert read.data == {"k": "v"}


async def test_a_resource_gives_what_it_always_gave(cluster: Client) -> None:
    await cluster.create(config_map("a", k="v"))

    for resource in (MAPS, GVK("", "v1", "ConfigMap"), ConfigMap.resource):
        assert resource is not None
        read = await cluster.get(resource, "a")
        assert type(read) is Unstructured
        assert read["data"] == {"k": "v"}


async def test_a_built_in_class_needs_no_discovery(cluster: Client, kinform_api: ApiServer) -> None:
    await cluster.create(config_map("a"))
    await cluster.get(ConfigMap, "a")
    await cluster.list(ConfigMap)
    await cluster.delete(ConfigMap, "a")

    assert {request.path for request in kinform_api.requests} == {
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces/default/configmaps/a",
        "/api/v1/configmaps",
    }


async def test_a_list_is_of_the_class_whatever_its_pages(cluster: Client) -> None:
    for name in "abc":
        await cluster.create(config_map(name, labels={"app": "web"}))
    await cluster.create(config_map("other"))

    found = await cluster.list(ConfigMap, namespace="default", labels={"app": "web"})

    assert [type(each) for each in found] == [ConfigMap] * 3
    assert [each.metadata.name for each in found] == ["a", "b", "c"]
    assert found[0].kind == "ConfigMap"


async def test_pages_are_of_the_class(cluster: Client) -> None:
    for name in "abc":
        await cluster.create(config_map(name))

    pages = [page async for page in cluster.pages(ConfigMap, namespace="default")]
    page = await cluster.page(ConfigMap, ListOptions(limit=1), namespace="default")

    assert [len(page) for page in pages] == [2, 1]
    assert {type(each) for page in pages for each in page} == {ConfigMap}
    assert [type(each) for each in page] == [ConfigMap]


async def test_a_watch_gives_the_class(cluster: Client) -> None:
    await cluster.create(config_map("a", k="1"))
    async with cluster.watch(ConfigMap, namespace="default", timeout_seconds=1) as watch:
        first = await anext(watch)
        await cluster.patch(ConfigMap, "a", {"data": {"k": "2"}})
        second = await anext(watch)

    assert (first.type, first.object.data) == (EventType.ADDED, {"k": "1"})
    assert (second.type, second.object.data) == (EventType.MODIFIED, {"k": "2"})
    assert type(second.object) is ConfigMap


async def test_a_patch_gives_the_class(cluster: Client) -> None:
    await cluster.create(config_map("a", k="1"))

    patched = await cluster.patch(ConfigMap, "a", {"data": {"l": "2"}})

    assert type(patched) is ConfigMap
    assert patched.data == {"k": "1", "l": "2"}


async def test_a_patch_can_be_an_object_of_the_class(cluster: Client) -> None:
    await cluster.create(config_map("a", k="1"))

    patched = await cluster.patch(ConfigMap, "a", ConfigMap(data={"l": "2"}))

    assert patched.data == {"k": "1", "l": "2"}


async def test_an_applied_object_comes_back_as_its_class(
    memory: MemoryTransport, client: Client
) -> None:
    path = "/api/v1/namespaces/home/configmaps/a"
    memory.on(path, json_answer(config_map("a", k="v").to_dict()))

    applied = await client.apply(config_map("a", k="v"), field_manager="me", force=True)

    assert type(applied) is ConfigMap
    sent = memory.requests[-1]
    assert sent.headers["Content-Type"] == "application/apply-patch+yaml"
    assert sent.query == {"fieldManager": "me", "force": "true"}


async def test_what_was_deleted_is_none_and_what_lives_on_its_class(cluster: Client) -> None:
    await cluster.create(config_map("a"))
    kept = config_map("kept")
    kept.metadata.finalizers.append("example.com/wait")
    await cluster.create(kept)

    assert await cluster.delete(ConfigMap, "a") is None
    lives_on = await cluster.delete(ConfigMap, "kept")

    assert type(lives_on) is ConfigMap
    assert lives_on.metadata.deletion_timestamp is not None


async def test_a_collection_is_deleted_by_class(cluster: Client) -> None:
    await cluster.create(config_map("a", labels={"app": "web"}))
    await cluster.create(config_map("b"))

    await cluster.delete_collection(ConfigMap, namespace="default", labels="app=web")

    assert [each.name for each in await cluster.list(ConfigMap, namespace="default")] == ["b"]


# -- editing ---------------------------------------------------------------------------------


async def test_a_copy_is_edited_and_sent(cluster: Client) -> None:
    await cluster.create(deployment("web"))
    mine = (await cluster.get(Deployment, "web")).copy()
    mine.spec.replicas = 3
    mine.labels["seen"] = "yes"

    updated = await cluster.update(mine)

    assert updated.spec.replicas == 3
    assert updated.metadata.labels == {"seen": "yes"}
    with pytest.raises(ConflictError):
        await cluster.update(mine)


async def test_what_was_edited_without_a_copy_is_not_sent(
    cluster: Client, kinform_api: ApiServer
) -> None:
    created = await cluster.create(config_map("a", k="1"))
    with pytest.raises(ReadOnlyError, match="copy"):
        created.data["k"] = "2"

    dict.__setitem__(created.data, "k", "2")  # past the refusal
    with pytest.raises(ReadOnlyError, match="copy"):
        await cluster.update(created)
    assert not kinform_api.requests.matching(verb="update")


async def test_a_field_that_the_class_does_not_know_survives_an_update(cluster: Client) -> None:
    await define_gadgets(cluster)
    await cluster.create(
        {
            "apiVersion": "example.com/v1",
            "kind": "Gadget",
            "metadata": {"name": "a"},
            "spec": {"size": 1, "colour": "red"},
            "extra": {"deep": [1, {"er": None}]},
        }
    )
    mine = (await cluster.get(Gadget, "a")).copy()
    mine.spec.size = 2
    await cluster.update(mine)

    read = await cluster.get(GVR("example.com", "v1", "gadgets"), "a")
    assert read["spec"] == {"size": 2, "colour": "red"}
    assert read["extra"]["deep"][0] == 1


async def define_gadgets(cluster: Client) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    await cluster.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "gadgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
                "versions": [version],
            },
        }
    )


# -- subresources ----------------------------------------------------------------------------


async def test_a_status_is_updated_as_the_class(cluster: Client) -> None:
    mine = (await cluster.create(deployment("web"))).copy()
    mine.status.replicas = 2

    updated = await cluster.update(mine, subresource="status")

    assert type(updated) is Deployment
    assert updated.status.replicas == 2


async def test_a_scale_is_read_and_sent_in_a_form_of_its_own(cluster: Client) -> None:
    await cluster.create(deployment("web"))

    scale = await cluster.get(Deployment, "web", subresource="scale", form=Scale)
    assert type(scale) is Scale
    assert scale.spec.replicas == 1
    mine = scale.copy()
    mine.spec.replicas = 5
    sent = await cluster.update(mine, resource=Deployment, subresource="scale")
    patched = await cluster.patch(
        Deployment, "web", {"spec": {"replicas": 6}}, subresource="scale", form=Scale
    )

    assert (type(sent), sent.spec.replicas) == (Scale, 5)
    assert (type(patched), patched.spec.replicas) == (Scale, 6)


async def test_an_answer_of_another_kind_is_not_passed_off_as_the_class(cluster: Client) -> None:
    await cluster.create(deployment("web"))

    with pytest.raises(DecodeError) as caught:
        await cluster.get(Deployment, "web", subresource="scale")
    assert str(caught.value) == (
        "GET /apis/apps/v1/namespaces/default/deployments/web/scale: the response is "
        "autoscaling/v1/Scale, not apps/v1/Deployment; pass form=Scale to read it "
        "(kinform.models.autoscaling.v1.Scale)"
    )


async def test_an_answer_of_an_unknown_kind_can_be_read_unstructured(
    memory: MemoryTransport, client: Client
) -> None:
    path = "/api/v1/namespaces/home/pods/a/odd"
    answer = {"kind": "Odd", "apiVersion": "example.com/v1", "metadata": {"name": "a"}}
    memory.on(path, json_answer(answer))

    with pytest.raises(DecodeError, match=r"com/v1/Odd, not v1/Pod; pass form=Unstructured"):
        await client.get(Pod, "a", subresource="odd")
    memory.on(path, json_answer(answer))
    assert (await client.get(Pod, "a", subresource="odd", form=Unstructured)).kind == "Odd"


async def test_a_bare_success_gives_back_what_was_sent(
    memory: MemoryTransport, client: Client
) -> None:
    path = "/api/v1/namespaces/home/pods/web/eviction"
    done = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    memory.on(path, json_answer(done))
    eviction = Eviction(metadata=ObjectMeta(name="web"))

    sent = await client.create(eviction, resource=Pod, name="web", subresource="eviction")
    assert type(sent) is Eviction
    assert sent == eviction

    memory.on(path, json_answer(done))
    said = await client.create(
        eviction, resource=Pod, name="web", subresource="eviction", form=Status
    )
    assert said.status == "Success"


async def test_a_token_is_asked_for_with_a_class(memory: MemoryTransport, client: Client) -> None:
    answer = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": "robot"},
        "status": {"token": "t0ken", "expirationTimestamp": "2030-01-01T00:00:00Z"},
    }
    memory.on("/api/v1/namespaces/home/serviceaccounts/robot/token", json_answer(answer))

    token = await client.create(
        TokenRequest(), resource=ServiceAccount, name="robot", subresource="token"
    )

    assert token.status.token == "t0ken"


# -- mistakes --------------------------------------------------------------------------------


async def test_a_namespace_for_what_has_none_is_named_before_anything_is_sent(
    memory: MemoryTransport, client: Client
) -> None:
    with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped; omit the"):
        await client.get(Node, "n", namespace="x")
    with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped"):
        await client.list(Node, namespace="x")
    with pytest.raises(NoMatchError, match="v1/namespaces is cluster-scoped"):
        await client.create(Namespace(metadata=ObjectMeta(name="n")), namespace="x")
    assert not memory.requests


@pytest.mark.parametrize("ask", ["get", "list", "watch", "create", "update"])
async def test_a_class_that_the_server_does_not_have_is_explained(
    cluster: Client, ask: str
) -> None:
    asked: dict[str, Callable[[], Any]] = {
        "get": lambda: cluster.get(Gadget, "a"),
        "list": lambda: cluster.list(Gadget),
        "watch": lambda: cluster.watch(Gadget).__aenter__(),
        "create": lambda: cluster.create(Gadget.from_dict({})),
        "update": lambda: cluster.update(Gadget.from_dict({}), name="a"),
    }
    with pytest.raises(NoMatchError, match=r"the server has no resource example.com/v1/gadgets; "):
        await asked[ask]()


async def test_an_object_that_is_not_there_is_just_that(cluster: Client) -> None:
    with pytest.raises(NotFoundError, match='configmaps "a" not found'):
        await cluster.get(ConfigMap, "a")


async def test_a_class_without_a_resource_says_so(client: Client) -> None:
    with pytest.raises(InvalidNameError, match=r"Scale has no resource of its own; .*form=Sc"):
        await client.list(Scale)
    with pytest.raises(NoMatchError, match=r"body of the subresource 'scale'.* pass resource="):
        await client.update(Scale(metadata=ObjectMeta(name="a")), subresource="scale")
    with pytest.raises(NoMatchError, match="pass resource=, name= and"):
        await client.create(Scale(metadata=ObjectMeta(name="a")))


@pytest.mark.parametrize("wrong", [TypedObject, dict, "Scale"])
async def test_what_is_no_form_is_refused(client: Client, wrong: Any) -> None:
    with pytest.raises(ConfigError, match=r"is not a class of objects; .* kinform\.models, Unstr"):
        await client.get(Pod, "a", form=wrong)
    with pytest.raises(ConfigError, match="is not a class of objects"):
        await client.create(Pod(), form=wrong)


async def test_an_object_is_no_class(client: Client) -> None:
    with pytest.raises(InvalidNameError, match=r"is not a resource; .* a model class"):
        await client.get(Pod(), "a")  # type: ignore[call-overload]  # that is the mistake


async def test_metadata_cannot_be_sent_as_a_whole_object(cluster: Client) -> None:
    await cluster.create(config_map("a"))
    with pytest.raises(EncodeError, match="only metadata"):
        await cluster.update(await cluster.metadata.get(ConfigMap, "a"))


# -- views -----------------------------------------------------------------------------------


async def test_to_the_metadata_a_class_is_a_resource(cluster: Client) -> None:
    await cluster.create(config_map("a", k="v"))
    options = ListOptions()

    found = [
        await cluster.metadata.get(ConfigMap, "a"),
        *await cluster.metadata.list(ConfigMap, namespace="default"),
        *await cluster.metadata.page(ConfigMap, options, namespace="default"),
        *[o async for page in cluster.metadata.pages(ConfigMap, namespace="default") for o in page],
        await cluster.metadata.patch(ConfigMap, "a", {"metadata": {"labels": {"x": "y"}}}),
    ]
    async with cluster.metadata.watch(ConfigMap, namespace="default", timeout_seconds=1) as watch:
        found.append((await anext(watch)).object)
    assert await cluster.metadata.delete(ConfigMap, "a") is None
    await cluster.metadata.delete_collection(ConfigMap, namespace="default")

    assert [type(each) for each in found] == [PartialObjectMetadata] * 6
    assert {each.name for each in found} == {"a"}
    assert "data" not in found[-1].to_dict()


async def test_a_view_has_one_form_whatever_it_is_asked_by(cluster: Client) -> None:
    await cluster.create(config_map("a", k="v"))

    maps = cluster.view(ConfigMap)

    assert maps.form is ConfigMap
    assert (await maps.get(MAPS, "a")).data == {"k": "v"}
    assert type(await cluster.view(PartialObjectMetadata).get(MAPS, "a")) is PartialObjectMetadata


async def test_a_source_of_a_class_gives_its_objects(cluster: Client) -> None:
    await cluster.create(config_map("a", k="v"))

    typed = ListWatch.for_resource(cluster, ConfigMap, namespace="default")
    metadata = ListWatch.for_resource(cluster.metadata, ConfigMap, namespace="default")

    assert typed.form is ConfigMap
    assert typed.resource == MAPS
    assert [each.data for each in await typed.page(ListOptions())] == [{"k": "v"}]
    assert [type(o) for o in await metadata.page(ListOptions())] == [PartialObjectMetadata]
    with pytest.raises(InvalidNameError, match="Scale has no resource"):
        ListWatch.for_resource(cluster, Scale)


async def test_a_value_of_another_type_is_named_and_never_sent(
    memory: MemoryTransport, client: Client
) -> None:
    five: Any = 5
    pod = Pod(metadata=ObjectMeta(name="a"), spec=PodSpec(containers=[Container(name=five)]))
    place = r"spec\.containers\[0\]\.name: expected str, got int"
    for send in (client.create, client.update, client.apply):
        with pytest.raises(EncodeError, match=place):
            await send(pod, field_manager="test")
    with pytest.raises(EncodeError, match=place):
        await client.patch(Pod, "a", pod)
    assert memory.requests == []
