"""The discovery documents of the registry, in the legacy and in the aggregated form."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from kinform.api import GVK
from kinform.testing import api_errors
from kinform.testing.formats import JSON, PROTOBUF, parse_accept
from kinform.testing.resources import (
    KUBERNETES_VERSION,
    ResourceRegistry,
    ServedResource,
    Subresource,
)

Json = dict[str, Any]

AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_FULL_VERSION = {
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


class ApiDiscovery:
    """The discovery documents of a server, built on demand and cached until they change."""

    def __init__(self, registry: ResourceRegistry) -> None:
        self._registry = registry
        self._made: dict[str, tuple[int, bytes, str]] = {}

    def requests_aggregated(self, accept: str) -> bool:
        """Whether a client requests the aggregated document.

        Raises:
            NotAcceptableError: The client only accepts formats that are not supported.
        """
        for clause in parse_accept(accept):
            kind = clause.parameters.get("as")
            # These documents have no protobuf form: clients that request it can read JSON.
            if clause.media_type in ("*/*", JSON, PROTOBUF) and not kind:
                return False
            if clause.media_type == JSON and (
                clause.parameters.get("g"),
                clause.parameters.get("v"),
                kind,
            ) == ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"):
                return True
        if not accept:
            return False
        raise api_errors.not_acceptable(
            "only the following media types are accepted: application/json, "
            "application/yaml, application/vnd.kubernetes.protobuf"
        )

    def aggregated(self, path: str) -> tuple[bytes, str]:
        """Return the aggregated document of ``/api`` or ``/apis``, and its ETag."""
        made = self._made.get(path)
        if made is None or made[0] != self._registry.revision:
            core = path == "/api"
            items = [
                _group_document(self._registry, group, versions)
                for group, versions in self._registry.groups().items()
                if (group == "") is core
            ]
            document = {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": "apidiscovery.k8s.io/v2",
                "metadata": {},
                "items": items,
            }
            body = msgspec.json.encode(document) + b"\n"
            tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
            made = self._made[path] = (self._registry.revision, body, tag)
        return made[1], made[2]

    def core_versions(self, address: str) -> Json:
        """Return ``/api`` in the legacy form."""
        return {
            "kind": "APIVersions",
            "versions": self._registry.groups().get("", []),
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }

    def group_list(self) -> Json:
        """Return ``/apis`` in the legacy form."""
        groups = [
            _group_entry(group, versions)
            for group, versions in self._registry.groups().items()
            if group
        ]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> Json | None:
        """Return one group, or ``None`` if it is not served."""
        versions = self._registry.groups().get(name)
        if not versions or not name:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **_group_entry(name, versions)}

    def resource_list(self, group: str, version: str) -> Json | None:
        """Return the resources of one group-version, or ``None`` if it is not served."""
        if version not in self._registry.groups().get(group, ()):
            return None
        resources: list[Json] = []
        for served in self._registry.resources(group, version):
            resources.append(_resource_entry(served))
            resources += [_subresource_entry(served, sub) for sub in served.subresources.values()]
        head: Json = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        name = f"{group}/{version}" if group else version
        return {**head, "groupVersion": name, "resources": resources}

    def paths(self) -> Json:
        """Return the paths listed at ``/``."""
        paths = ["/api", "/apis", "/healthz", "/livez", "/readyz", "/version"]
        for group, versions in self._registry.groups().items():
            root = f"/apis/{group}" if group else "/api"
            paths += [root, *(f"{root}/{version}" for version in versions)]
        return {"paths": sorted(set(paths))}

    @staticmethod
    def version() -> Json:
        return {**KUBERNETES_VERSION, **_FULL_VERSION}


def _group_entry(group: str, versions: list[str]) -> Json:
    entries = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _resource_entry(served: ServedResource) -> Json:
    entry: Json = {
        "name": served.gvr.resource,
        "singularName": served.singular,
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        entry["shortNames"] = list(served.short_names)
    if served.categories:
        entry["categories"] = list(served.categories)
    if served.storage_version_hash:
        entry["storageVersionHash"] = served.storage_version_hash
    return entry


def _subresource_entry(served: ServedResource, sub: Subresource) -> Json:
    entry: Json = {
        "name": f"{served.gvr.resource}/{sub.name}",
        "singularName": "",
        "namespaced": served.namespaced,
    }
    if sub.gvk.api_version != served.api_version:
        entry |= {"group": sub.gvk.group, "version": sub.gvk.version}
    return {**entry, "kind": sub.gvk.kind, "verbs": list(sub.verbs)}


def _group_document(registry: ResourceRegistry, group: str, versions: list[str]) -> Json:
    return {
        "metadata": {"name": group} if group else {},
        "versions": [
            {
                "version": version,
                "resources": [
                    _resource_document(served) for served in registry.resources(group, version)
                ],
                "freshness": "Current",
            }
            for version in versions
        ],
    }


def _resource_document(served: ServedResource) -> Json:
    document: Json = {
        "resource": served.gvr.resource,
        "responseKind": _response_kind(served, served.gvk),
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        document["shortNames"] = list(served.short_names)
    if served.categories:
        document["categories"] = list(served.categories)
    if served.subresources:
        document["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(served, sub.gvk),
                "verbs": list(sub.verbs),
            }
            for sub in served.subresources.values()
        ]
    return document


def _response_kind(served: ServedResource, gvk: GVK) -> Json:
    """Return the kind; if built-in and of the same group-version, without group and version."""
    if not served.custom and gvk.api_version == served.api_version:
        return {"group": "", "version": "", "kind": gvk.kind}
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
