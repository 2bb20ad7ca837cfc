"""Namespaces: born active, deleted in two steps, and closed to newcomers in between."""

from __future__ import annotations

import secrets

import pytest

from tests.conformance.harness import Server, assert_refused, told
from tests.conformance.samples import config_map, finalized

NAMESPACES = "/api/v1/namespaces"


async def test_a_namespace_is_born_active_with_label_and_finalizer(server: Server) -> None:
    name = f"conformance-{secrets.token_hex(4)}"

    created = await server.create(NAMESPACES, {"metadata": {"name": name}})

    assert created["kind"] == "Namespace"
    assert created["status"] == {"phase": "Active"}
    assert created["spec"] == {"finalizers": ["kubernetes"]}
    assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
    assert "namespace" not in created["metadata"]


async def test_the_name_label_is_there_beside_ones_own(server: Server) -> None:
    name = f"conformance-{secrets.token_hex(4)}"

    created = await server.create(NAMESPACES, {"metadata": {"name": name, "labels": {"a": "b"}}})

    assert created["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": name}


async def test_a_generated_name_is_in_the_label_too(server: Server) -> None:
    created = await server.create(NAMESPACES, {"metadata": {"generateName": "conformance-"}})

    labels = created["metadata"]["labels"]
    assert labels == {"kubernetes.io/metadata.name": created["metadata"]["name"]}


async def test_a_name_with_a_dot_is_invalid(server: Server) -> None:
    answer = await server.post(NAMESPACES, {"metadata": {"name": "with.dot"}})

    status = assert_refused(answer, 422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "metadata.name"


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease"])
async def test_some_namespaces_are_always_there(server: Server, name: str) -> None:
    assert (await server.read(f"{NAMESPACES}/{name}"))["status"]["phase"] == "Active"


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_cannot_be_deleted(server: Server, name: str) -> None:
    assert_refused(
        await server.delete(f"{NAMESPACES}/{name}"),
        403,
        "Forbidden",
        f'namespaces "{name}" is forbidden: this namespace may not be deleted',
        details={"name": name, "kind": "namespaces"},
    )


async def test_deleting_answers_the_namespace_as_terminating(
    server: Server, namespace: str, configmaps: str
) -> None:
    # Held by its content, so that it cannot be gone before it is seen.
    await server.create(configmaps, finalized("held"))

    deleted = (await server.delete(f"{NAMESPACES}/{namespace}")).object()

    assert deleted["kind"] == "Namespace"
    assert deleted["status"]["phase"] == "Terminating"
    assert deleted["metadata"]["deletionTimestamp"]
    found = await server.read(f"{NAMESPACES}/{namespace}")
    assert found["status"]["phase"] == "Terminating"


async def test_nothing_can_be_created_in_a_terminating_namespace(
    server: Server, namespace: str, configmaps: str
) -> None:
    await server.create(configmaps, finalized("held"))
    await server.delete(f"{NAMESPACES}/{namespace}")

    assert_refused(
        await server.post(configmaps, config_map("late")),
        403,
        "Forbidden",
        'configmaps "late" is forbidden: unable to create new content in namespace '
        f"{namespace} because it is being terminated",
        details={
            "name": "late",
            "kind": "configmaps",
            "causes": [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {namespace} is being terminated",
                    "field": "metadata.namespace",
                }
            ],
        },
    )


async def test_what_is_in_a_terminating_namespace_can_still_be_edited(
    server: Server, namespace: str, configmaps: str
) -> None:
    await server.create(configmaps, finalized("held"))
    await server.delete(f"{NAMESPACES}/{namespace}")

    edited = await server.edit(f"{configmaps}/held", {"data": {"key": "value"}})

    assert edited["data"] == {"key": "value"}


async def test_finalizing_an_empty_terminating_namespace_removes_it(
    server: Server, namespace: str
) -> None:
    # A server with a namespace controller does this by itself, at once.
    path = f"{NAMESPACES}/{namespace}"
    await server.delete(path)

    done = {"metadata": {"name": namespace}, "spec": {"finalizers": []}}
    answer = await server.put(f"{path}/finalize", done)

    assert answer.status in (200, 404), answer.body
    assert_refused(await server.get(path), 404, "NotFound")


async def test_namespaces_can_be_watched(server: Server) -> None:
    start = (await server.read(NAMESPACES))["metadata"]["resourceVersion"]

    async with server.watch(NAMESPACES, resourceVersion=start) as watch:
        name = await server.new_namespace()
        added = await watch.event()
        while told(added)[1] != name:  # Other tests may have left some on their way out.
            added = await watch.event()

    assert told(added) == ("ADDED", name)
