"""Discovery: what is served, in the old form and in one document."""

from __future__ import annotations

import pytest

from tests.conformance.harness import JSON, Json, Server, assert_refused

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
ALL_VERBS = {
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
}


async def _resources(server: Server, path: str) -> dict[str, Json]:
    return {each["name"]: each for each in (await server.read(path))["resources"]}


async def _aggregated(server: Server, path: str, group: str) -> dict[str, Json]:
    """The versions of a group in the one document at ``path``."""
    everything = (await server.get(path, accept=AGGREGATED)).object()
    (found,) = [each for each in everything["items"] if each["metadata"].get("name", "") == group]
    return {each["version"]: each for each in found["versions"]}


async def test_the_core_group_names_its_versions(server: Server) -> None:
    found = await server.read("/api")

    assert found["kind"] == "APIVersions"
    assert found["versions"] == ["v1"]


async def test_the_other_groups_are_listed(server: Server) -> None:
    found = await server.read("/apis")

    assert (found["kind"], found["apiVersion"]) == ("APIGroupList", "v1")
    groups = {group["name"]: group for group in found["groups"]}
    assert groups["apps"] == {
        "name": "apps",
        "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    }
    assert {"batch", "apiextensions.k8s.io", "coordination.k8s.io", "events.k8s.io"} <= set(groups)


async def test_a_group_can_be_asked_for_alone(server: Server) -> None:
    assert await server.read("/apis/apps") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "apps",
        "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    }


@pytest.mark.parametrize(
    ("path", "group_version"), [("/api/v1", "v1"), ("/apis/apps/v1", "apps/v1")]
)
async def test_a_group_version_lists_its_resources(
    server: Server, path: str, group_version: str
) -> None:
    found = await server.read(path)

    assert found["kind"] == "APIResourceList"
    assert found["groupVersion"] == group_version


async def test_a_namespaced_resource_says_so(server: Server) -> None:
    pods = (await _resources(server, "/api/v1"))["pods"]

    assert (pods["kind"], pods["singularName"], pods["namespaced"]) == ("Pod", "pod", True)
    assert pods["shortNames"] == ["po"]
    assert pods["categories"] == ["all"]
    assert set(pods["verbs"]) == ALL_VERBS


async def test_a_cluster_wide_resource_says_so(server: Server) -> None:
    namespaces = (await _resources(server, "/api/v1"))["namespaces"]

    assert namespaces["namespaced"] is False
    assert namespaces["shortNames"] == ["ns"]
    # Not all at once: there is no deletecollection.
    assert set(namespaces["verbs"]) == ALL_VERBS - {"deletecollection"}


async def test_subresources_are_listed_beside_their_resource(server: Server) -> None:
    resources = await _resources(server, "/apis/apps/v1")

    assert set(resources["deployments/status"]["verbs"]) == {"get", "patch", "update"}
    assert resources["deployments/status"]["kind"] == "Deployment"
    scale = resources["deployments/scale"]
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")
    assert set(scale["verbs"]) == {"get", "patch", "update"}


async def test_a_kind_of_another_group_is_named_with_it(server: Server) -> None:
    eviction = (await _resources(server, "/api/v1"))["pods/eviction"]

    assert (eviction["group"], eviction["version"], eviction["kind"]) == (
        "policy",
        "v1",
        "Eviction",
    )
    assert eviction["verbs"] == ["create"]


async def test_one_document_has_the_core_group(server: Server) -> None:
    answer = await server.get("/api", accept=AGGREGATED)

    assert answer.headers["Content-Type"] == AGGREGATED
    found = answer.object()
    assert found["kind"] == "APIGroupDiscoveryList"
    assert found["apiVersion"] == "apidiscovery.k8s.io/v2"
    versions = await _aggregated(server, "/api", "")
    pods = {each["resource"]: each for each in versions["v1"]["resources"]}["pods"]
    assert pods["scope"] == "Namespaced"
    assert pods["singularResource"] == "pod"
    assert pods["responseKind"]["kind"] == "Pod"
    assert pods["shortNames"] == ["po"]
    assert set(pods["verbs"]) == ALL_VERBS
    assert {"status", "binding", "eviction", "log"} <= {
        each["subresource"] for each in pods["subresources"]
    }


async def test_one_document_has_every_other_group(server: Server) -> None:
    found = (await server.get("/apis", accept=AGGREGATED)).object()
    legacy = await server.read("/apis")

    in_document = {each["metadata"]["name"] for each in found["items"]}
    assert in_document >= {group["name"] for group in legacy["groups"]} - _defined(legacy)
    apps = (await _aggregated(server, "/apis", "apps"))["v1"]
    assert apps["freshness"] == "Current"
    deployments = {each["resource"]: each for each in apps["resources"]}["deployments"]
    assert deployments["scope"] == "Namespaced"
    assert deployments["shortNames"] == ["deploy"]
    subresources = {each["subresource"]: each for each in deployments["subresources"]}
    assert subresources["scale"]["responseKind"] == {
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
    }


def _defined(legacy: Json) -> set[str]:
    """Groups of custom kinds, which other tests may be adding at this moment."""
    named = {group["name"] for group in legacy["groups"]}
    return {name for name in named if name.endswith("kinform.test")}


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_the_old_form_is_the_fallback(server: Server, path: str) -> None:
    answer = await server.get(path, accept=f"{AGGREGATED},{JSON}")
    old = await server.get(path, accept=JSON)

    assert answer.object()["kind"] == "APIGroupDiscoveryList"
    assert old.headers["Content-Type"] == JSON
    assert old.object()["kind"] in ("APIVersions", "APIGroupList")


async def test_a_version_of_the_document_that_is_gone_is_not_acceptable(server: Server) -> None:
    gone = AGGREGATED.replace("v=v2", "v=v2beta1")

    assert_refused(await server.get("/apis", accept=gone), 406, "NotAcceptable")
    fallback = await server.get("/apis", accept=f"{gone},{JSON}")
    assert fallback.object()["kind"] == "APIGroupList"


async def test_the_document_is_sent_once(server: Server) -> None:
    first = await server.get("/api", accept=AGGREGATED)
    tag = first.headers["ETag"]

    again = await server.request("GET", "/api", accept=AGGREGATED, headers={"If-None-Match": tag})
    other = await server.request(
        "GET", "/api", accept=AGGREGATED, headers={"If-None-Match": '"another"'}
    )

    assert first.headers["Cache-Control"] == "public"
    assert first.headers["Vary"] == "Accept"
    assert (again.status, again.body) == (304, b"")
    assert again.headers["ETag"] == tag
    assert other.object() == first.object()


async def test_both_forms_agree_on_the_resources_of_a_group_version(server: Server) -> None:
    legacy = await _resources(server, "/apis/batch/v1")
    aggregated = (await _aggregated(server, "/apis", "batch"))["v1"]

    found = {
        name
        for each in aggregated["resources"]
        for name in (
            each["resource"],
            *(f"{each['resource']}/{sub['subresource']}" for sub in each.get("subresources", [])),
        )
    }
    assert found == set(legacy)
