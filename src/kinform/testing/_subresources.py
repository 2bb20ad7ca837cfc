"""Subresources other than status: scale and several small ones."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from kinform.api import GVK, LabelSelector
from kinform.errors import SelectorError
from kinform.testing import _status
from kinform.testing._bodies import decode_any, expect_kind
from kinform.testing._cluster import Cluster
from kinform.testing._deletes import delete
from kinform.testing._documents import Document
from kinform.testing._namespaces import finalized
from kinform.testing._options import WriteOptions, parse_delete_options
from kinform.testing._patches import decode_patch, patch_value
from kinform.testing._resources import ScalePaths, ServedResource
from kinform.testing._status import Resource
from kinform.testing._storage import Stored
from kinform.testing._writes import check_name, commit, find, store

Json = dict[str, Any]

_SCALE = GVK("autoscaling", "v1", "Scale")
_BINDING = GVK("", "v1", "Binding")
_TOKEN_LIFE = 3600


def read_scale(scale: ScalePaths, stored: Stored) -> Json:
    """Return the Scale of an object: its current and its desired replicas."""
    document = stored.document()
    metadata = document.read("metadata")
    selector = _walk(document, scale.selector)
    if isinstance(selector, dict):
        selector = _selector_text(selector)
    status: Json = {"replicas": _walk(document, scale.status_replicas) or 0}
    if selector:
        status["selector"] = selector
    spec: Json = {}
    if replicas := _walk(document, scale.spec_replicas):
        spec["replicas"] = replicas
    named = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": _SCALE.kind,
        "apiVersion": _SCALE.api_version,
        "metadata": {key: metadata[key] for key in named if key in metadata},
        "spec": spec,
        "status": status,
    }


def replace_scale(
    cluster: Cluster,
    served: ServedResource,
    scale: ScalePaths,
    stored: Stored,
    given: Json,
    options: WriteOptions,
) -> Json:
    """Set the desired replicas of an object.

    Raises:
        ConflictError: The version of the Scale is not the latest.
        InvalidError: The number is invalid.
    """
    expect_kind(given, _SCALE)
    replicas = (given.get("spec") or {}).get("replicas", 0)
    metadata = given.get("metadata") or {}
    name = stored.metadata()["name"]
    check_name(metadata.get("name", ""), name)
    if not isinstance(replicas, int) or replicas < 0:
        why = "must be greater than or equal to 0"
        problem = _status.wrong_value("spec.replicas", replicas, why)
        raise _status.invalid(Resource(_SCALE.group, _SCALE.kind), name, [problem])
    version = metadata.get("resourceVersion") or ""
    if version not in ("", "0", str(stored.resource_version)):
        raise _status.modified(served.named, name)
    document = stored.document()
    first, *between, last = scale.spec_replicas
    target = document.edit(first)
    for step in between:
        target = target.setdefault(step, {})
    target[last] = replicas
    return read_scale(scale, commit(cluster, served, stored, document, options))


def scale_request(
    cluster: Cluster,
    served: ServedResource,
    stored: Stored,
    method: str,
    body: bytes,
    content_type: str,
    options: WriteOptions,
) -> Json:
    """Handle a GET, PUT or PATCH of a Scale."""
    assert served.scale is not None  # otherwise the subresource is not served
    if method == "GET":
        return read_scale(served.scale, stored)
    if method == "PUT":
        given = decode_any(body, content_type, _SCALE)
    else:
        kind, patch = decode_patch(body, content_type, served)
        given = patch_value(kind, read_scale(served.scale, stored), patch)
    return replace_scale(cluster, served, served.scale, stored, given, options)


def bind(
    cluster: Cluster, served: ServedResource, namespace: str, name: str, body: Json, dry_run: bool
) -> None:
    """Bind a pod to a node, as a scheduler does.

    Raises:
        ConflictError: The pod is already bound.
    """
    expect_kind(body, _BINDING)
    stored = find(cluster, served, namespace, name)
    document = stored.document()
    spec = document.edit("spec")
    node = (body.get("target") or {}).get("name", "")
    if not node:
        problem = _status.required("target.name")
        raise _status.invalid(Resource("", _BINDING.kind), name, [problem])
    if spec.get("nodeName"):
        named = Resource("", "pods/binding")
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
        raise _status.conflict(named, name, why)
    spec["nodeName"] = node
    store(cluster, served, stored.key, document, dry_run=dry_run, old=stored)


def evict(cluster: Cluster, served: ServedResource, namespace: str, name: str, body: Json) -> None:
    """Delete a pod. Disruption budgets are ignored."""
    given = body.get("deleteOptions")
    options = parse_delete_options({}, msgspec.json.encode(given) if given else b"", "")
    delete(cluster, served, namespace, name, options)


def token(cluster: Cluster, served: ServedResource, namespace: str, name: str, body: Json) -> Json:
    """Return a fake token in the usual format, which cannot be verified."""
    find(cluster, served, namespace, name)
    spec = dict(body.get("spec") or {})
    lifetime = spec.setdefault("expirationSeconds", _TOKEN_LIFE)
    claims = {"sub": f"system:serviceaccount:{namespace}:{name}"}
    encoded = base64.urlsafe_b64encode(msgspec.json.encode(claims)).rstrip(b"=").decode()
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": cluster.timestamp(),
        },
        "spec": spec,
        "status": {
            "token": f"e30.{encoded}.",
            "expirationTimestamp": cluster.timestamp(seconds_from_now=lifetime),
        },
    }


def finalize_namespace(
    cluster: Cluster, served: ServedResource, stored: Stored, given: Json, dry_run: bool
) -> Stored:
    """Set the remaining finalizers of a namespace."""
    finalizers = (given.get("spec") or {}).get("finalizers") or []
    if dry_run:
        return stored
    document = finalized(cluster, served, stored, finalizers)
    if stored.key not in cluster.collection(served).objects:
        return store(cluster, served, stored.key, document, dry_run=True, old=stored)
    return store(cluster, served, stored.key, document, dry_run=False)


def _walk(document: Document, path: tuple[str, ...]) -> Any:
    if not path:
        return None
    value = document.read(path[0])
    for step in path[1:]:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _selector_text(selector: Json) -> str:
    """Return an object's selector as text; replication controllers have plain labels."""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        selector = {"matchLabels": selector}
    try:
        return str(LabelSelector.from_match(selector))
    except SelectorError:
        return ""
