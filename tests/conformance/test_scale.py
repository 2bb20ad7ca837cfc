"""The scale subresource of a built-in kind: a small window on its replicas."""

from __future__ import annotations

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    Json,
    Server,
    assert_refused,
    version,
)
from tests.conformance.samples import deployment

pytestmark = IN_BOTH_FORMS


def _scale(namespace: str, replicas: int) -> Json:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {"replicas": replicas},
    }


async def test_scale_shows_wanted_and_actual_replicas_and_the_selector(
    server: Server, deployments: str
) -> None:
    await server.create(deployments, deployment("one", replicas=4))
    stored = await server.edit(f"{deployments}/one/status", {"status": {"replicas": 1}})

    scale = await server.read(f"{deployments}/one/scale")

    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 4}
    assert scale["status"] == {"replicas": 1, "selector": "app=one"}
    of_the_object = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    assert scale["metadata"] == {field: stored["metadata"][field] for field in of_the_object}


async def test_updating_scale_changes_the_spec_and_the_generation(
    server: Server, namespace: str, deployments: str
) -> None:
    created = await server.create(deployments, deployment("one", replicas=1))

    scaled = (await server.put(f"{deployments}/one/scale", _scale(namespace, 7))).object()

    assert scaled["spec"]["replicas"] == 7
    stored = await server.read(f"{deployments}/one")
    assert stored["spec"]["replicas"] == 7
    assert stored["metadata"]["generation"] == 2
    assert version(stored) == version(scaled) > version(created)


async def test_scale_can_be_patched(server: Server, deployments: str) -> None:
    await server.create(deployments, deployment("one", replicas=1))

    scaled = await server.edit(f"{deployments}/one/scale", {"spec": {"replicas": 8}})

    assert scaled["kind"] == "Scale"
    assert (await server.read(f"{deployments}/one"))["spec"]["replicas"] == 8


async def test_scale_locks_optimistically(server: Server, namespace: str, deployments: str) -> None:
    await server.create(deployments, deployment("one", replicas=1))
    stale = _scale(namespace, 7)
    stale["metadata"]["resourceVersion"] = "1"

    assert_refused(await server.put(f"{deployments}/one/scale", stale), 409, "Conflict")


async def test_scale_of_a_missing_object_says_not_found(server: Server, deployments: str) -> None:
    assert_refused(
        await server.get(f"{deployments}/nope/scale"),
        404,
        "NotFound",
        'deployments.apps "nope" not found',
        details={"name": "nope", "group": "apps", "kind": "deployments"},
    )


async def test_a_kind_without_replicas_has_no_scale(server: Server, configmaps: str) -> None:
    assert_refused(
        await server.get(f"{configmaps}/one/scale"),
        404,
        "NotFound",
        "the server could not find the requested resource",
    )
