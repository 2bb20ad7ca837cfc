"""Converts arguments of verbs to selectors, query parameters and request bodies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from kinform.api import FieldSelector, LabelSelector
from kinform.errors import ConfigError, SelectorError
from kinform.objects import Codec, Handle, request_body

Labels = LabelSelector | str | Mapping[str, str | Collection[str]]
"""A label selector: parsed, as text, or as a dict of labels and their accepted values."""

Fields = FieldSelector | str | Mapping[str, str]
"""A field selector: parsed, as text, or as a dict."""

PatchType = Literal["merge", "json", "strategic", "apply"]
"""The format of a patch."""

Propagation = Literal["Background", "Foreground", "Orphan"]
"""What happens to the dependents of a deleted object: deleted later or first, or kept."""

_PATCH_MEDIA_TYPES: Mapping[str, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


def as_label_selector(labels: Labels) -> LabelSelector:
    """Convert any accepted form to a label selector, and validate it before it is sent.

    Raises:
        SelectorError: The selector is invalid.
    """
    if isinstance(labels, str):
        return LabelSelector.parse(labels)
    if isinstance(labels, LabelSelector):
        return labels
    _require_mapping("labels", labels, "'app=web,tier in (a, b)'")
    return LabelSelector.from_labels(labels)


def as_field_selector(fields: Fields) -> FieldSelector:
    """Like ``as_label_selector``, for fields."""
    if isinstance(fields, str):
        return FieldSelector.parse(fields)
    if isinstance(fields, FieldSelector):
        return fields
    _require_mapping("fields", fields, "'spec.nodeName=a'")
    return FieldSelector.from_fields(fields)


def _require_mapping(option: str, given: object, example: str) -> None:
    if not isinstance(given, Mapping):
        raise SelectorError(
            f"{option}={given!r} is not a selector; pass a string such as {example}, a dict or a "
            f"{option.removesuffix('s').capitalize()}Selector, or omit it to select all"
        )


def write_query(
    *,
    field_manager: str = "",
    field_validation: str = "",
    force: bool | None = None,
    dry_run: bool = False,
) -> dict[str, str]:
    """Return the query parameters of a write."""
    query = {
        "fieldManager": field_manager,
        "fieldValidation": field_validation,
        "force": "" if force is None else str(force).lower(),
        "dryRun": "All" if dry_run else "",
    }
    return {name: value for name, value in query.items() if value}


def patch_media_type(type: PatchType) -> str:
    """Return the content type of a patch.

    Raises:
        ConfigError: The type does not exist.
    """
    if type not in tuple(_PATCH_MEDIA_TYPES):  # a tuple, because the value may be unhashable
        raise ConfigError(
            f"{type!r} is not a type of patch; pass one of {', '.join(_PATCH_MEDIA_TYPES)}"
        )
    return _PATCH_MEDIA_TYPES[type]


def encode_patch(patch: Any, codec: Codec) -> bytes:
    """Encode a patch, given as a dict, a list or an object.

    Raises:
        EncodeError: A value cannot be encoded, or does not match its model.
    """
    return request_body(patch, codec) if isinstance(patch, Handle) else codec.encode(patch)


def encode_delete_options(
    codec: Codec,
    *,
    grace_period: int | None,
    propagation: Propagation | None,
    dry_run: bool,
    uid: str = "",
    resource_version: str = "",
) -> bytes:
    """Encode the body of a delete request."""
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if grace_period is not None:
        options["gracePeriodSeconds"] = grace_period
    if propagation is not None:
        options["propagationPolicy"] = propagation
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    if given := {field: value for field, value in preconditions.items() if value}:
        options["preconditions"] = given
    if dry_run:
        options["dryRun"] = ["All"]
    return codec.encode(options)
