"""Replacing objects: optimistic locking, no-ops, generations, and who may write status."""

from __future__ import annotations

import copy

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    Server,
    assert_refused,
    told,
    version,
)
from tests.conformance.samples import config_map, deployment, lease

pytestmark = IN_BOTH_FORMS


async def test_update_replaces_the_content_and_moves_the_version(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one", old="1"))
    created["data"] = {"new": "2"}

    updated = (await server.put(f"{configmaps}/one", created)).object()

    assert updated["data"] == {"new": "2"}
    assert version(updated) > version(created)
    assert await server.read(f"{configmaps}/one") == updated


async def test_update_keeps_what_identifies_the_object(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one"))
    body = config_map("one", key="value")
    body["metadata"] |= {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 5}

    updated = (await server.put(f"{configmaps}/one", body)).object()

    assert updated["metadata"]["uid"] == created["metadata"]["uid"]
    assert updated["metadata"]["creationTimestamp"] == created["metadata"]["creationTimestamp"]


async def test_update_with_a_stale_version_is_a_conflict(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one"))
    await server.edit(f"{configmaps}/one", {"data": {"by": "another"}})

    answer = await server.put(f"{configmaps}/one", {**created, "data": {"by": "me"}})

    assert_refused(
        answer,
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "one": the object has been modified; '
        "please apply your changes to the latest version and try again",
        details={"name": "one", "kind": "configmaps"},
    )
    assert (await server.read(f"{configmaps}/one"))["data"] == {"by": "another"}


async def test_update_without_a_version_overwrites_where_the_kind_allows_it(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, config_map("one", key="old"))

    updated = (await server.put(f"{configmaps}/one", config_map("one", key="new"))).object()

    assert updated["data"] == {"key": "new"}


async def test_update_without_a_version_is_invalid_where_the_kind_forbids_it(
    server: Server, namespace: str
) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    await server.create(leases, lease("one"))

    answer = await server.put(f"{leases}/one", lease("one"))

    problem = "Invalid value: 0: must be specified for an update"
    field = "metadata.resourceVersion"
    assert_refused(
        answer,
        422,
        "Invalid",
        f'leases.coordination.k8s.io "one" is invalid: {field}: {problem}',
        details={
            "name": "one",
            "group": "coordination.k8s.io",
            "kind": "leases",
            "causes": [{"reason": "FieldValueInvalid", "message": problem, "field": field}],
        },
    )


async def test_an_update_that_changes_nothing_keeps_the_version(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one", key="value"))

    updated = (await server.put(f"{configmaps}/one", created)).object()

    assert updated == created


async def test_an_update_that_changes_nothing_is_no_event(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one", key="value"))
    start = created["metadata"]["resourceVersion"]

    async with server.watch(configmaps, resourceVersion=start) as watch:
        (await server.put(f"{configmaps}/one", created)).object()
        await server.create(configmaps, config_map("two"))

        assert told(await watch.event()) == ("ADDED", "two")


async def test_update_of_a_missing_object_says_not_found(server: Server, configmaps: str) -> None:
    assert_refused(
        await server.put(f"{configmaps}/nope", config_map("nope")),
        404,
        "NotFound",
        'configmaps "nope" not found',
        details={"name": "nope", "kind": "configmaps"},
    )


async def test_update_of_a_missing_object_with_a_version_says_not_found_too(
    server: Server, configmaps: str
) -> None:
    body = config_map("nope")
    body["metadata"]["resourceVersion"] = "5"

    assert_refused(await server.put(f"{configmaps}/nope", body), 404, "NotFound")


async def test_update_with_another_uid_is_a_conflict(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one"))
    body = config_map("one", key="value")
    body["metadata"]["uid"] = "of-its-predecessor"

    status = assert_refused(await server.put(f"{configmaps}/one", body), 409, "Conflict")

    assert "Precondition failed: UID in precondition: of-its-predecessor" in status["message"]
    assert created["metadata"]["uid"] in status["message"]


async def test_update_under_another_name_is_a_bad_request(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    assert_refused(
        await server.put(f"{configmaps}/one", config_map("two")),
        400,
        "BadRequest",
        "the name of the object (two) does not match the name on the URL (one)",
    )


async def test_update_without_a_name_is_a_bad_request(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await server.put(f"{configmaps}/one", {"metadata": {}})

    assert_refused(answer, 400, "BadRequest")


async def test_update_from_another_namespace_is_a_bad_request(
    server: Server, configmaps: str
) -> None:
    body = config_map("one")
    await server.create(configmaps, body)
    body["metadata"]["namespace"] = "elsewhere"

    assert_refused(await server.put(f"{configmaps}/one", body), 400, "BadRequest")


async def test_dry_run_update_answers_as_if_but_changes_nothing(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one", key="old"))

    answer = await server.put(f"{configmaps}/one", config_map("one", key="new"), dryRun="All")

    assert answer.object()["data"] == {"key": "new"}
    assert version(answer.object()) == version(created)
    assert await server.read(f"{configmaps}/one") == created


async def test_generation_moves_when_the_spec_changes(server: Server, deployments: str) -> None:
    created = await server.create(deployments, deployment("one", replicas=1))
    created["spec"]["replicas"] = 2

    updated = (await server.put(f"{deployments}/one", created)).object()

    assert updated["metadata"]["generation"] == 2


async def test_generation_stays_when_only_labels_change(server: Server, deployments: str) -> None:
    created = await server.create(deployments, deployment("one"))
    created["metadata"]["labels"]["new"] = "label"

    updated = (await server.put(f"{deployments}/one", created)).object()

    assert version(updated) > version(created)
    assert updated["metadata"]["generation"] == 1


async def test_status_written_to_the_main_resource_is_ignored(
    server: Server, deployments: str
) -> None:
    created = await server.create(deployments, deployment("one"))
    body = copy.deepcopy(created)
    body["status"] = {"replicas": 5}
    body["metadata"]["labels"]["seen"] = "yes"

    updated = (await server.put(f"{deployments}/one", body)).object()

    assert "replicas" not in updated.get("status", {})
    assert updated["metadata"]["labels"]["seen"] == "yes"


async def test_spec_written_to_the_status_subresource_is_ignored(
    server: Server, deployments: str
) -> None:
    body = await server.create(deployments, deployment("one", replicas=1))
    body["spec"]["replicas"] = 9
    body["status"] = {"replicas": 5}

    updated = (await server.put(f"{deployments}/one/status", body)).object()

    assert updated["spec"]["replicas"] == 1
    assert updated["status"]["replicas"] == 5
    assert updated["metadata"]["generation"] == 1
    assert await server.read(f"{deployments}/one") == updated


async def test_status_survives_an_update_of_the_spec(server: Server, deployments: str) -> None:
    await server.create(deployments, deployment("one"))
    await server.edit(f"{deployments}/one/status", {"status": {"replicas": 5}})

    updated = (await server.put(f"{deployments}/one", deployment("one", replicas=3))).object()

    assert updated["spec"]["replicas"] == 3
    assert updated["status"]["replicas"] == 5


async def test_the_status_subresource_locks_optimistically_too(
    server: Server, deployments: str
) -> None:
    stale = await server.create(deployments, deployment("one"))
    await server.edit(f"{deployments}/one", {"metadata": {"labels": {"a": "b"}}})
    stale["status"] = {"replicas": 5}

    assert_refused(await server.put(f"{deployments}/one/status", stale), 409, "Conflict")


async def test_the_status_subresource_answers_the_whole_object(
    server: Server, deployments: str
) -> None:
    created = await server.create(deployments, deployment("one"))

    assert await server.read(f"{deployments}/one/status") == created
