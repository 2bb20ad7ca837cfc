"""Objects to test with: a pod as a server sends it, and a codec that says what was asked of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kinform.api import GVK
from kinform.objects import JSON, Codec, Head, PartGroup, Path, Record

POD = GVK.of("v1", "Pod")


def pod_tree(name: str = "web-1") -> dict[str, Any]:
    """A pod with something of everything, and fields that no model knows."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": "b1946ac9-2d4c-4ba3-9e0b-000000000001",
            "resourceVersion": "1042",
            "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "web", "app.kubernetes.io/part-of": "shop"},
            "annotations": {"note": "first"},
            "finalizers": ["example.com/guard"],
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u-rs"},
                {"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "u-j", "controller": True},
            ],
            "futureMember": {"kept": True},
        },
        "spec": {
            "nodeName": "node-1",
            "containers": [
                {"name": "main", "image": "web:1", "ports": [{"containerPort": 80}]},
                {"name": "side", "image": "side:1"},
            ],
            "priority": None,
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        "futurePart": {"x": [1, 2.5, "three", None, True]},
    }


def payload_of(tree: Any) -> bytes:
    return json.dumps(tree, ensure_ascii=False).encode()


def record_of(tree: dict[str, Any], *, default_gvk: GVK | None = None) -> Record:
    return Record.read(payload_of(tree), JSON, default_gvk=default_gvk)


class CountingCodec:
    """JSON, and a list of what was decoded."""

    name = "json"

    def __init__(self) -> None:
        self.calls: list[str] = []

    def read_head(self, payload: bytes) -> tuple[Head, GVK | None]:
        self.calls.append("head")
        return JSON.read_head(payload)

    def decode(self, payload: bytes) -> dict[str, Any]:
        self.calls.append("whole")
        return JSON.decode(payload)

    def decode_part(self, payload: bytes, part: str) -> Any:
        self.calls.append(part)
        return JSON.decode_part(payload, part)

    def decode_path(self, payload: bytes, path: Path) -> Any:
        self.calls.append(str(path))
        return JSON.decode_path(payload, path)

    def decode_parts(
        self, payload: bytes, group: PartGroup, *, read_only: bool = False
    ) -> Sequence[Any]:
        self.calls.append("+".join(part.name for part in group.parts))
        return JSON.decode_parts(payload, group, read_only=read_only)

    def encode(self, tree: Any) -> bytes:
        self.calls.append("encode")
        return JSON.encode(tree)

    def keep_metadata(self, payload: bytes) -> tuple[Codec, bytes]:
        self.calls.append("keep_metadata")
        return JSON.keep_metadata(payload)

    def drop_metadata(self, payload: bytes, fields: frozenset[str]) -> bytes:
        self.calls.append("drop_metadata")
        return JSON.drop_metadata(payload, fields)

    def editable(self, payload: bytes) -> tuple[Codec, bytes]:
        return JSON, payload
