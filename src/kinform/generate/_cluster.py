"""Reads the kinds of a group-version from a cluster.

Kinds with a CustomResourceDefinition are read from it. Others, such as those of an aggregated
API or without permission to read definitions, are read from the OpenAPI v3 document.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kinform.api import GVK, GVR, ApiResource
from kinform.client import Client
from kinform.errors import (
    ApiError,
    ConfigError,
    DecodeError,
    DiscoveryError,
    InvalidNameError,
    NoMatchError,
)
from kinform.generate._crd import CustomKind, Json, kinds_of
from kinform.transport import Request, Transport

_DEFINITIONS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_SECONDS = 60.0
_LARGEST_DOCUMENT = 256 << 20
_WATCHABLE = frozenset({"list", "watch"})


async def read_cluster(
    client: Client, transport: Transport, group_version: str
) -> list[CustomKind]:
    """Return the kinds of one group-version.

    Args:
        client: The client of the cluster.
        transport: The transport of the client.
        group_version: Such as ``stable.example.com/v1``.

    Raises:
        ConfigError: The group-version is malformed.
        NoMatchError: The cluster has no such group-version; the message names the closest one.
        DecodeError: The discovery or OpenAPI documents of the cluster are invalid.
    """
    group, version = _parse(group_version)
    served = await client.discovery.resources()
    wanted = [each for each in served if (each.gvr.group, each.gvr.version) == (group, version)]
    if not wanted:
        raise NoMatchError(
            f"the server has no {group_version}{_suggestion(group, version, served)}"
        )
    kinds = [
        kind
        for definition in await _definitions(client, group)
        for kind in kinds_of(definition, "the cluster", _silent)
        if kind.gvr.version == version
    ]
    if kinds:
        return kinds
    return list(_from_document(await _document(transport, group, version), wanted))


def _parse(group_version: str) -> tuple[str, str]:
    group, _, version = group_version.rpartition("/")
    try:
        GVK(group, version, "Any")
    except InvalidNameError:
        raise ConfigError(
            f"{group_version!r} is not a group-version; write it as stable.example.com/v1"
        ) from None
    return group, version


def _suggestion(group: str, version: str, served: Sequence[ApiResource]) -> str:
    known = list(dict.fromkeys(each.gvr.api_version for each in served))
    near = [each for each in known if each.rpartition("/")[0] == group]
    if not near:
        near = difflib.get_close_matches(f"{group}/{version}" if group else version, known, n=3)
    if not near:
        return "; is its CustomResourceDefinition installed?"
    return f"; did you mean {' or '.join(near)}?"


def _silent(message: str) -> None:
    """Ignore warnings about versions that were not requested."""


# -- definitions -----------------------------------------------------------------------------


async def _definitions(client: Client, group: str) -> list[Json]:
    try:
        found = await client.list(_DEFINITIONS)
    except (ApiError, DiscoveryError):
        # No permission, or a server without definitions. The OpenAPI document has the kinds, too.
        return []
    definitions = [each.to_dict() for each in found]
    return [each for each in definitions if each.get("spec", {}).get("group") == group]


# -- documents -------------------------------------------------------------------------------


async def _document(transport: Transport, group: str, version: str) -> Json:
    root = f"apis/{group}" if group else "api"
    path = f"/openapi/v3/{root}/{version}"
    request = Request("GET", path, headers={"Accept": "application/json"}, total_timeout=_SECONDS)
    response = await transport.send(request)
    try:
        body = await response.read(_LARGEST_DOCUMENT)
    finally:
        await response.close()
    if response.status != 200:
        raise DiscoveryError(
            f"the server has no schemas at {path} ({response.status}); "
            "if you have its CustomResourceDefinitions as files, use --crd"
        )
    try:
        document = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise DecodeError(f"{path} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise DecodeError(f"{path} is not an OpenAPI document")
    return document


def _from_document(document: Json, resources: Sequence[ApiResource]) -> Iterator[CustomKind]:
    components = _mapping(_mapping(document.get("components")).get("schemas"))
    schemas = {gvk: schema for schema in components.values() for gvk in _kinds_of_schema(schema)}
    for resource in resources:
        schema = schemas.get((resource.gvr.group, resource.gvr.version, resource.kind))
        yield CustomKind(
            resource.gvr,
            resource.kind,
            resource.namespaced,
            schema or {},
            components,
            can_watch=resource.verbs >= _WATCHABLE,
        )


def _kinds_of_schema(schema: object) -> Iterator[tuple[Any, Any, Any]]:
    listed = _mapping(schema).get("x-kubernetes-group-version-kind")
    for each in listed if isinstance(listed, list) else ():
        known = _mapping(each)
        yield known.get("group"), known.get("version"), known.get("kind")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
