"""Small subresources: binding and eviction of pods, tokens, finalizers of namespaces."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from kinform.api import GVK
from kinform.testing import api_errors
from kinform.testing.api_errors import QualifiedName
from kinform.testing.requests import expect_kind, parse_delete_options
from kinform.testing.resources import ServedResource
from kinform.testing.storage import ClusterState, ObjectDocument, StoredObject
from kinform.testing.verbs._delete import delete_object
from kinform.testing.verbs._writes import find_object, is_deletable, remove_object, store_object

Json = dict[str, Any]

_BINDING = GVK("", "v1", "Binding")
_TOKEN_LIFE = 3600


def bind_pod(
    cluster: ClusterState,
    served: ServedResource,
    namespace: str,
    name: str,
    body: Json,
    dry_run: bool,
) -> None:
    """Bind a pod to a node, as a scheduler does.

    Raises:
        ConflictError: The pod is already bound.
    """
    expect_kind(body, _BINDING)
    stored = find_object(cluster, served, namespace, name)
    document = stored.document()
    spec = document.edit("spec")
    node = (body.get("target") or {}).get("name", "")
    if not node:
        problem = api_errors.required("target.name")
        raise api_errors.invalid(QualifiedName("", _BINDING.kind), name, [problem])
    if spec.get("nodeName"):
        named = QualifiedName("", "pods/binding")
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
        raise api_errors.conflict(named, name, why)
    spec["nodeName"] = node
    store_object(cluster, served, stored.key, document, dry_run=dry_run, old=stored)


def evict_pod(
    cluster: ClusterState, served: ServedResource, namespace: str, name: str, body: Json
) -> None:
    """Delete a pod. Disruption budgets are ignored."""
    given = body.get("deleteOptions")
    options = parse_delete_options({}, msgspec.json.encode(given) if given else b"", "")
    delete_object(cluster, served, namespace, name, options)


def create_token(
    cluster: ClusterState, served: ServedResource, namespace: str, name: str, body: Json
) -> Json:
    """Return a fake token in the usual format, which cannot be verified."""
    find_object(cluster, served, namespace, name)
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
    cluster: ClusterState, served: ServedResource, stored: StoredObject, given: Json, dry_run: bool
) -> StoredObject:
    """Set the remaining finalizers of a namespace."""
    finalizers = (given.get("spec") or {}).get("finalizers") or []
    if dry_run:
        return stored
    document = set_namespace_finalizers(cluster, served, stored, finalizers)
    if stored.key not in cluster.collection(served).objects:
        return store_object(cluster, served, stored.key, document, dry_run=True, old=stored)
    return store_object(cluster, served, stored.key, document, dry_run=False)


def set_namespace_finalizers(
    cluster: ClusterState, served: ServedResource, stored: StoredObject, finalizers: list[Any]
) -> ObjectDocument:
    """Set the finalizers of a namespace; remove it if it is being deleted and has none."""
    document = stored.document()
    spec = document.edit("spec")
    spec["finalizers"] = finalizers
    if not finalizers:
        del spec["finalizers"]
    if is_deletable(served, document):
        remove_object(cluster, served, stored)
    return document
