"""Owners that are known to be gone."""

from __future__ import annotations

from kinform.api import GVR, ApiResource
from kinform.controller_manager.workloads.garbage_collector._absent_owners import AbsentOwners
from kinform.controller_manager.workloads.garbage_collector._graph import Node
from kinform.models.meta.v1 import OwnerReference


def reference(uid: str, api_version: str = "example.com/v1") -> OwnerReference:
    return OwnerReference(api_version=api_version, kind="Widget", name="w", uid=uid)


def test_owner_is_gone_in_its_namespace_only() -> None:
    absent = AbsentOwners()
    absent.add(reference("1"), "web")
    assert absent.has(reference("1"), "web")
    assert absent.has(reference("1", "example.com/v2"), "web")
    assert not absent.has(reference("1"), "other")
    assert not absent.has(reference("2"), "web")


def test_cluster_scoped_owner_is_gone_for_all_namespaces() -> None:
    absent = AbsentOwners()
    absent.add(reference("1"), "")
    assert absent.has(reference("1"), "web")


def test_deleted_object_is_gone() -> None:
    absent = AbsentOwners()
    resource = ApiResource(GVR("example.com", "v1", "widgets"), "Widget", namespaced=True)
    absent.add_deleted(Node(resource=resource, namespace="web", name="w", uid="1"))
    assert absent.has(reference("1"), "web")


def test_oldest_owners_are_forgotten() -> None:
    absent = AbsentOwners(size=2)
    for uid in ("1", "2", "1", "3"):
        absent.add(reference(uid), "web")
    assert [uid for uid in "123" if absent.has(reference(uid), "web")] == ["1", "3"]
