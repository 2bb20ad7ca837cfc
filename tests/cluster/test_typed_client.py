"""Classes instead of resources, against a real server: what it answers is what they say."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from kinform.api import GVR
from kinform.client import Client, EventType
from kinform.errors import (
    ConflictError,
    DecodeError,
    InvalidError,
    NoMatchError,
    NotFoundError,
)
from kinform.models.apps.v1 import Deployment, DeploymentCondition, DeploymentSpec
from kinform.models.authentication.v1 import TokenRequest, TokenRequestSpec
from kinform.models.autoscaling.v1 import Scale
from kinform.models.core.v1 import (
    ConfigMap,
    Container,
    Namespace,
    Node,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    ServiceAccount,
)
from kinform.models.meta.v1 import DeleteOptions, LabelSelector, ObjectMeta, Status
from kinform.models.policy.v1 import Eviction
from kinform.objects import PartialObjectMetadata, Quantity, TypedObject
from kinform.transport import ClusterConfig, StaticToken
from tests.support.cluster import RealCluster

pytestmark = pytest.mark.cluster


class Gadget(
    TypedObject, group="example.com", version="v1", kind="Gadget", plural="gadgets", namespaced=True
):
    __slots__ = ()


@pytest.fixture
async def client(real_cluster: RealCluster) -> AsyncIterator[Client]:
    """In a namespace of its own, in pages of two."""
    config = ClusterConfig(
        server=real_cluster.url,
        certificate_authority=real_cluster.ca_file,
        credentials=StaticToken(real_cluster.admin_token),
        namespace=f"typed-{uuid.uuid4().hex[:8]}",
    )
    async with Client(config, page_size=2) as client:
        await client.create(Namespace(metadata=ObjectMeta(name=client.namespace)))
        yield client


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels={"app": "web"}), data=data)


def pod_spec() -> PodSpec:
    resources = ResourceRequirements(requests={"cpu": Quantity("250m")})
    return PodSpec(containers=[Container(name="c", image="i", resources=resources)])


def deployment(name: str) -> Deployment:
    labels = {"app": name}
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod_spec())
    selector = LabelSelector(match_labels=labels)
    spec = DeploymentSpec(replicas=2, selector=selector, template=template)
    return Deployment(metadata=ObjectMeta(name=name), spec=spec)


async def test_a_config_map_lives_from_create_to_delete(client: Client) -> None:
    created = await client.create(config_map("a", k="1"), field_validation="Strict")
    read = await client.get(ConfigMap, "a")
    assert read == created
    assert read.metadata.creation_timestamp is not None

    mine = read.copy()
    mine.data["k"] = "2"
    updated = await client.update(mine, field_validation="Strict")
    assert updated.data == {"k": "2"}
    with pytest.raises(ConflictError):
        await client.update(mine)
    patched = await client.patch(ConfigMap, "a", {"data": {"l": "3"}})
    assert patched.data == {"k": "2", "l": "3"}
    assert await client.delete(ConfigMap, "a") is None
    with pytest.raises(NotFoundError):
        await client.get(ConfigMap, "a")


async def test_a_deployment_is_sent_and_read_as_its_class(client: Client) -> None:
    created = await client.create(deployment("web"), field_validation="Strict")

    assert type(created) is Deployment
    assert created.spec.replicas == 2
    (container,) = created.spec.template.spec.containers
    assert container.resources.requests == {"cpu": Quantity("250m")}
    assert created.spec.strategy.type == "RollingUpdate"  # the server's default

    mine = created.copy()
    mine.spec.template.spec.containers[0].image = "j"
    updated = await client.update(mine, field_validation="Strict")
    assert updated.generation == created.generation + 1
    assert updated.spec.template.spec.containers[0].image == "j"


async def test_an_untouched_copy_changes_nothing(client: Client) -> None:
    created = await client.create(deployment("web"))
    mine = created.copy()
    assert mine.spec.replicas == 2
    assert mine.metadata.managed_fields

    updated = await client.update(mine, field_validation="Strict")

    assert updated.resource_version == created.resource_version


async def test_lists_pages_and_watches_are_of_the_class(client: Client) -> None:
    for name in "abc":
        await client.create(config_map(name))
    home = client.namespace
    listed = await client.list(ConfigMap, namespace=home, labels={"app": ["web"]})
    paged = [o async for page in client.pages(ConfigMap, namespace=home) for o in page]
    await client.delete(ConfigMap, "b")
    since = listed.resource_version
    async with client.watch(
        ConfigMap, namespace=home, resource_version=since, timeout_seconds=5
    ) as watch:
        event = await anext(watch)
    await client.delete_collection(ConfigMap, namespace=home, labels="app=web")

    assert [each.metadata.name for each in listed] == ["a", "b", "c"]
    assert {type(each) for each in (*listed, *paged, event.object)} == {ConfigMap}
    assert (event.type, event.object.name) == (EventType.DELETED, "b")
    assert not await client.list(ConfigMap, namespace=home, labels="app=web")
    found = await client.metadata.list(ConfigMap, namespace=home)
    assert {type(each) for each in found} <= {PartialObjectMetadata}


async def test_an_object_is_applied(client: Client) -> None:
    applied = await client.apply(
        deployment("web"), field_manager="first", field_validation="Strict"
    )
    assert type(applied) is Deployment
    other = deployment("web")
    other.spec.replicas = 5
    with pytest.raises(ConflictError, match="first"):
        await client.apply(other, field_manager="second")

    taken = await client.apply(other, field_manager="second", force=True)

    assert taken.spec.replicas == 5
    assert taken.metadata.uid == applied.metadata.uid


async def test_a_status_is_updated(client: Client) -> None:
    mine = (await client.create(deployment("web"))).copy()
    mine.status.replicas = 3
    mine.status.conditions.append(DeploymentCondition(type="Available", status="True"))
    mine.spec.replicas = 9

    updated = await client.update(mine, subresource="status")

    assert updated.status.replicas == 3
    assert [each.type for each in updated.status.conditions] == ["Available"]
    assert updated.spec.replicas == 2  # the rest of it is not looked at


async def test_a_scale_has_a_form_of_its_own(client: Client) -> None:
    await client.create(deployment("web"))
    scale = await client.get(Deployment, "web", subresource="scale", form=Scale)
    mine = scale.copy()
    mine.spec.replicas = 7
    sent = await client.update(mine, resource=Deployment, subresource="scale")
    patched = await client.patch(
        Deployment, "web", {"spec": {"replicas": 8}}, subresource="scale", form=Scale
    )

    assert [type(each) for each in (scale, sent, patched)] == [Scale] * 3
    assert [each.spec.replicas for each in (scale, sent, patched)] == [2, 7, 8]
    with pytest.raises(DecodeError, match=r"autoscaling/v1/Scale, not apps/v1/Deployment; .*form="):
        await client.get(Deployment, "web", subresource="scale")


async def test_a_pod_is_evicted(client: Client) -> None:
    for name in ("a", "b"):
        await client.create(Pod(metadata=ObjectMeta(name=name), spec=pod_spec()))

    def eviction(name: str) -> Eviction:
        options = DeleteOptions(grace_period_seconds=0)
        return Eviction(metadata=ObjectMeta(name=name), delete_options=options)

    sent = await client.create(eviction("a"), resource=Pod, name="a", subresource="eviction")
    said = await client.create(
        eviction("b"), resource=Pod, name="b", subresource="eviction", form=Status
    )

    assert (type(sent), sent.name) == (Eviction, "a")
    assert (type(said), said.status) == (Status, "Success")
    assert not await client.list(Pod, namespace=client.namespace)


async def test_a_token_is_asked_for(client: Client) -> None:
    await client.create(ServiceAccount(metadata=ObjectMeta(name="robot")))

    token = await client.create(
        TokenRequest(spec=TokenRequestSpec(expiration_seconds=3600)),
        resource=ServiceAccount,
        name="robot",
        subresource="token",
    )

    assert type(token) is TokenRequest
    assert token.status.token.count(".") == 2
    assert token.status.expiration_timestamp is not None


async def test_mistakes_are_named(client: Client) -> None:
    with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped"):
        await client.get(Node, "n", namespace=client.namespace)
    with pytest.raises(NoMatchError, match=r"the server has no resource example\.com/v1/gadgets"):
        await client.list(Gadget, namespace=client.namespace)
    with pytest.raises(NoMatchError, match=r"the server has no resource example\.com/v1/gadgets"):
        await client.create(Gadget.from_dict({"metadata": {"name": "a"}}))
    with pytest.raises(NotFoundError, match='namespaces "nowhere" not found'):
        await client.create(config_map("a"), namespace="nowhere")
    with pytest.raises(InvalidError, match=r"spec\.selector"):
        await client.create(Deployment(metadata=ObjectMeta(name="empty")))


async def test_an_edit_changes_nothing_else(client: Client) -> None:
    await client.create(deployment("web"))
    raw = (await client.get(GVR("apps", "v1", "deployments"), "web")).to_dict()
    mine = (await client.get(Deployment, "web")).copy()
    mine.spec.paused = True
    mine.labels["seen"] = "yes"

    updated = (await client.update(mine, dry_run=True)).to_dict()

    raw["spec"]["paused"] = True
    assert updated["spec"] == raw["spec"]
