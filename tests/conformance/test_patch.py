"""JSON patches and merge patches."""

from __future__ import annotations

import pytest

from tests.conformance.harness import (
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    Json,
    Server,
    assert_refused,
    version,
)
from tests.conformance.samples import config_map, deployment

REJECTED = "the server rejected our request due to an error in our request"


async def test_merge_patch_adds_changes_and_removes_members(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one", keep="1", change="2", drop="3"))

    patched = await server.edit(
        f"{configmaps}/one", {"data": {"change": "4", "drop": None, "add": "5"}}
    )

    assert patched["data"] == {"keep": "1", "change": "4", "add": "5"}
    assert version(patched) > version(created)
    assert await server.read(f"{configmaps}/one") == patched


async def test_merge_patch_removes_a_whole_map_with_null(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one", labels={"a": "b"}, key="value"))

    patched = await server.edit(f"{configmaps}/one", {"metadata": {"labels": None}})

    assert "labels" not in patched["metadata"]
    assert patched["data"] == {"key": "value"}


async def test_merge_patch_replaces_lists_whole(server: Server, deployments: str) -> None:
    await server.create(deployments, deployment("one"))
    containers = [{"name": "other", "image": "example.test/other:1"}]

    patched = await server.edit(
        f"{deployments}/one", {"spec": {"template": {"spec": {"containers": containers}}}}
    )

    found = patched["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in found] == ["other"]


async def test_a_patch_that_changes_nothing_keeps_the_version(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one", key="value"))

    assert await server.edit(f"{configmaps}/one", {"data": {"key": "value"}}) == created


async def test_a_patch_of_the_spec_moves_the_generation(server: Server, deployments: str) -> None:
    await server.create(deployments, deployment("one", replicas=1))

    patched = await server.edit(f"{deployments}/one", {"spec": {"replicas": 2}})

    assert patched["metadata"]["generation"] == 2


async def test_a_patch_of_status_is_ignored_on_the_main_resource(
    server: Server, deployments: str
) -> None:
    created = await server.create(deployments, deployment("one"))

    patched = await server.edit(f"{deployments}/one", {"status": {"replicas": 9}})

    assert patched == created


async def test_a_patch_of_the_status_subresource_changes_status_alone(
    server: Server, deployments: str
) -> None:
    await server.create(deployments, deployment("one", replicas=1))

    patched = await server.edit(
        f"{deployments}/one/status", {"spec": {"replicas": 9}, "status": {"replicas": 5}}
    )

    assert patched["status"]["replicas"] == 5
    assert patched["spec"]["replicas"] == 1
    assert patched["metadata"]["generation"] == 1


async def test_a_version_in_a_patch_locks_optimistically(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one"))
    stale = created["metadata"]["resourceVersion"]
    current = await server.edit(f"{configmaps}/one", {"data": {"by": "another"}})

    answer = await server.patch(
        f"{configmaps}/one", {"metadata": {"resourceVersion": stale}, "data": {"by": "me"}}
    )

    assert_refused(
        answer,
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "one": the object has been modified; '
        "please apply your changes to the latest version and try again",
        details={"name": "one", "kind": "configmaps"},
    )
    fresh = {"metadata": {"resourceVersion": current["metadata"]["resourceVersion"]}}
    patched = await server.edit(f"{configmaps}/one", {**fresh, "data": {"by": "me"}})
    assert patched["data"] == {"by": "me"}


async def test_a_patch_cannot_rename(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    assert_refused(
        await server.patch(f"{configmaps}/one", {"metadata": {"name": "two"}}),
        400,
        "BadRequest",
        "the name of the object (two) does not match the name on the URL (one)",
    )


async def test_a_patch_cannot_change_the_uid(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await server.patch(f"{configmaps}/one", {"metadata": {"uid": "mine"}})

    problem = 'Invalid value: "mine": field is immutable'
    assert_refused(
        answer,
        422,
        "Invalid",
        f'ConfigMap "one" is invalid: metadata.uid: {problem}',
        details={
            "name": "one",
            "kind": "ConfigMap",
            "causes": [
                {"reason": "FieldValueInvalid", "message": problem, "field": "metadata.uid"}
            ],
        },
    )


@pytest.mark.parametrize(
    ("content_type", "body"), [(MERGE_PATCH, {"data": {"a": "b"}}), (JSON_PATCH, [])]
)
async def test_a_patch_of_a_missing_object_says_not_found(
    server: Server, configmaps: str, content_type: str, body: object
) -> None:
    answer = await server.patch(f"{configmaps}/nope", body, content_type=content_type)

    assert_refused(answer, 404, "NotFound", 'configmaps "nope" not found')


async def test_dry_run_patch_answers_as_if_but_changes_nothing(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one", key="old"))

    answer = await server.patch(f"{configmaps}/one", {"data": {"key": "new"}}, dryRun="All")

    assert answer.object()["data"] == {"key": "new"}
    assert await server.read(f"{configmaps}/one") == created


async def test_json_patch_applies_every_operation_in_order(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one", a="1", b="2"))
    operations = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "add", "path": "/data/c", "value": "3"},
        {"op": "copy", "from": "/data/a", "path": "/data/copied"},
        {"op": "move", "from": "/data/c", "path": "/data/moved"},
        {"op": "replace", "path": "/data/a", "value": "4"},
        {"op": "remove", "path": "/data/b"},
    ]

    answer = await server.patch(f"{configmaps}/one", operations, content_type=JSON_PATCH)

    assert answer.object()["data"] == {"a": "4", "copied": "1", "moved": "3"}


async def test_json_patch_paths_escape_slash_and_tilde(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one", labels={"plain": "1"}))
    operations = [
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/kinform.test~1slash", "value": "x"},
    ]

    answer = await server.patch(f"{configmaps}/one", operations, content_type=JSON_PATCH)

    assert answer.object()["metadata"]["annotations"] == {"kinform.test/slash": "x"}


async def test_json_patch_reaches_into_lists(server: Server, deployments: str) -> None:
    await server.create(deployments, deployment("one"))
    path = "/spec/template/spec/containers"
    operations = [
        {"op": "add", "path": f"{path}/-", "value": {"name": "last", "image": "example.test/l"}},
        {"op": "add", "path": f"{path}/0", "value": {"name": "first", "image": "example.test/f"}},
    ]

    answer = await server.patch(f"{deployments}/one", operations, content_type=JSON_PATCH)

    found = answer.object()["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in found] == ["first", "main", "last"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/key", "value": "another"},
        {"op": "remove", "path": "/data/missing"},
        {"op": "add", "path": "/missing/parent", "value": "x"},
        {"op": "bogus", "path": "/data/key"},
    ],
    ids=lambda operation: operation["op"],
)
async def test_a_json_patch_that_does_not_apply_is_invalid(
    server: Server, configmaps: str, operation: Json
) -> None:
    created = await server.create(configmaps, config_map("one", key="value"))
    operations = [{"op": "add", "path": "/data/other", "value": "x"}, operation]

    answer = await server.patch(f"{configmaps}/one", operations, content_type=JSON_PATCH)

    assert_refused(answer, 422, "Invalid", REJECTED, details={})
    assert await server.read(f"{configmaps}/one") == created


async def test_an_empty_json_patch_changes_nothing(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one"))

    answer = await server.patch(f"{configmaps}/one", [], content_type=JSON_PATCH)

    assert answer.object() == created


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (MERGE_PATCH, b"[1]"),
        (MERGE_PATCH, b'{"cut'),
        (JSON_PATCH, b'{"op": "remove"}'),
        (JSON_PATCH, b"[{"),
    ],
)
async def test_a_malformed_patch_is_a_bad_request(
    server: Server, configmaps: str, content_type: str, body: bytes
) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await server.patch(f"{configmaps}/one", body, content_type=content_type)

    assert_refused(answer, 400, "BadRequest")


@pytest.mark.parametrize("content_type", [JSON, "text/plain"])
async def test_a_patch_in_another_format_is_an_unsupported_media_type(
    server: Server, configmaps: str, content_type: str
) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await server.patch(f"{configmaps}/one", {}, content_type=content_type)

    assert_refused(answer, 415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
