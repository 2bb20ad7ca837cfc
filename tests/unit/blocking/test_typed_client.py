"""Classes instead of resources, without ``await``: typed in, typed out, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinform import blocking
from kinform.api import ListOptions
from kinform.client import EventType
from kinform.errors import ConflictError, DecodeError, InvalidNameError, NoMatchError
from kinform.models.apps.v1 import Deployment, DeploymentSpec
from kinform.models.autoscaling.v1 import Scale
from kinform.models.core.v1 import ConfigMap, Container, Node, PodSpec, PodTemplateSpec
from kinform.models.meta.v1 import LabelSelector, ObjectMeta
from kinform.objects import PartialObjectMetadata
from kinform.testing import BlockingApiServer


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    with blocking.Client(kinform_server.config, page_size=2) as client:
        yield client


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels={"app": "web"}), data=data)


def test_an_object_lives_from_create_to_delete(client: blocking.Client) -> None:
    mine = client.create(config_map("a", k="1")).copy()
    mine.data["k"] = "2"
    updated = client.update(mine)
    with pytest.raises(ConflictError):
        client.update(mine)
    patched = client.patch(ConfigMap, "a", {"data": {"l": "3"}})
    found = client.get(ConfigMap, "a")

    assert [type(each) for each in (updated, patched, found)] == [ConfigMap] * 3
    assert found.data == {"k": "2", "l": "3"}
    assert client.delete(ConfigMap, "a") is None


def test_lists_pages_and_watches_are_of_the_class(client: blocking.Client) -> None:
    for name in "abc":
        client.create(config_map(name))
    listed = client.list(ConfigMap, namespace="default", labels={"app": "web"})
    paged = [each for page in client.pages(ConfigMap, namespace="default") for each in page]
    page = client.page(ConfigMap, ListOptions(limit=1), namespace="default")
    with client.watch(ConfigMap, namespace="default", timeout_seconds=1) as watch:
        event = next(watch)

    everything = [*listed, *paged, *page, event.object]
    assert [each.metadata.name for each in everything] == ["a", "b", "c"] * 2 + ["a"] * 2
    assert {type(each) for each in everything} == {ConfigMap}
    assert event.type == EventType.ADDED


def test_a_subresource_has_a_form_of_its_own(client: blocking.Client) -> None:
    labels = {"app": "web"}
    pod = PodSpec(containers=[Container(name="c", image="i")])
    spec = DeploymentSpec(
        selector=LabelSelector(match_labels=labels),
        template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod),
    )
    client.create(Deployment(metadata=ObjectMeta(name="web"), spec=spec))

    scale = client.get(Deployment, "web", subresource="scale", form=Scale).copy()
    scale.spec.replicas = 4
    client.update(scale, resource=Deployment, subresource="scale")

    assert client.get(Deployment, "web").spec.replicas == 4
    with pytest.raises(DecodeError, match="form=Scale"):
        client.get(Deployment, "web", subresource="scale")


def test_mistakes_are_named(client: blocking.Client) -> None:
    with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped"):
        client.list(Node, namespace="x")
    with pytest.raises(InvalidNameError, match="Scale has no resource"):
        client.watch(Scale)


def test_metadata_and_collections_take_a_class(client: blocking.Client) -> None:
    client.create(config_map("a", k="v"))
    client.create(config_map("b", k="v"))
    metadata = client.metadata
    found = [
        metadata.get(ConfigMap, "a"),
        metadata.patch(ConfigMap, "a", {"metadata": {"labels": {"x": "y"}}}),
        *metadata.list(ConfigMap, namespace="default", labels="x=y"),
        *metadata.page(ConfigMap, ListOptions(limit=1), namespace="default"),
        *[each for page in metadata.pages(ConfigMap, namespace="default") for each in page][:1],
    ]
    with metadata.watch(ConfigMap, namespace="default", timeout_seconds=1) as watch:
        found.append(next(watch).object)

    assert [type(each) for each in found] == [PartialObjectMetadata] * 6
    assert {each.name for each in found} == {"a"}
    assert metadata.delete(ConfigMap, "a") is None
    assert [each.name for each in client.list(ConfigMap, namespace="default")] == ["b"]
    metadata.delete_collection(ConfigMap, namespace="default", labels="app=other")
    assert len(client.list(ConfigMap, namespace="default")) == 1
    client.delete_collection(ConfigMap, namespace="default")
    assert not client.list(ConfigMap, namespace="default")
