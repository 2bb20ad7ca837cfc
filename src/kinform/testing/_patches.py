"""Patches stored objects."""

from __future__ import annotations

from typing import Any

import msgspec

from kinform.testing import _metadata, _status
from kinform.testing._bodies import media_type
from kinform.testing._cluster import Cluster
from kinform.testing._documents import Document, without_nulls
from kinform.testing._json_patch import apply_json_patch
from kinform.testing._options import WriteOptions
from kinform.testing._resources import ServedResource
from kinform.testing._status import Resource
from kinform.testing._storage import Stored
from kinform.testing._strategic_patch import apply_strategic_patch
from kinform.testing._writes import check_name, check_namespace_of, commit, find

Json = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_FOR_CUSTOM = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
_SUPPORTED = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)


def decode_patch(body: bytes, content_type: str, served: ServedResource) -> tuple[str, Any]:
    """Return the type of a patch and its content.

    Raises:
        UnsupportedMediaTypeError: The resource does not support this type of patch.
        BadRequestError: The patch is malformed.
    """
    kind = media_type(content_type)
    if kind == APPLY_PATCH:
        raise _status.unsupported_body(_SUPPORTED)
    if kind not in _SUPPORTED:
        raise _status.unsupported_patch()
    if served.custom and kind == STRATEGIC_PATCH:
        raise _status.unsupported_body(_FOR_CUSTOM)
    try:
        body.decode()
        patch = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _status.bad_request("invalid JSON patch") from error
    if patch is None:
        raise _status.bad_request("Invalid JSON Patch")
    wanted, described = (
        (list, "[]handlers.jsonPatchOp")
        if kind == JSON_PATCH
        else (
            dict,
            "map[string]interface {}",
        )
    )
    if not isinstance(patch, wanted):
        found = _status.json_type(patch)
        raise _status.bad_request(
            f"error decoding patch: json: cannot unmarshal {found} into Go value of type "
            f"{described}"
        )
    return kind, patch


def patch_object(
    cluster: Cluster,
    served: ServedResource,
    namespace: str,
    name: str,
    kind: str,
    patch: Any,
    options: WriteOptions,
    subresource: str = "",
) -> Stored:
    """Patch an object, or its status.

    Raises:
        NotFoundError: The object does not exist.
        ConflictError: The patch has a version that is not the latest.
        InvalidError: The patch does not apply, or its result is invalid.
    """
    old = find(cluster, served, namespace, name)
    before = old.document()
    before.read("metadata")
    document = before.copy()
    if kind == JSON_PATCH:
        document = _json_patched(served, document, patch)
    else:
        _check_type(served, name, patch)
        merge = apply_strategic_patch if kind == STRATEGIC_PATCH else merge_patch
        for section, value in patch.items():
            if section not in ("kind", "apiVersion") and not section.startswith("$"):
                _patch_section(document, section, value, merge)
    metadata = _metadata.accepted(document.read("metadata"))
    document.set("metadata", metadata)
    check_name(metadata.get("name", ""), name)
    check_namespace_of(served, metadata.get("namespace", ""), namespace)
    return commit(cluster, served, old, document, options, subresource, before)


def merge_patch(current: Any, patch: Any) -> Any:
    """Return the merged value (RFC 7386). Inputs are not modified; unpatched parts are shared."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(current) if isinstance(current, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def patch_value(kind: str, current: Json, patch: Any) -> Json:
    """Apply a patch of any type to a small object, such as a Scale."""
    if kind == JSON_PATCH:
        patched = apply_json_patch(current, patch)
    elif kind == STRATEGIC_PATCH:
        patched = apply_strategic_patch(current, patch)
    else:
        patched = merge_patch(current, patch)
    if not isinstance(patched, dict):
        raise _status.unprocessable()
    return patched


def _patch_section(document: Document, section: str, value: Any, merge: Any) -> None:
    if value is None:
        document.remove(section)
    elif isinstance(value, dict):
        document.set(section, merge(document.read(section), value))
    elif isinstance(value, list):
        # Merged under its name, because top-level lists need it to find their merge keys.
        whole = merge({section: document.read(section)}, {section: value})
        document.set(section, whole[section])
    else:
        document.set(section, value)


def _json_patched(served: ServedResource, document: Document, patch: list[Any]) -> Document:
    whole = document.to_object(served.stored)
    whole["apiVersion"] = served.api_version
    patched = apply_json_patch(whole, patch)
    if not isinstance(patched, dict):
        raise _status.unprocessable()
    name = (document.read("metadata") or {}).get("name", "")
    _check_type(served, name, patched)
    if not served.custom:
        patched = without_nulls(patched)
    result = Document.from_object(patched)
    for section in document.sections:
        # Keep the bytes that the patch did not change.
        if section in result and result.same(document, [section]):
            result.take(section, document)
    return result


def _check_type(served: ServedResource, name: str, patched: Json) -> None:
    kind = patched.get("kind", served.kind)
    version = patched.get("apiVersion", served.api_version)
    if not served.custom and (kind, version) != (served.kind, served.api_version):
        why = f'no kind "{kind}" is registered for version "{version}"'
        problem = _status.wrong_value("patch", msgspec.json.encode(patched).decode(), why)
        raise _status.invalid(Resource("", ""), "", [problem])
    if kind != served.kind:
        problem = _status.wrong_value("kind", kind, f"must be {served.kind}")
        raise _status.invalid(Resource(served.gvr.group, str(kind)), name, [problem])
    if version != served.api_version:
        raise _status.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({served.api_version})"
        )
