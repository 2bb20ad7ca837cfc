"""Patches stored objects."""

from __future__ import annotations

from typing import Any

import msgspec

from kinform.testing import api_errors
from kinform.testing.api_errors import QualifiedName
from kinform.testing.patches import apply_json_patch, apply_merge_patch, apply_strategic_patch
from kinform.testing.requests import ParsedWriteOptions, decode_json, media_type
from kinform.testing.resources import ServedResource
from kinform.testing.storage import ClusterState, ObjectDocument, StoredObject, drop_nulls
from kinform.testing.validation import accept_metadata
from kinform.testing.verbs._writes import check_name, check_namespace_of, commit, find_object

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
        raise api_errors.unsupported_body(_SUPPORTED)
    if kind not in _SUPPORTED:
        raise api_errors.unsupported_patch()
    if served.custom and kind == STRATEGIC_PATCH:
        raise api_errors.unsupported_body(_FOR_CUSTOM)
    try:
        patch = decode_json(body)
    except ValueError as error:
        raise api_errors.bad_request("invalid JSON patch") from error
    if patch is None:
        raise api_errors.bad_request("Invalid JSON Patch")
    wanted, described = (
        (list, "[]handlers.jsonPatchOp")
        if kind == JSON_PATCH
        else (
            dict,
            "map[string]interface {}",
        )
    )
    if not isinstance(patch, wanted):
        found = api_errors.json_type(patch)
        raise api_errors.bad_request(
            f"error decoding patch: json: cannot unmarshal {found} into Go value of type "
            f"{described}"
        )
    return kind, patch


def patch_object(
    cluster: ClusterState,
    served: ServedResource,
    namespace: str,
    name: str,
    kind: str,
    patch: Any,
    options: ParsedWriteOptions,
    subresource: str = "",
) -> StoredObject:
    """Patch an object, or its status.

    Raises:
        NotFoundError: The object does not exist.
        ConflictError: The patch has a version that is not the latest.
        InvalidError: The patch does not apply, or its result is invalid.
    """
    old = find_object(cluster, served, namespace, name)
    before = old.document()
    before.read("metadata")
    document = before.copy()
    if kind == JSON_PATCH:
        document = _json_patched(served, document, patch)
    else:
        _check_type(served, name, patch)
        merge = apply_strategic_patch if kind == STRATEGIC_PATCH else apply_merge_patch
        for section, value in patch.items():
            if section not in ("kind", "apiVersion") and not section.startswith("$"):
                _patch_section(document, section, value, merge)
    metadata = accept_metadata(document.read("metadata"))
    document.set("metadata", metadata)
    check_name(metadata.get("name", ""), name)
    check_namespace_of(served, metadata.get("namespace", ""), namespace)
    return commit(cluster, served, old, document, options, subresource, before)


def patch_value(kind: str, current: Json, patch: Any) -> Json:
    """Apply a patch of any type to a small object, such as a Scale."""
    if kind == JSON_PATCH:
        patched = apply_json_patch(current, patch)
    elif kind == STRATEGIC_PATCH:
        patched = apply_strategic_patch(current, patch)
    else:
        patched = apply_merge_patch(current, patch)
    if not isinstance(patched, dict):
        raise api_errors.unprocessable()
    return patched


def _patch_section(document: ObjectDocument, section: str, value: Any, merge: Any) -> None:
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


def _json_patched(
    served: ServedResource, document: ObjectDocument, patch: list[Any]
) -> ObjectDocument:
    whole = document.to_object(served.stored)
    whole["apiVersion"] = served.api_version
    patched = apply_json_patch(whole, patch)
    if not isinstance(patched, dict):
        raise api_errors.unprocessable()
    name = (document.read("metadata") or {}).get("name", "")
    _check_type(served, name, patched)
    if not served.custom:
        patched = drop_nulls(patched)
    result = ObjectDocument.from_object(patched)
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
        problem = api_errors.wrong_value("patch", msgspec.json.encode(patched).decode(), why)
        raise api_errors.invalid(QualifiedName("", ""), "", [problem])
    if kind != served.kind:
        problem = api_errors.wrong_value("kind", kind, f"must be {served.kind}")
        raise api_errors.invalid(QualifiedName(served.gvr.group, str(kind)), name, [problem])
    if version != served.api_version:
        raise api_errors.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({served.api_version})"
        )
