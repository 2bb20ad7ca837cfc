"""Objects of custom kinds: as built-in ones, with rules of their own."""

from __future__ import annotations

import pytest

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    Json,
    Server,
    assert_refused,
    names,
    told,
    version,
)
from tests.conformance.samples import GROUP, gadget, widget

pytestmark = IN_BOTH_FORMS

WIDGETS = f"widgets.{GROUP}"


async def test_a_custom_object_is_stored_as_sent(server: Server, widgets: str) -> None:
    created = await server.create(widgets, widget("one", color="red", any={"nested": [1, None]}))

    assert created["apiVersion"] == f"{GROUP}/v1"
    assert created["kind"] == "Widget"
    assert created["metadata"]["generation"] == 1
    assert created["spec"] == {"color": "red", "any": {"nested": [1, None]}}
    assert await server.read(f"{widgets}/one") == created


async def test_errors_name_the_resource_with_its_group(server: Server, widgets: str) -> None:
    assert_refused(
        await server.get(f"{widgets}/nope"),
        404,
        "NotFound",
        f'{WIDGETS} "nope" not found',
        details={"name": "nope", "group": GROUP, "kind": "widgets"},
    )
    await server.create(widgets, widget("one"))
    assert_refused(
        await server.post(widgets, widget("one")),
        409,
        "AlreadyExists",
        f'{WIDGETS} "one" already exists',
        details={"name": "one", "group": GROUP, "kind": "widgets"},
    )


async def test_a_custom_object_must_name_its_kind(server: Server, widgets: str) -> None:
    status = assert_refused(
        await server.post(widgets, {"metadata": {"name": "one"}}), 400, "BadRequest"
    )

    assert "Object 'Kind' is missing" in status["message"]


async def test_a_custom_object_must_name_the_version_of_the_path(
    server: Server, widgets: str
) -> None:
    assert_refused(
        await server.post(widgets, widget("one", version="v1beta1")),
        400,
        "BadRequest",
        f"the API version in the data ({GROUP}/v1beta1) does not match "
        f"the expected API version ({GROUP}/v1)",
    )


async def test_each_version_shows_the_same_objects(server: Server, widgets: str) -> None:
    created = await server.create(widgets, widget("one", color="red"))
    older = widgets.replace("/v1/", "/v1beta1/")

    found = await server.read(f"{older}/one")
    listed = await server.read(older)

    assert found == {**created, "apiVersion": f"{GROUP}/v1beta1"} | {"metadata": found["metadata"]}
    assert found["metadata"]["uid"] == created["metadata"]["uid"]
    assert version(found) == version(created)
    assert [item["apiVersion"] for item in listed["items"]] == [f"{GROUP}/v1beta1"]
    assert listed["apiVersion"] == f"{GROUP}/v1beta1"


async def test_a_write_in_one_version_is_an_event_in_the_other(
    server: Server, widgets: str
) -> None:
    older = widgets.replace("/v1/", "/v1beta1/")

    async with server.watch(older) as watch:
        await server.create(widgets, widget("one"))
        event = await watch.event()

    assert told(event) == ("ADDED", "one")
    assert event["object"]["apiVersion"] == f"{GROUP}/v1beta1"


async def test_custom_objects_can_be_watched(server: Server, widgets: str) -> None:
    start = (await server.read(widgets))["metadata"]["resourceVersion"]

    async with server.watch(widgets, resourceVersion=start) as watch:
        created = await server.create(widgets, widget("one"))
        edited = await server.edit(f"{widgets}/one", {"spec": {"color": "red"}})
        await server.delete(f"{widgets}/one")
        events = await watch.events(3)

    assert events[:2] == [
        {"type": "ADDED", "object": created},
        {"type": "MODIFIED", "object": edited},
    ]
    assert told(events[2]) == ("DELETED", "one")


async def test_update_needs_a_version(server: Server, widgets: str) -> None:
    await server.create(widgets, widget("one"))

    answer = await server.put(f"{widgets}/one", widget("one", color="red"))

    problem = "Invalid value: 0: must be specified for an update"
    assert_refused(
        answer,
        422,
        "Invalid",
        f'{WIDGETS} "one" is invalid: metadata.resourceVersion: {problem}',
    )


async def test_generation_follows_the_spec(server: Server, widgets: str) -> None:
    await server.create(widgets, widget("one", color="red"))

    same = await server.edit(
        f"{widgets}/one", {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}
    )
    changed = await server.edit(f"{widgets}/one", {"spec": {"color": "blue"}})

    assert same["metadata"]["generation"] == 1
    assert changed["metadata"]["generation"] == 2


async def test_status_belongs_to_its_subresource(server: Server, widgets: str) -> None:
    created = await server.create(widgets, widget("one", color="red", status={"seen": 1}))
    ignored = await server.edit(f"{widgets}/one", {"status": {"seen": 2}})

    written = await server.edit(
        f"{widgets}/one/status",
        {"spec": {"color": "blue"}, "status": {"seen": 3}, "metadata": {"labels": {"a": "b"}}},
    )

    assert "status" not in created
    assert ignored == created
    assert written["status"] == {"seen": 3}
    assert written["spec"] == {"color": "red"}
    assert "labels" not in written["metadata"]
    assert written["metadata"]["generation"] == 1
    assert version(written) > version(created)


async def test_without_a_status_subresource_everything_is_one_object(
    server: Server, namespace: str, gadgets: str
) -> None:
    name = namespace  # Gadgets live outside of namespaces: the name must be ours alone.
    created = await server.create(gadgets, gadget(name, color="red", status={"seen": 1}))

    written = await server.edit(f"{gadgets}/{name}", {"status": {"seen": 2}})
    labelled = await server.edit(f"{gadgets}/{name}", {"metadata": {"labels": {"a": "b"}}})

    assert created["status"] == {"seen": 1}
    assert written["status"] == {"seen": 2}
    assert written["metadata"]["generation"] == 2
    assert labelled["metadata"]["generation"] == 2


@pytest.mark.parametrize("subresource", ["status", "scale"])
async def test_a_subresource_that_is_not_defined_is_not_found(
    server: Server, namespace: str, gadgets: str, subresource: str
) -> None:
    await server.create(gadgets, gadget(namespace))

    assert_refused(await server.get(f"{gadgets}/{namespace}/{subresource}"), 404, "NotFound")


async def test_a_cluster_wide_object_has_no_namespace(
    server: Server, namespace: str, gadgets: str
) -> None:
    created = await server.create(gadgets, gadget(namespace))

    assert "namespace" not in created["metadata"]


async def test_scale_reads_the_paths_of_the_definition(server: Server, widgets: str) -> None:
    await server.create(widgets, widget("one", replicas=2))
    stored = await server.edit(
        f"{widgets}/one/status", {"status": {"replicas": 1, "selector": "app=one"}}
    )

    scale = await server.read(f"{widgets}/one/scale")

    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 1, "selector": "app=one"}
    assert scale["metadata"]["uid"] == stored["metadata"]["uid"]
    assert version(scale) == version(stored)


@pytest.mark.parametrize("by", ["update", "patch"])
async def test_scale_writes_the_path_of_the_definition(
    server: Server, namespace: str, widgets: str, by: str
) -> None:
    await server.create(widgets, widget("one", replicas=2, color="red"))
    wanted: Json = {"spec": {"replicas": 6}}

    if by == "update":
        identity = {"name": "one", "namespace": namespace}
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": identity, **wanted}
        answer = await server.put(f"{widgets}/one/scale", scale)
    else:
        answer = await server.patch(f"{widgets}/one/scale", wanted)

    assert answer.object()["spec"] == {"replicas": 6}
    stored = await server.read(f"{widgets}/one")
    assert stored["spec"] == {"replicas": 6, "color": "red"}
    assert stored["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("spec.color=red", ["one"]),
        ("spec.color!=red", ["three", "two"]),
        ("spec.color=", ["three"]),
        ("metadata.name=two", ["two"]),
    ],
)
async def test_selectable_fields_choose(
    server: Server, widgets: str, selector: str, expected: list[str]
) -> None:
    await server.create(widgets, widget("one", color="red"))
    await server.create(widgets, widget("two", color="blue"))
    await server.create(widgets, widget("three"))

    assert names(await server.read(widgets, fieldSelector=selector)) == expected


async def test_selectable_fields_choose_what_a_watch_tells(server: Server, widgets: str) -> None:
    created = await server.create(widgets, widget("one", color="red"))
    start = created["metadata"]["resourceVersion"]

    async with server.watch(
        widgets, fieldSelector="spec.color=red", resourceVersion=start
    ) as watch:
        await server.edit(f"{widgets}/one", {"spec": {"color": "blue"}})
        await server.edit(f"{widgets}/one", {"spec": {"color": "red"}})
        events = await watch.events(2)

    assert [told(event) for event in events] == [("DELETED", "one"), ("ADDED", "one")]
    assert events[0]["object"]["spec"]["color"] == "red"


async def test_other_fields_cannot_choose(server: Server, widgets: str) -> None:
    assert_refused(
        await server.get(widgets, fieldSelector="spec.replicas=1"),
        400,
        "BadRequest",
        "field label not supported: spec.replicas",
    )


async def test_finalizers_hold_custom_objects(server: Server, widgets: str) -> None:
    body = widget("one")
    body["metadata"]["finalizers"] = ["kinform.test/hold"]
    await server.create(widgets, body)

    marked = (await server.delete(f"{widgets}/one")).object()

    assert marked["kind"] == "Widget"
    assert marked["metadata"]["deletionTimestamp"]
    assert marked["metadata"]["generation"] == 2
    await server.edit(f"{widgets}/one", {"metadata": {"finalizers": None}})
    assert_refused(await server.get(f"{widgets}/one"), 404, "NotFound")


async def test_custom_objects_are_deleted_together(server: Server, widgets: str) -> None:
    for name in ("a", "b"):
        await server.create(widgets, widget(name))

    deleted = (await server.delete(widgets)).object()

    assert deleted["kind"] == "WidgetList"
    assert names(deleted) == ["a", "b"]
    assert names(await server.read(widgets)) == []


async def test_custom_objects_are_listed_in_pages(server: Server, widgets: str) -> None:
    for name in ("a", "b", "c"):
        await server.create(widgets, widget(name))

    first = await server.read(widgets, limit=2)
    rest = await server.read(widgets, **{"limit": 2, "continue": first["metadata"]["continue"]})

    assert names(first) + names(rest) == ["a", "b", "c"]
    assert first["metadata"]["remainingItemCount"] == 1
    assert version(first) == version(rest)
