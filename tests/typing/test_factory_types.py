"""The types that checkers infer for factories and informers are those of the results.

``assert_type`` is for the checkers. The tests need no server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, assert_type

import pytest

from kinform import (
    Client,
    ClusterConfig,
    DeletedObject,
    DynamicSharedInformerFactory,
    Indexer,
    Lister,
    MetadataSharedInformerFactory,
    Registration,
    SharedIndexInformer,
    SharedInformerFactory,
    blocking,
    new_informer,
)
from kinform.errors import NotFoundError
from kinform.informers import EventStream, NamespaceLister, ResourceInformer
from kinform.informers.typed import Group, ModelFactory, accessor
from kinform.models.apps.v1 import StatefulSet, StatefulSetSpec
from kinform.models.batch.v1 import CronJob
from kinform.models.core.v1 import Node, Pod, PodSpec
from kinform.models.networking.v1 import Ingress
from kinform.objects import PartialObjectMetadata, TypedObject, Unstructured

F_co = TypeVar("F_co", bound=ModelFactory[Any, Any], covariant=True)

NOWHERE = ClusterConfig(server="http://127.0.0.1:1")


class OwnGroup(Group[F_co]):
    """As `kinform generate` writes it."""

    @accessor
    def nodes(self) -> type[Node]:
        return Node


@pytest.fixture
def client() -> Client:
    return Client(NOWHERE)


@pytest.fixture
def factory(client: Client) -> SharedInformerFactory:
    return SharedInformerFactory(client)


def test_accessors_lead_to_informers_and_listers_of_their_kind(
    factory: SharedInformerFactory,
) -> None:
    nodes = assert_type(factory.core.v1.nodes, ResourceInformer[Node])
    assert assert_type(nodes.informer, SharedIndexInformer[Node]).form is Node
    assert_type(nodes.lister, Lister[Node])
    sets = assert_type(factory.apps.v1.stateful_sets.informer, SharedIndexInformer[StatefulSet])
    assert sets.form is StatefulSet
    assert_type(factory.batch.v1.cron_jobs.lister, Lister[CronJob])
    assert_type(factory.networking.v1.ingresses.informer.indexer, Indexer[Ingress])


def test_a_factory_of_any_type_decides_what_accessors_return(
    factory: SharedInformerFactory, blocking_client: blocking.Client
) -> None:
    class Names:
        def for_model(self, model: type[TypedObject], /) -> str:
            return model.__name__

    assert assert_type(OwnGroup(Names()).nodes, str) == "Node"
    nodes = assert_type(OwnGroup(factory).nodes, ResourceInformer[Node])
    assert nodes.informer is factory.core.v1.nodes.informer
    waiting = OwnGroup(blocking.SharedInformerFactory(blocking_client)).nodes
    assert_type(waiting, blocking.ResourceInformer[Node])
    assert isinstance(waiting, blocking.ResourceInformer)
    OwnGroup("not a factory")  # type: ignore[type-var]
    with pytest.raises(AttributeError, match="cannot be assigned"):
        OwnGroup(factory).nodes = nodes  # type: ignore[assignment]


def test_listers_give_objects_of_their_kind(factory: SharedInformerFactory) -> None:
    pods = factory.core.v1.pods.lister
    with pytest.raises(NotFoundError):
        assert_type(pods.get("default/web-0"), Pod)
    assert assert_type(pods.list("app=web"), list[Pod]) == []
    there = assert_type(pods.namespace("default"), NamespaceLister[Pod])
    assert assert_type([pod.spec for pod in there.list()], list[PodSpec]) == []
    assert assert_type([pod.metadata.name for pod in pods], list[str]) == []


def test_handlers_filters_and_index_functions_receive_objects_of_their_kind(
    factory: SharedInformerFactory,
) -> None:
    sets = factory.apps.v1.stateful_sets.informer

    def updated(old: StatefulSet, new: StatefulSet) -> None:
        assert_type(new.spec, StatefulSetSpec)
        assert_type(old.spec.replicas, int | None)

    def deleted(gone: DeletedObject[StatefulSet]) -> None:
        assert_type(gone.object, StatefulSet | None)

    def of_nodes(node: Node) -> None: ...

    registration = sets.add_event_handler(
        on_add=lambda each: assert_type(each, StatefulSet),
        on_update=updated,
        on_delete=deleted,
        filter=lambda each: assert_type(each, StatefulSet).spec.replicas == 1,
    )
    assert_type(registration, Registration[StatefulSet])
    sets.add_event_handler(on_add=of_nodes)  # type: ignore[arg-type]  # they are not nodes
    sets.add_indexers({"service": lambda each: [assert_type(each, StatefulSet).spec.service_name]})
    assert assert_type(sets.indexer.by_index("service", "web"), list[StatefulSet]) == []
    assert_type(sets.events(), EventStream[StatefulSet]).close()


def test_a_class_determines_the_type_of_the_result(
    factory: SharedInformerFactory, client: Client
) -> None:
    assert_type(factory.for_model(Pod), ResourceInformer[Pod])
    assert_type(factory.for_model(Pod, namespace="a").lister, Lister[Pod])
    assert_type(factory.for_resource("v1/pods"), ResourceInformer[TypedObject])
    assert_type(factory.for_resource("v1/pods", form=Pod), ResourceInformer[Pod])
    tree = assert_type(factory.for_resource(Pod, form=Unstructured), ResourceInformer[Unstructured])
    assert tree.informer.form is Unstructured
    either = assert_type(
        factory.object_or_metadata("v1/pods"),
        ResourceInformer[TypedObject] | ResourceInformer[PartialObjectMetadata],
    )
    assert either.informer.form is Pod

    def build(client: Client, resync_period: float) -> SharedIndexInformer[Node]:
        return new_informer(
            Node, client, indexers={"name": lambda node: [assert_type(node, Node).metadata.name]}
        )

    assert assert_type(factory.informer_for(Node, build), SharedIndexInformer[Node]).form is Node
    assert assert_type(new_informer(Pod, client), SharedIndexInformer[Pod]).form is Pod


def test_dynamic_and_metadata_factories_are_typed(client: Client) -> None:
    dynamic = DynamicSharedInformerFactory(client)
    assert_type(dynamic.for_resource("v1/pods"), ResourceInformer[Unstructured])
    pods = assert_type(dynamic.for_resource(Pod, form=Pod), ResourceInformer[Pod])
    assert pods.informer.form is Pod
    metadata = MetadataSharedInformerFactory(client)
    assert_type(metadata.for_resource(Pod), ResourceInformer[PartialObjectMetadata])


@pytest.fixture
def blocking_client() -> Iterator[blocking.Client]:
    with blocking.Client(NOWHERE) as client:
        yield client


def test_blocking_factories_are_typed(blocking_client: blocking.Client) -> None:
    factory = blocking.SharedInformerFactory(blocking_client)
    nodes = assert_type(factory.core.v1.nodes, blocking.ResourceInformer[Node])
    assert assert_type(nodes.informer, blocking.SharedIndexInformer[Node]).form is Node
    assert_type(nodes.lister, Lister[Node])
    assert_type(nodes.informer.indexer, Indexer[Node])
    assert assert_type(nodes.lister.list(), list[Node]) == []
    sets = factory.apps.v1.stateful_sets
    assert_type([each.spec.replicas for each in sets.lister.list()], list[int | None])
    assert_type(factory.for_model(Pod), blocking.ResourceInformer[Pod])
    assert_type(factory.for_resource("v1/pods", form=Pod).lister, Lister[Pod])

    def build(client: blocking.Client, resync_period: float) -> blocking.SharedIndexInformer[Node]:
        return blocking.new_informer(Node, client)

    built = factory.informer_for(Node, build)
    assert assert_type(built, blocking.SharedIndexInformer[Node]) is nodes.informer
    own = blocking.new_informer(Pod, blocking_client)
    assert assert_type(own, blocking.SharedIndexInformer[Pod]).form is Pod
