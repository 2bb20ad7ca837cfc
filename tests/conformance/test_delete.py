"""Deleting one object: answers, preconditions, finalizers and what becomes of dependents."""

from __future__ import annotations

import pytest

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    Json,
    Server,
    assert_refused,
    told,
    version,
)
from tests.conformance.samples import config_map, deployment, finalized

pytestmark = IN_BOTH_FORMS


async def test_delete_answers_success_with_the_identity_of_what_is_gone(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one"))

    answer = (await server.delete(f"{configmaps}/one")).object()

    assert answer == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "one", "kind": "configmaps", "uid": created["metadata"]["uid"]},
    }
    assert_refused(await server.get(f"{configmaps}/one"), 404, "NotFound")


async def test_delete_names_the_group_of_a_kind_that_has_one(
    server: Server, deployments: str
) -> None:
    created = await server.create(deployments, deployment("one"))

    answer = (await server.delete(f"{deployments}/one")).object()

    assert answer["details"] == {
        "name": "one",
        "group": "apps",
        "kind": "deployments",
        "uid": created["metadata"]["uid"],
    }


async def test_delete_of_a_missing_object_says_not_found(server: Server, configmaps: str) -> None:
    assert_refused(
        await server.delete(f"{configmaps}/nope"),
        404,
        "NotFound",
        'configmaps "nope" not found',
        details={"name": "nope", "kind": "configmaps"},
    )


async def test_a_name_can_be_used_again_by_another_object(server: Server, configmaps: str) -> None:
    first = await server.create(configmaps, config_map("one"))
    await server.delete(f"{configmaps}/one")

    second = await server.create(configmaps, config_map("one"))

    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert version(second) > version(first) + 1


async def test_dry_run_delete_answers_as_if_but_keeps_the_object(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one"))

    by_query = await server.delete(f"{configmaps}/one", dryRun="All")
    by_body = await server.delete(f"{configmaps}/one", {"dryRun": ["All"]})

    assert by_query.object()["status"] == by_body.object()["status"] == "Success"
    assert await server.read(f"{configmaps}/one") == created


async def test_delete_with_the_right_preconditions_goes_through(
    server: Server, configmaps: str
) -> None:
    metadata = (await server.create(configmaps, config_map("one")))["metadata"]
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        },
    }

    assert (await server.delete(f"{configmaps}/one", options)).object()["status"] == "Success"


async def test_delete_of_another_uid_is_a_conflict(server: Server, configmaps: str) -> None:
    uid = (await server.create(configmaps, config_map("one")))["metadata"]["uid"]

    answer = await server.delete(f"{configmaps}/one", {"preconditions": {"uid": "another"}})

    assert_refused(
        answer,
        409,
        "Conflict",
        'Operation cannot be fulfilled on ConfigMap "one": the UID in the precondition (another) '
        f"does not match the UID in record ({uid}). "
        "The object might have been deleted and then recreated",
        details={"name": "one", "kind": "ConfigMap"},
    )
    await server.read(f"{configmaps}/one")


async def test_delete_of_another_version_is_a_conflict(server: Server, configmaps: str) -> None:
    stored = (await server.create(configmaps, config_map("one")))["metadata"]["resourceVersion"]

    answer = await server.delete(f"{configmaps}/one", {"preconditions": {"resourceVersion": "1"}})

    assert_refused(
        answer,
        409,
        "Conflict",
        'Operation cannot be fulfilled on ConfigMap "one": the ResourceVersion in the '
        f"precondition (1) does not match the ResourceVersion in record ({stored}). "
        "The object might have been modified",
        details={"name": "one", "kind": "ConfigMap"},
    )


async def test_an_object_with_finalizers_is_marked_and_stays(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, finalized("one"))

    marked = (await server.delete(f"{configmaps}/one")).object()

    assert marked["kind"] == "ConfigMap"
    assert marked["metadata"]["deletionTimestamp"] >= created["metadata"]["creationTimestamp"]
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert version(marked) > version(created)
    assert await server.read(f"{configmaps}/one") == marked


async def test_marking_for_deletion_moves_the_generation_of_a_kind_that_has_one(
    server: Server, deployments: str
) -> None:
    body = deployment("one")
    body["metadata"]["finalizers"] = ["kinform.test/hold"]
    await server.create(deployments, body)

    marked = (await server.delete(f"{deployments}/one")).object()

    assert marked["metadata"]["generation"] == 2


async def test_deleting_a_marked_object_again_changes_nothing(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, finalized("one"))
    marked = (await server.delete(f"{configmaps}/one")).object()

    assert (await server.delete(f"{configmaps}/one")).object() == marked


async def test_a_marked_object_can_still_be_edited(server: Server, configmaps: str) -> None:
    await server.create(configmaps, finalized("one"))
    marked = (await server.delete(f"{configmaps}/one")).object()

    edited = await server.edit(f"{configmaps}/one", {"data": {"key": "value"}})

    assert edited["data"] == {"key": "value"}
    assert edited["metadata"]["deletionTimestamp"] == marked["metadata"]["deletionTimestamp"]


async def test_a_mark_cannot_be_taken_back(server: Server, configmaps: str) -> None:
    await server.create(configmaps, finalized("one"))
    marked = (await server.delete(f"{configmaps}/one")).object()
    body = finalized("one")

    updated = (await server.put(f"{configmaps}/one", body)).object()

    assert updated["metadata"]["deletionTimestamp"] == marked["metadata"]["deletionTimestamp"]


async def test_a_marked_object_takes_no_new_finalizer(server: Server, configmaps: str) -> None:
    await server.create(configmaps, finalized("one"))
    await server.delete(f"{configmaps}/one")

    answer = await server.patch(
        f"{configmaps}/one", {"metadata": {"finalizers": ["kinform.test/hold", "kinform.test/new"]}}
    )

    status = assert_refused(answer, 422, "Invalid")
    (cause,) = status["details"]["causes"]
    assert cause["field"] == "metadata.finalizers"
    assert cause["reason"] == "FieldValueForbidden"
    assert "no new finalizers can be added if the object is being deleted" in cause["message"]


async def test_a_name_held_by_a_marked_object_is_taken(server: Server, configmaps: str) -> None:
    await server.create(configmaps, finalized("one"))
    await server.delete(f"{configmaps}/one")

    assert_refused(await server.post(configmaps, config_map("one")), 409, "AlreadyExists")


async def test_removing_one_of_two_finalizers_keeps_a_marked_object(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, finalized("one", "kinform.test/a", "kinform.test/b"))
    await server.delete(f"{configmaps}/one")

    await server.edit(f"{configmaps}/one", {"metadata": {"finalizers": ["kinform.test/b"]}})

    found = await server.read(f"{configmaps}/one")
    assert found["metadata"]["finalizers"] == ["kinform.test/b"]


@pytest.mark.parametrize("by", ["update", "patch"])
async def test_removing_the_last_finalizer_removes_a_marked_object(
    server: Server, configmaps: str, by: str
) -> None:
    await server.create(configmaps, finalized("one"))
    marked = (await server.delete(f"{configmaps}/one")).object()

    if by == "update":
        del marked["metadata"]["finalizers"]
        last = (await server.put(f"{configmaps}/one", marked)).object()
    else:
        last = await server.edit(f"{configmaps}/one", {"metadata": {"finalizers": None}})

    assert "finalizers" not in last["metadata"]
    assert_refused(await server.get(f"{configmaps}/one"), 404, "NotFound")


async def test_finalizers_removed_before_the_delete_hold_nothing(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, finalized("one"))
    await server.edit(f"{configmaps}/one", {"metadata": {"finalizers": []}})

    assert (await server.delete(f"{configmaps}/one")).object()["kind"] == "Status"


async def test_watchers_see_the_mark_and_then_the_removal(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, finalized("one"))
    start = created["metadata"]["resourceVersion"]

    async with server.watch(configmaps, resourceVersion=start) as watch:
        await server.delete(f"{configmaps}/one")
        await server.edit(f"{configmaps}/one", {"metadata": {"finalizers": None}})
        marked, removed = await watch.events(2)

    assert [told(marked), told(removed)] == [("MODIFIED", "one"), ("DELETED", "one")]
    assert marked["object"]["metadata"]["deletionTimestamp"]
    assert version(removed) > version(marked)


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
@pytest.mark.parametrize("place", ["query", "body"])
async def test_a_policy_that_needs_the_garbage_collector_waits_for_it(
    server: Server, deployments: str, policy: str, finalizer: str, place: str
) -> None:
    await server.create(deployments, deployment("one"))
    options: Json = {"propagationPolicy": policy}

    if place == "query":
        answer = await server.delete(f"{deployments}/one", **options)
    else:
        answer = await server.delete(f"{deployments}/one", options)

    marked = answer.object()
    assert marked["kind"] == "Deployment"
    assert marked["metadata"]["finalizers"] == [finalizer]
    assert marked["metadata"]["deletionTimestamp"]


async def test_background_deletion_removes_at_once(server: Server, deployments: str) -> None:
    await server.create(deployments, deployment("one"))

    answer = await server.delete(f"{deployments}/one", {"propagationPolicy": "Background"})

    assert answer.object()["kind"] == "Status"


async def test_an_unknown_policy_is_invalid(server: Server, deployments: str) -> None:
    await server.create(deployments, deployment("one"))

    answer = await server.delete(f"{deployments}/one", {"propagationPolicy": "Bogus"})

    problem = (
        'Unsupported value: "Bogus": supported values: "Foreground", "Background", "Orphan", "nil"'
    )
    assert_refused(
        answer,
        422,
        "Invalid",
        f'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: {problem}',
        details={
            "group": "meta.k8s.io",
            "kind": "DeleteOptions",
            "causes": [
                {
                    "reason": "FieldValueNotSupported",
                    "message": problem,
                    "field": "propagationPolicy",
                }
            ],
        },
    )


async def test_kinds_without_grace_ignore_a_grace_period(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await server.delete(f"{configmaps}/one", gracePeriodSeconds=30)

    assert answer.object()["kind"] == "Status"


async def test_malformed_options_are_a_bad_request(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    assert_refused(await server.delete(f"{configmaps}/one", b'{"cut'), 400, "BadRequest")
    assert_refused(
        await server.delete(f"{configmaps}/one", gracePeriodSeconds="soon"),
        400,
        "BadRequest",
        'strconv.ParseInt: parsing "soon": invalid syntax',
    )
