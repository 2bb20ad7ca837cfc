"""The graph of owners: which objects are worth a look after each change."""

from __future__ import annotations

from typing import Any

from kinform.api import GVR, ApiResource
from kinform.controller_manager.workloads.garbage_collector._graph import Graph, Node, Work
from kinform.models.meta.v1 import OwnerReference
from kinform.objects import PartialObjectMetadata

MAPS = ApiResource(GVR("", "v1", "configmaps"), "ConfigMap", namespaced=True)
ROLES = ApiResource(
    GVR("rbac.authorization.k8s.io", "v1", "clusterroles"), "ClusterRole", namespaced=False
)


def node(name: str, *owners: OwnerReference, namespace: str = "web", **state: Any) -> Node:
    return Node(
        resource=MAPS, namespace=namespace, name=name, uid=f"uid-{name}", owners=owners, **state
    )


def reference(name: str, *, blocks: bool = False, **changes: Any) -> OwnerReference:
    fields = {"api_version": "v1", "kind": "ConfigMap", "name": name, "uid": f"uid-{name}"}
    return OwnerReference(**{**fields, "block_owner_deletion": blocks or None, **changes})


def test_state_of_an_object_is_read_from_its_metadata() -> None:
    obj = PartialObjectMetadata(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "a",
                "namespace": "web",
                "uid": "uid-a",
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "finalizers": ["foregroundDeletion"],
                "ownerReferences": [reference("b").to_dict()],
            },
        }
    )
    found = Node.of(MAPS, obj)
    assert found == node("a", reference("b"), is_deleted=True, is_waiting=True)


def test_finalizers_count_only_after_a_deletion() -> None:
    metadata = {"name": "a", "namespace": "web", "uid": "uid-a", "finalizers": ["orphan"]}
    obj = PartialObjectMetadata({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    assert Node.of(MAPS, obj) == node("a")


def test_object_with_a_known_owner_causes_no_work() -> None:
    graph = Graph()
    assert graph.put(node("a")) == []
    assert graph.put(node("b", reference("a"))) == []


def test_object_with_an_unknown_owner_is_looked_at() -> None:
    assert Graph().put(node("b", reference("a"))) == [Work("uid-b")]


def test_owner_in_another_namespace_is_in_doubt() -> None:
    graph = Graph()
    graph.put(node("a", namespace="other"))
    assert graph.put(node("b", reference("a"))) == [Work("uid-b")]


def test_owner_of_another_kind_or_name_is_in_doubt() -> None:
    graph = Graph()
    graph.put(node("a"))
    assert graph.is_in_doubt(node("b", reference("a", kind="Secret")))
    assert graph.is_in_doubt(node("b", reference("z", uid="uid-a")))
    assert graph.is_in_doubt(node("b", reference("a", api_version="too/many/parts")))
    assert not graph.is_in_doubt(node("b", reference("a")))


def test_cluster_scoped_owner_of_an_object_in_a_namespace_is_fine() -> None:
    graph = Graph()
    graph.put(Node(resource=ROLES, namespace="", name="r", uid="uid-r"))
    owner = reference("r", api_version="rbac.authorization.k8s.io/v1", kind="ClusterRole")
    assert graph.put(node("b", owner)) == []


def test_dependents_of_a_removed_object_are_looked_at() -> None:
    graph = Graph()
    graph.put(node("a"))
    graph.put(node("b", reference("a")))
    graph.put(node("c", reference("a")))
    assert graph.remove("uid-a") == [Work("uid-b"), Work("uid-c")]
    assert graph.remove("uid-a") == []


def test_dependents_are_known_before_their_owner() -> None:
    graph = Graph()
    graph.put(node("b", reference("a")))
    graph.put(node("a"))
    assert [each.name for each in graph.dependents("uid-a")] == ["b"]


def test_foreground_deletion_puts_the_object_and_its_dependents_forward_once() -> None:
    graph = Graph()
    graph.put(node("a"))
    graph.put(node("b", reference("a")))
    waiting = node("a", is_deleted=True, is_waiting=True)
    assert graph.put(waiting) == [Work("uid-a"), Work("uid-b")]
    assert graph.put(waiting) == []


def test_waiting_owner_is_looked_at_when_a_dependent_goes_or_stops_blocking() -> None:
    graph = Graph()
    graph.put(node("b", reference("a", blocks=True)))
    graph.put(node("c", reference("a", blocks=True)))
    graph.put(node("a", is_deleted=True, is_waiting=True))
    assert [each.name for each in graph.blocking("uid-a")] == ["b", "c"]
    assert Work("uid-a") in graph.put(node("b", reference("a")))
    assert [each.name for each in graph.blocking("uid-a")] == ["c"]
    assert graph.remove("uid-c") == [Work("uid-a")]
    assert graph.blocking("uid-a") == []


def test_orphaning_object_is_put_forward_once() -> None:
    graph = Graph()
    orphaning = node("a", is_deleted=True, is_orphaning=True)
    assert graph.put(orphaning) == [Work("uid-a", is_orphaning=True)]
    assert graph.put(orphaning) == []


def test_nothing_is_kept_of_removed_objects() -> None:
    graph = Graph()
    graph.put(node("a"))
    graph.put(node("b", reference("a"), reference("z")))
    graph.remove("uid-b")
    graph.remove("uid-a")
    assert len(graph) == 0
    assert graph.dependents("uid-a") == graph.dependents("uid-z") == []
