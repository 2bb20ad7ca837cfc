"""Defining kinds: a POST makes one, discovery shows it, a DELETE takes it and its objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tests.conformance.harness import Json, Server, assert_refused, names
from tests.conformance.samples import CRDS, custom_resource_definition, new_group

Define = Callable[[Json], Awaitable[None]]
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def _sprocket(group: str, name: str) -> Json:
    return {"apiVersion": f"{group}/v1", "kind": "Sprocket", "metadata": {"name": name}}


def _sprockets(group: str, **options: Any) -> Json:
    return custom_resource_definition("sprockets", "Sprocket", group=group, **options)


async def test_a_definition_becomes_established(server: Server, define: Define) -> None:
    definition = _sprockets(new_group())
    await define(definition)
    path = f"{CRDS}/{definition['metadata']['name']}"

    async def established() -> bool:
        found = await server.read(path)
        conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
        return conditions == {"NamesAccepted": "True", "Established": "True"}

    await server.eventually(established, what="the definition is established")
    status = (await server.read(path))["status"]
    assert status["acceptedNames"] == definition["spec"]["names"]
    assert status["storedVersions"] == ["v1"]


async def test_list_kind_and_singular_have_defaults(server: Server) -> None:
    group = new_group()
    definition = _sprockets(group)
    definition["spec"]["names"] = {"plural": "sprockets", "kind": "Sprocket"}

    created = await server.create(CRDS, definition)

    assert created["spec"]["names"] == {
        "plural": "sprockets",
        "singular": "sprocket",
        "kind": "Sprocket",
        "listKind": "SprocketList",
    }


async def test_a_definition_must_be_named_after_its_resource(server: Server) -> None:
    definition = _sprockets(new_group())
    definition["metadata"]["name"] = f"wrong.{definition['spec']['group']}"

    status = assert_refused(await server.post(CRDS, definition), 422, "Invalid")

    causes = status["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["metadata.name"]
    assert causes[0]["message"].endswith('must be spec.names.plural+"."+spec.group')


async def test_a_definition_shows_in_legacy_discovery(server: Server, define: Define) -> None:
    group = new_group()
    await define(_sprockets(group, versions=("v1beta1", "v1"), subresources={"status": {}}))

    async def announced() -> bool:
        return (await server.get(f"/apis/{group}/v1")).status == 200

    await server.eventually(announced, what="the group version is announced")
    api_group = await server.read(f"/apis/{group}")
    assert api_group["kind"] == "APIGroup"
    # By how stable they are, not in the order of the definition.
    assert [each["version"] for each in api_group["versions"]] == ["v1", "v1beta1"]
    assert api_group["preferredVersion"] == {"groupVersion": f"{group}/v1", "version": "v1"}
    resources = {
        each["name"]: each for each in (await server.read(f"/apis/{group}/v1"))["resources"]
    }
    assert set(resources) == {"sprockets", "sprockets/status"}
    main = resources["sprockets"]
    assert (main["kind"], main["singularName"], main["namespaced"]) == (
        "Sprocket",
        "sprocket",
        True,
    )
    assert main["shortNames"] == ["spr"]
    assert main["categories"] == ["conformance"]
    assert set(main["verbs"]) == {
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    }
    assert set(resources["sprockets/status"]["verbs"]) == {"get", "patch", "update"}


async def test_a_definition_shows_in_aggregated_discovery(server: Server, define: Define) -> None:
    group = new_group()
    await define(_sprockets(group, scope="Cluster"))

    async def announced() -> bool:
        return await _aggregated(server, group) is not None

    await server.eventually(announced, what="the group is announced")
    found = await _aggregated(server, group)
    assert found is not None
    (version,) = found["versions"]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    (resource,) = version["resources"]
    assert resource["resource"] == "sprockets"
    assert resource["scope"] == "Cluster"
    assert resource["singularResource"] == "sprocket"
    assert resource["responseKind"] == {"group": group, "version": "v1", "kind": "Sprocket"}


async def _aggregated(server: Server, group: str) -> Json | None:
    everything = (await server.get("/apis", accept=AGGREGATED)).object()
    for each in everything["items"]:
        if each["metadata"]["name"] == group:
            assert isinstance(each, dict)
            return each
    return None


async def test_a_version_that_is_not_served_is_not_there(server: Server, define: Define) -> None:
    group = new_group()
    definition = _sprockets(group, versions=("v1beta1", "v1"))
    definition["spec"]["versions"][0]["served"] = False

    await define(definition)

    assert (await server.get(f"/apis/{group}/v1beta1/sprockets")).status == 404


async def test_deleting_a_definition_takes_its_objects_and_its_path(
    server: Server, define: Define, namespace: str
) -> None:
    """Takes 2 s on a real server: so long the first object of a new kind does."""
    group = new_group()
    definition = _sprockets(group)
    path = f"/apis/{group}/v1/namespaces/{namespace}/sprockets"
    await define(definition)
    await server.create(path, _sprocket(group, "one"))

    (await server.delete(f"{CRDS}/{definition['metadata']['name']}")).object()

    async def gone() -> bool:
        everywhere = f"/apis/{group}/v1/sprockets"
        found = await server.get(f"{CRDS}/{definition['metadata']['name']}")
        return (await server.get(everywhere)).status == 404 and found.status == 404

    await server.eventually(gone, what="the kind is gone")
    await define(definition)
    assert names(await server.read(path)) == []


async def test_definitions_are_kinds_like_any_other(server: Server, define: Define) -> None:
    definition = _sprockets(new_group())
    await define(definition)

    listed = await server.read(CRDS)

    assert listed["kind"] == "CustomResourceDefinitionList"
    assert definition["metadata"]["name"] in names(listed)
    assert_refused(await server.post(CRDS, definition), 409, "AlreadyExists")
