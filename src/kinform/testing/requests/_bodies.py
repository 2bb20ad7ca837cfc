"""Decodes request bodies into objects of the expected kind, with the errors of the server."""

from __future__ import annotations

from typing import Any

import msgspec

from kinform.api import GVK
from kinform.testing import api_errors
from kinform.testing.api_errors import QualifiedName
from kinform.testing.formats import JSON, PROTOBUF, YAML
from kinform.testing.requests._documents import decode_json, decode_yaml
from kinform.testing.resources import ServedResource
from kinform.testing.storage import drop_nulls

Json = dict[str, Any]

_READABLE = (JSON, YAML, PROTOBUF)
_SNIPPET = 100


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def decode_object(body: bytes, content_type: str, served: ServedResource) -> Json:
    """Decode an object to create, or to replace another.

    Raises:
        UnsupportedMediaTypeError: The body is neither JSON nor YAML nor, for built-in kinds,
            protobuf.
        BadRequestError: The body is malformed, or the object has another kind.
        InvalidError: The object is a custom resource of another kind.
    """
    if served.custom and media_type(content_type) == PROTOBUF:
        raise api_errors.unsupported_body((JSON, YAML))
    return check_kind(decode_any(body, content_type, served.gvk), body, served)


def decode_any(body: bytes, content_type: str, gvk: GVK) -> Json:
    """Decode a body into an object; its kind may differ from the expected one."""
    kind, expected = media_type(content_type), gvk.kind
    if kind == PROTOBUF:
        from kinform.testing.formats.protobuf import read_object

        return read_object(body, gvk)
    if kind == YAML:
        found = _decode_yaml(body, expected)
    elif kind == JSON:
        found = _decode_json(body, expected)
    else:
        raise api_errors.unsupported_body(_READABLE)
    if not isinstance(found, dict):
        reason = (
            f"json: cannot unmarshal {api_errors.json_type(found)} into Go value of type struct"
        )
        raise _unrecognized(expected, reason, body)
    return found


def check_kind(found: Json, body: bytes, served: ServedResource) -> Json:
    """Check the kind of an object and return it; a built-in one without null members."""
    if served.custom:
        _check_custom_kind(found, body, served)
        return found
    _check_built_in_kind(found, served)
    if b"null" not in body:
        return found
    return {key: drop_nulls(value) for key, value in found.items() if value is not None}


def expect_kind(found: Json, gvk: GVK) -> None:
    """Refuse other kinds in the small bodies of subresources; the kind may be absent."""
    kind = found.get("kind") or gvk.kind
    version = found.get("apiVersion") or gvk.api_version
    if (kind, version) != (gvk.kind, gvk.api_version):
        short = version.rpartition("/")[2]
        group = gvk.group.partition(".")[0] or "core"
        raise api_errors.bad_request(
            f'{kind} in version "{short}" cannot be handled as a {gvk.kind}: '
            f"converting ({short}.{kind}) to ({group}.{gvk.kind}): unknown conversion"
        )


def _check_custom_kind(found: Json, body: bytes, served: ServedResource) -> None:
    kind, version = found.get("kind"), found.get("apiVersion") or ""
    if not kind:
        text = body.decode(errors="replace")
        raise _unrecognized(served.kind, f"Object 'Kind' is missing in '{text}'", body)
    if version != served.api_version:
        raise api_errors.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({served.api_version})"
        )
    if kind != served.kind:
        name = (found.get("metadata") or {}).get("name", "")
        problem = api_errors.wrong_value("kind", kind, f"must be {served.kind}")
        raise api_errors.invalid(QualifiedName(served.gvr.group, kind), name, [problem])


def _check_built_in_kind(found: Json, served: ServedResource) -> None:
    kind = found.get("kind") or served.kind
    version = found.get("apiVersion") or served.api_version
    if version != served.api_version:
        raise api_errors.bad_request(
            f'{kind} in version "{served.gvr.version}" cannot be handled as a {served.kind}: '
            f'no kind "{kind}" is registered for version "{version}" '
            'in scheme "pkg/runtime/scheme.go:111"'
        )
    if kind != served.kind:
        group = served.gvr.group.partition(".")[0] or "core"
        raise api_errors.bad_request(
            f'{kind} in version "{served.gvr.version}" cannot be handled as a {served.kind}: '
            f"converting ({served.gvr.version}.{kind}) to ({group}.{served.kind}): "
            "unknown conversion"
        )


def _decode_json(body: bytes, expected: str) -> Any:
    try:
        return decode_json(body)
    except msgspec.ValidationError as error:
        raise _unrecognized(expected, str(error), body) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unrecognized(expected, "unexpected end of JSON input", body) from error
    except ValueError as error:
        raise _unrecognized(expected, str(error), body) from error


def _decode_yaml(body: bytes, expected: str) -> Any:
    try:
        return decode_yaml(body)
    except ValueError as error:
        raise _unrecognized(expected, f"error converting YAML to JSON: {error}", body) from error


def _unrecognized(expected: str, reason: str, body: bytes) -> Exception:
    if not reason.startswith(("Object", "error")):
        reason = f"couldn't get version/kind; json parse error: {reason}"
    snippet = body[:_SNIPPET].decode(errors="replace") or "<empty>"
    if len(body) > _SNIPPET:
        snippet += " ..."
    return api_errors.bad_request(
        f"the object provided is unrecognized (must be of type {expected}): {reason} ({snippet})"
    )
