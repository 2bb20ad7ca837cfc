"""Reads resources, required fields and enums from a real kube-apiserver.

All feature gates are enabled, so that alpha resources are included.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.cluster import RealCluster
from tools.schema.table import Resource, Subresource

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_EVERY_GATE = "--feature-gates=AllAlpha=true,AllBeta=true"


@dataclass(frozen=True, slots=True)
class Property:
    """What the server's schema contains about a field, besides its type."""

    required: bool
    enum: tuple[str, ...]


Schemas = Mapping[str, Mapping[str, Property]]
"""By the name in OpenAPI (``io.k8s.api.core.v1.Pod``), then by the name in JSON."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """``group_versions`` are in the server's order of preference."""

    version: str
    group_versions: tuple[tuple[str, str], ...]
    resources: tuple[Resource, ...]
    schemas: Schemas


def read_real_server() -> ServerFacts:
    """Start a server, read its API, and stop it."""
    with RealCluster(apiserver_options=[_EVERY_GATE]) as cluster:
        tls = cluster.ssl_context()

        def ask(path: str, accept: str = "application/json") -> Any:
            headers = {"Accept": accept, "Authorization": f"Bearer {cluster.admin_token}"}
            request = urllib.request.Request(cluster.url + path, headers=headers)
            with urllib.request.urlopen(request, context=tls, timeout=60) as answer:
                return json.load(answer)

        groups = [item for root in ("/api", "/apis") for item in ask(root, _AGGREGATED)["items"]]
        return ServerFacts(
            version=ask("/version")["gitVersion"],
            group_versions=tuple((group, version) for group, version, _ in _versions(groups)),
            resources=tuple(
                _resource(group, version, resource)
                for group, version, resources in _versions(groups)
                for resource in resources
            ),
            schemas=_schemas(
                ask(document["serverRelativeURL"])
                for document in ask("/openapi/v3")["paths"].values()
            ),
        )


def _versions(groups: list[Any]) -> Iterator[tuple[str, str, list[Any]]]:
    for group in groups:
        for version in group["versions"]:
            yield group["metadata"].get("name", ""), version["version"], version["resources"]


def _resource(group: str, version: str, resource: Any) -> Resource:
    own = (group, version)
    *of, kind = _kind(resource, own)
    if of != [*own]:
        raise ValueError(f"{resource['resource']} of {own} has a kind of {of}: {kind}")
    return Resource(
        group=group,
        version=version,
        plural=resource["resource"],
        singular=resource["singularResource"],
        kind=kind,
        namespaced=resource["scope"] == "Namespaced",
        verbs=tuple(resource["verbs"]),
        short_names=tuple(resource.get("shortNames", ())),
        categories=tuple(resource.get("categories", ())),
        subresources=tuple(_subresource(each, own) for each in resource.get("subresources", ())),
    )


def _subresource(subresource: Any, own: tuple[str, str]) -> Subresource:
    group, version, kind = _kind(subresource, own)
    return Subresource(
        name=subresource["subresource"],
        group=group,
        version=version,
        kind=kind,
        verbs=tuple(subresource["verbs"]),
    )


def _kind(row: Any, own: tuple[str, str]) -> tuple[str, str, str]:
    """Return group, version and kind; empty ones are those of the resource."""
    kind = row["responseKind"]
    group, version = (kind["group"], kind["version"]) if kind["version"] else own
    return group, version, kind["kind"]


def _schemas(documents: Iterator[Any]) -> Schemas:
    """Combine the schemas of all documents; each has those that its paths use."""
    found: dict[str, dict[str, Property]] = {}
    for document in documents:
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            required = schema.get("required", ())
            properties = {
                field: Property(required=field in required, enum=_enum(of))
                for field, of in schema.get("properties", {}).items()
            }
            if found.setdefault(name, properties) != properties:
                raise ValueError(f"two documents of the server's OpenAPI differ about {name}")
    return found


def _enum(schema: Any) -> tuple[str, ...]:
    """Return the allowed values of the field or of its elements."""
    if "enum" in schema:
        return tuple(schema["enum"])
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict) and (values := _enum(inner)):
            return values
    return ()
