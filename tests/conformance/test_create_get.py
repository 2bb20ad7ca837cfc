"""Creating and getting: what the server adds, what it refuses, and in which words."""

from __future__ import annotations

import re
import uuid

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    Server,
    assert_refused,
    names,
    version,
)
from tests.conformance.samples import config_map, deployment, pod

pytestmark = IN_BOTH_FORMS


async def test_create_answers_201_with_the_stored_object(server: Server, configmaps: str) -> None:
    answer = await server.post(configmaps, config_map("one", key="value"))

    created = answer.object(201)
    assert answer.headers["Content-Type"] == answer.asked_for
    assert created["kind"] == "ConfigMap"
    assert created["apiVersion"] == "v1"
    assert created["data"] == {"key": "value"}


async def test_create_fills_in_the_namespace_of_the_path(
    server: Server, namespace: str, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one"))

    assert created["metadata"]["namespace"] == namespace


async def test_create_gives_each_object_a_uuid(server: Server, configmaps: str) -> None:
    one = await server.create(configmaps, config_map("one"))
    two = await server.create(configmaps, config_map("two"))

    assert str(uuid.UUID(one["metadata"]["uid"])) == one["metadata"]["uid"]
    assert one["metadata"]["uid"] != two["metadata"]["uid"]


async def test_create_stamps_the_time_in_whole_seconds_utc(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one"))

    stamp = created["metadata"]["creationTimestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stamp)


async def test_create_gives_a_decimal_version_without_leading_zero(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one"))

    assert re.fullmatch(r"[1-9]\d*", created["metadata"]["resourceVersion"])


async def test_versions_grow_across_kinds(server: Server, configmaps: str, pods: str) -> None:
    first = await server.create(configmaps, config_map("one"))
    second = await server.create(pods, pod("one"))
    third = await server.create(configmaps, config_map("two"))

    assert version(first) < version(second) < version(third)


async def test_get_answers_what_create_answered(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one", key="value"))

    assert await server.read(f"{configmaps}/one") == created


async def test_kinds_with_a_desired_state_start_at_generation_1(
    server: Server, deployments: str, pods: str
) -> None:
    assert (await server.create(deployments, deployment("one")))["metadata"]["generation"] == 1
    assert (await server.create(pods, pod("one")))["metadata"]["generation"] == 1


async def test_kinds_without_a_desired_state_have_no_generation(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one"))

    assert "generation" not in created["metadata"]


async def test_generate_name_appends_five_characters(server: Server, configmaps: str) -> None:
    body = {"metadata": {"generateName": "made-"}}

    one = await server.create(configmaps, body)
    two = await server.create(configmaps, body)

    assert re.fullmatch(r"made-[a-z0-9]{5}", one["metadata"]["name"])
    assert one["metadata"]["generateName"] == "made-"
    assert one["metadata"]["name"] != two["metadata"]["name"]


async def test_a_name_wins_over_generate_name(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, {"metadata": {"name": "x", "generateName": "made-"}})

    assert created["metadata"]["name"] == "x"


async def test_create_without_any_name_is_invalid(server: Server, configmaps: str) -> None:
    answer = await server.post(configmaps, {"metadata": {}})

    problem = "Required value: name or generateName is required"
    assert_refused(
        answer,
        422,
        "Invalid",
        f'ConfigMap "" is invalid: metadata.name: {problem}',
        details={
            "kind": "ConfigMap",
            "causes": [
                {"reason": "FieldValueRequired", "message": problem, "field": "metadata.name"}
            ],
        },
    )


async def test_create_with_an_illegal_name_is_invalid(server: Server, configmaps: str) -> None:
    status = assert_refused(await server.post(configmaps, config_map("Bad_Name")), 422, "Invalid")

    assert status["message"].startswith('ConfigMap "Bad_Name" is invalid: metadata.name: Invalid')
    assert status["details"]["name"] == "Bad_Name"
    assert [cause["field"] for cause in status["details"]["causes"]] == ["metadata.name"]
    assert status["details"]["causes"][0]["reason"] == "FieldValueInvalid"


async def test_creating_a_name_twice_says_already_exists(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    assert_refused(
        await server.post(configmaps, config_map("one")),
        409,
        "AlreadyExists",
        'configmaps "one" already exists',
        details={"name": "one", "kind": "configmaps"},
    )


async def test_details_name_the_group_of_a_kind_that_has_one(
    server: Server, deployments: str
) -> None:
    await server.create(deployments, deployment("one"))

    assert_refused(
        await server.post(deployments, deployment("one")),
        409,
        "AlreadyExists",
        'deployments.apps "one" already exists',
        details={"name": "one", "group": "apps", "kind": "deployments"},
    )


async def test_the_same_name_may_be_used_in_another_namespace(
    server: Server, configmaps: str
) -> None:
    elsewhere = f"/api/v1/namespaces/{await server.new_namespace()}/configmaps"

    one = await server.create(configmaps, config_map("one"))
    other = await server.create(elsewhere, config_map("one"))

    assert one["metadata"]["uid"] != other["metadata"]["uid"]


async def test_get_of_a_missing_object_says_not_found(server: Server, configmaps: str) -> None:
    assert_refused(
        await server.get(f"{configmaps}/nope"),
        404,
        "NotFound",
        'configmaps "nope" not found',
        details={"name": "nope", "kind": "configmaps"},
    )


async def test_create_in_a_missing_namespace_says_which_is_missing(server: Server) -> None:
    assert_refused(
        await server.post("/api/v1/namespaces/not-there/configmaps", config_map("one")),
        404,
        "NotFound",
        'namespaces "not-there" not found',
        details={"name": "not-there", "kind": "namespaces"},
    )


async def test_a_body_from_another_namespace_is_a_bad_request(
    server: Server, configmaps: str
) -> None:
    body = config_map("one")
    body["metadata"]["namespace"] = "elsewhere"

    assert_refused(
        await server.post(configmaps, body),
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    )


async def test_a_body_of_another_kind_is_a_bad_request(server: Server, configmaps: str) -> None:
    body = {**config_map("one"), "kind": "Secret"}

    status = assert_refused(await server.post(configmaps, body), 400, "BadRequest")

    assert 'Secret in version "v1" cannot be handled as a ConfigMap' in status["message"]


async def test_a_body_of_another_version_is_a_bad_request(server: Server, configmaps: str) -> None:
    body = {**config_map("one"), "apiVersion": "apps/v1"}

    assert_refused(await server.post(configmaps, body), 400, "BadRequest")


async def test_a_body_without_kind_takes_that_of_the_path(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, {"metadata": {"name": "one"}})

    assert (created["kind"], created["apiVersion"]) == ("ConfigMap", "v1")


async def test_a_resource_version_on_create_is_refused(server: Server, configmaps: str) -> None:
    body = config_map("one")
    body["metadata"]["resourceVersion"] = "5"

    # No reason and 500 is what a real server says to this mistake of the client's.
    assert_refused(
        await server.post(configmaps, body),
        500,
        None,
        "resourceVersion should not be set on objects to be created",
    )


async def test_what_only_the_server_may_set_is_overwritten(server: Server, configmaps: str) -> None:
    body = config_map("one")
    body["metadata"] |= {
        "uid": "mine",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3,
    }

    metadata = (await server.create(configmaps, body))["metadata"]

    assert metadata["uid"] != "mine"
    assert metadata["creationTimestamp"] > "2001-01-01T00:00:00Z"
    assert "deletionTimestamp" not in metadata
    assert "deletionGracePeriodSeconds" not in metadata


async def test_status_is_dropped_on_create(server: Server, deployments: str) -> None:
    created = await server.create(deployments, {**deployment("one"), "status": {"replicas": 5}})

    assert "replicas" not in created.get("status", {})


async def test_dry_run_create_answers_as_if_but_stores_nothing(
    server: Server, configmaps: str
) -> None:
    answer = await server.post(configmaps, config_map("one", key="value"), dryRun="All")

    created = answer.object(201)
    assert created["data"] == {"key": "value"}
    assert created["metadata"]["uid"]
    assert created["metadata"]["creationTimestamp"]
    assert "resourceVersion" not in created["metadata"]
    assert_refused(await server.get(f"{configmaps}/one"), 404, "NotFound")


async def test_dry_run_create_of_a_taken_name_is_refused_too(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await server.post(configmaps, config_map("one"), dryRun="All")

    assert_refused(answer, 409, "AlreadyExists")


async def test_dry_run_knows_only_all(server: Server, configmaps: str) -> None:
    answer = await server.post(configmaps, config_map("one"), dryRun="Some")

    problem = 'Unsupported value: ["Some"]: supported values: "All"'
    assert_refused(
        answer,
        422,
        "Invalid",
        f'CreateOptions.meta.k8s.io "" is invalid: dryRun: {problem}',
        details={
            "group": "meta.k8s.io",
            "kind": "CreateOptions",
            "causes": [{"reason": "FieldValueNotSupported", "message": problem, "field": "dryRun"}],
        },
    )


async def test_any_field_manager_is_welcome(server: Server, configmaps: str) -> None:
    answer = await server.post(configmaps, config_map("one"), fieldManager="a-test")

    assert names({"items": [answer.object(201)]}) == ["one"]


async def test_get_at_version_0_answers_the_object(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one"))

    async def seen() -> bool:
        answer = await server.get(f"{configmaps}/one", resourceVersion="0")
        return answer.status == 200 and bool(answer.json() == created)

    # Version 0 is "whatever you have": a cache may be a moment behind.
    await server.eventually(seen, what="a get at version 0 sees the object")


async def test_get_not_older_than_a_version_answers_the_object(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one"))

    at_least = created["metadata"]["resourceVersion"]
    assert await server.read(f"{configmaps}/one", resourceVersion=at_least) == created
