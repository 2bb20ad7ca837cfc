"""What a server should say, as data; for the scripted server and the memory transport alike."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from kinform.api import GVR, ApiResource

AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True)
class Answer:
    """A whole answer. ``chunks`` is its body as it arrives, if that matters."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: Sequence[bytes] | None = None

    def raw(self) -> bytes:
        """As HTTP/1.1, with the length told beforehand."""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = "Whatever"
        lines = [f"HTTP/1.1 {self.status} {phrase}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.status != 304:
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode() + self.body


def json_answer(
    document: Any, status: int = 200, *, content_type: str = "application/json", **headers: str
) -> Answer:
    """JSON. A header's name is written with underscores: ``Retry_After="1"``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps(document, separators=(",", ":")).encode() + b"\n"
    return Answer(status, body, {"Content-Type": content_type, **named})


def text_answer(
    text: str, status: int = 200, *, content_type: str = "text/plain; charset=utf-8", **headers: str
) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, text.encode(), {"Content-Type": content_type, **named})


def watch_answer(*chunks: bytes) -> Answer:
    """A watch that sends ``chunks`` and ends cleanly."""
    return Answer(200, headers={"Content-Type": "application/json"}, chunks=chunks)


def event(type: str, obj: Any) -> bytes:
    """One line of a watch, as servers write it."""
    return json.dumps({"type": type, "object": obj}, separators=(",", ":")).encode() + b"\n"


def status(code: int, reason: str = "", message: str = "", **more: Any) -> dict[str, Any]:
    """A Status of failure, in the server's order."""
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": more.pop("metadata", {}),
        "status": "Failure",
        "message": message or f"refused with {code}",
        "reason": reason,
        **more,
        "code": code,
    }
    return {name: value for name, value in document.items() if value != ""}


def pod(
    name: str = "a", *, namespace: str = "default", rv: str = "1", **more: Any
) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": rv}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, **more}


def pod_list(
    *items: Mapping[str, Any], rv: str = "10", continue_token: str = "", **metadata: Any
) -> dict[str, Any]:
    """As the server sends it: the items do not say their kind."""
    metadata = {"resourceVersion": rv, "continue": continue_token, **metadata}
    bare = [
        {key: part for key, part in item.items() if key not in ("kind", "apiVersion")}
        for item in items
    ]
    return {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": bare}


def resource(text: str, kind: str, *, namespaced: bool = True, **more: Any) -> ApiResource:
    """From ``apps/v1/deployments``."""
    return ApiResource(GVR.parse(text), kind, namespaced, **more)


PODS = resource(
    "v1/pods", "Pod", singular="pod", short_names=("po",), subresources=("eviction", "status")
)
NODES = resource("v1/nodes", "Node", namespaced=False, singular="node", short_names=("no",))
CONFIG_MAPS = resource("v1/configmaps", "ConfigMap", singular="configmap", short_names=("cm",))
NAMESPACES = resource("v1/namespaces", "Namespace", namespaced=False, singular="namespace")
DEPLOYMENTS = resource(
    "apps/v1/deployments",
    "Deployment",
    singular="deployment",
    short_names=("deploy",),
    subresources=("scale", "status"),
)
WIDGETS = resource("example.com/v1/widgets", "Widget", singular="widget")
ALL_RESOURCES = (PODS, NODES, CONFIG_MAPS, NAMESPACES, DEPLOYMENTS, WIDGETS)


def aggregated(
    resources: Sequence[ApiResource], *, stale: Sequence[tuple[str, str]] = (), etag: str = ""
) -> Answer:
    """One aggregated document. A stale group-version names no resources."""
    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for entry in resources:
        versions = groups.setdefault(entry.gvr.group, {})
        versions.setdefault(entry.gvr.version, []).append(_aggregated_entry(entry))
    for group, version in stale:
        groups.setdefault(group, {})[version] = []
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": version,
                    "resources": entries,
                    "freshness": "Stale" if (group, version) in stale else "Current",
                }
                for version, entries in versions.items()
            ],
        }
        for group, versions in groups.items()
    ]
    document = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2"}
    return json_answer({**document, "items": items}, content_type=AGGREGATED_TYPE, ETag=etag)


def _aggregated_entry(entry: ApiResource) -> dict[str, Any]:
    return {
        "resource": entry.gvr.resource,
        "responseKind": {"group": entry.gvr.group, "version": "", "kind": entry.kind},
        "scope": "Namespaced" if entry.namespaced else "Cluster",
        "singularResource": entry.singular,
        "verbs": sorted(entry.verbs),
        "shortNames": list(entry.short_names),
        "subresources": [{"subresource": name} for name in entry.subresources],
    }


def legacy_resource_list(resources: Sequence[ApiResource]) -> Answer:
    """An ``APIResourceList``: subresources stand beside their resources."""
    entries: list[dict[str, Any]] = []
    for entry in resources:
        described = {"namespaced": entry.namespaced, "kind": entry.kind, "verbs": None}
        entries.append(
            {
                "name": entry.gvr.resource,
                "singularName": entry.singular,
                "shortNames": list(entry.short_names),
                **described,
            }
        )
        entries += [
            {"name": f"{entry.gvr.resource}/{name}", "singularName": "", **described}
            for name in entry.subresources
        ]
    return json_answer({"kind": "APIResourceList", "groupVersion": "v1", "resources": entries})
