"""The scale subresource: reads and sets the replicas of an object."""

from __future__ import annotations

from typing import Any

from kinform.api import GVK, LabelSelector
from kinform.errors import SelectorError
from kinform.testing import api_errors
from kinform.testing.api_errors import QualifiedName
from kinform.testing.requests import ParsedWriteOptions, decode_any, expect_kind
from kinform.testing.resources import ScalePaths, ServedResource
from kinform.testing.storage import ClusterState, ObjectDocument, StoredObject
from kinform.testing.verbs._patch import decode_patch, patch_value
from kinform.testing.verbs._writes import check_name, commit

Json = dict[str, Any]

_SCALE = GVK("autoscaling", "v1", "Scale")


def read_scale(scale: ScalePaths, stored: StoredObject) -> Json:
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
    cluster: ClusterState,
    served: ServedResource,
    scale: ScalePaths,
    stored: StoredObject,
    given: Json,
    options: ParsedWriteOptions,
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
        problem = api_errors.wrong_value("spec.replicas", replicas, why)
        raise api_errors.invalid(QualifiedName(_SCALE.group, _SCALE.kind), name, [problem])
    version = metadata.get("resourceVersion") or ""
    if version not in ("", "0", str(stored.resource_version)):
        raise api_errors.modified(served.qualified_name, name)
    document = stored.document()
    first, *between, last = scale.spec_replicas
    target = document.edit(first)
    for step in between:
        target = target.setdefault(step, {})
    target[last] = replicas
    return read_scale(scale, commit(cluster, served, stored, document, options))


def handle_scale(
    cluster: ClusterState,
    served: ServedResource,
    stored: StoredObject,
    method: str,
    body: bytes,
    content_type: str,
    options: ParsedWriteOptions,
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


def _walk(document: ObjectDocument, path: tuple[str, ...]) -> Any:
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
