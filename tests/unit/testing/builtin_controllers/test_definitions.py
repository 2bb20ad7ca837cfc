"""Kinds that are defined, changed and deleted while the server runs."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVR
from kinform.errors import InvalidError, NoMatchError
from kinform.testing import ApiServer
from kinform.testing.builtin_controllers._definitions import version_rank
from tests.support import raw_http
from tests.support.waiting import wait_until

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
NAME = "widgets.example.test"
V1 = GVR("example.test", "v1", "widgets")
V2 = GVR("example.test", "v2", "widgets")
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def _version(name: str, *, storage: bool = True, **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": storage, "schema": SCHEMA, **more}


def _definition(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "example.test",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": list(versions) or [_version("v1")],
            **spec,
        },
    }


def _widget(name: str, version: str = "v1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"example.test/{version}",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


async def test_a_kind_can_be_used_as_soon_as_it_is_defined(kinform_api: ApiServer) -> None:
    with pytest.raises(NoMatchError, match="create its CustomResourceDefinition"):
        kinform_api.create(_widget("w"))

    kinform_api.create(_definition())
    created = kinform_api.create(_widget("w", color="red"))

    assert created["metadata"]["generation"] == 1
    assert kinform_api.get(V1, "w", "default") == created


async def test_objects_outlive_a_change_of_the_stored_version(kinform_api: ApiServer) -> None:
    api = kinform_api
    api.create(_definition(_version("v1"), _version("v2", storage=False)))
    api.create(_widget("old", color="red"))
    before = api.resource_version

    versions = [_version("v1", storage=False), _version("v2")]
    api.patch(CRDS, NAME, {"spec": {"versions": versions}})
    api.create(_widget("new", "v2", color="blue"))

    for gvr in (V1, V2):
        found = api.list(gvr, "default")
        assert [each["metadata"]["name"] for each in found] == ["new", "old"]
        assert {each["apiVersion"] for each in found} == {gvr.api_version}
    # One that only has its metadata changed, too.
    api.patch(V2, "old", {"metadata": {"labels": {"a": "b"}}}, "default")
    assert api.get(V1, "old", "default")["spec"] == {"color": "red"}
    assert api.get(V2, "old", "default")["apiVersion"] == "example.test/v2"
    assert api.get(CRDS, NAME)["status"]["storedVersions"] == ["v1", "v2"]
    # And so does what is told of the past.
    path = f"/apis/example.test/v2/widgets?watch=true&timeoutSeconds=1&resourceVersion={before}"
    answer = await raw_http.ask(api.url, path)
    assert {event["object"]["apiVersion"] for event in answer.events()} == {"example.test/v2"}


async def test_fields_can_become_selectable_later(kinform_api: ApiServer) -> None:
    api = kinform_api
    api.create(_definition())
    api.create(_widget("w", color="red"))
    path = "/apis/example.test/v1/widgets?fieldSelector=spec.color%3Dred"
    assert (await raw_http.ask(api.url, path)).status == 400

    fields = [{"jsonPath": ".spec.size"}, {"jsonPath": ".spec.color"}]
    api.patch(CRDS, NAME, {"spec": {"versions": [_version("v1", selectableFields=fields)]}})

    answer = await raw_http.ask(api.url, path)
    assert [item["metadata"]["name"] for item in answer.json()["items"]] == ["w"]


async def test_watchers_see_the_objects_go_and_then_the_end(kinform_api: ApiServer) -> None:
    api = kinform_api
    api.create(_definition())
    api.create(_widget("a"))
    api.create(_widget("b"))
    path = f"/apis/example.test/v1/widgets?watch=true&resourceVersion={api.resource_version}"
    elsewhere = f"/api/v1/configmaps?watch=true&resourceVersion={api.resource_version}"
    async with (
        raw_http.open_answer(api.url, path) as watch,
        raw_http.open_answer(api.url, elsewhere) as other,
    ):
        api.delete(CRDS, NAME)

        events = [await watch.event() for _ in range(2)]
        assert await watch.read() == (b"", raw_http.COMPLETE)
        # Nobody else is disturbed.
        metadata = {"name": "still", "namespace": "default"}
        api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        assert (await other.event())["type"] == "ADDED"

    told = [(event["type"], event["object"]["metadata"]["name"]) for event in events]
    assert told == [("DELETED", "a"), ("DELETED", "b")]


async def test_a_finalizer_on_an_object_keeps_its_kind(kinform_api: ApiServer) -> None:
    api = kinform_api
    api.create(_definition())
    held = _widget("held")
    held["metadata"]["finalizers"] = ["example.test/held"]
    api.create(held)

    api.delete(CRDS, NAME)
    await wait_until(lambda: "deletionTimestamp" in api.get(V1, "held", "default")["metadata"])
    assert api.get(CRDS, NAME)["metadata"]["deletionTimestamp"]

    api.patch(V1, "held", {"metadata": {"finalizers": None}}, "default")

    assert api.list(CRDS) == []
    with pytest.raises(NoMatchError):
        api.list(V1)


async def test_a_kind_that_comes_back_begins_anew(kinform_api: ApiServer) -> None:
    api = kinform_api
    api.create(_definition())
    api.create(_widget("w"))
    version = api.resource_version
    api.delete(CRDS, NAME)
    await wait_until(lambda: api.list(CRDS) == [])

    api.create(_definition())

    assert api.list(V1) == []
    path = f"/apis/example.test/v1/widgets?watch=true&timeoutSeconds=1&resourceVersion={version}"
    (event,) = (await raw_http.ask(api.url, path)).events()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


@pytest.mark.parametrize(
    ("definition", "field"),
    [
        (_definition(group="nodots"), "spec.group"),
        (_definition(scope="Galaxy"), "spec.scope"),
        (_definition(names={"plural": "widgets"}), "spec.names.kind"),
        (_definition(_version("v1"), _version("v2")), "spec.versions"),
        (_definition(_version("v1", storage=False)), "spec.versions"),
        (_definition(_version("v1"), _version("v1", storage=False)), "spec.versions"),
        (
            _definition({"name": "v1", "served": True, "storage": True}),
            "spec.versions[0].schema.openAPIV3Schema",
        ),
    ],
    ids=["group", "scope", "kind", "two stored", "none stored", "twice", "schema"],
)
async def test_a_definition_that_cannot_be_served_is_refused(
    kinform_api: ApiServer, definition: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidError) as refused:
        kinform_api.create(definition)

    assert field in [cause["field"] for cause in refused.value.causes]


def test_versions_are_preferred_by_how_stable_and_how_new_they_are() -> None:
    versions = ["v1alpha1", "foo1", "v1", "v2beta3", "v10", "v2beta10", "v2", "bar"]

    assert sorted(versions, key=version_rank) == [
        "v10",
        "v2",
        "v1",
        "v2beta10",
        "v2beta3",
        "v1alpha1",
        "bar",
        "foo1",
    ]
