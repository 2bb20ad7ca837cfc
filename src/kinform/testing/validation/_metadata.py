"""Validates and completes the metadata of objects."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kinform.testing import api_errors
from kinform.testing.api_errors import FieldProblem
from kinform.testing.resources import ServedResource

Json = dict[str, Any]

# No vowels or ambiguous characters, so that generated names do not form words.
_SUFFIX_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_NAME_LIMIT = 63
_STANDARD_FINALIZERS = frozenset({"foregroundDeletion", "kubernetes", "orphan"})

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED})?"
_QUALIFIED_NAMES = re.compile(_QUALIFIED)
_LABEL_VALUES = re.compile(_LABEL_VALUE)

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "
    f"regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
    f"regex used for validation is '{_LABEL}')"
)
_QUALIFIED_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_QUALIFIED}')"
)
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', regex used for validation is '{_LABEL_VALUE}')"
)

# The members that a client may set; the server sets the others, or they are dropped.
_ACCEPTED = frozenset(
    {
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    }
)


class _Typed(msgspec.Struct):
    """The types of the members of metadata."""

    name: str | None = None
    generateName: str | None = None  # noqa: N815 - the name on the wire
    namespace: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815 - the name on the wire
    generation: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    ownerReferences: list[dict[str, Any]] | None = None  # noqa: N815 - the name on the wire
    finalizers: list[str] | None = None


def accept_metadata(metadata: object) -> Json:
    """Return the metadata that the server accepts: known members that are not empty.

    Raises:
        BadRequestError: The metadata is not an object, or a member has the wrong type.
    """
    if metadata is None:
        return {}
    try:
        msgspec.convert(metadata, _Typed)
    except msgspec.ValidationError as error:
        raise api_errors.bad_request(f"json: cannot unmarshal ObjectMeta: {error}") from error
    assert isinstance(metadata, dict)  # guaranteed by the conversion
    taken = {
        key: value
        for key, value in metadata.items()
        if key in _ACCEPTED and value not in (None, "", {}, [])
    }
    fields = taken.get("managedFields")
    if fields is not None and not isinstance(fields, msgspec.Raw):
        # Kept as bytes from here on, because they are large and never read here.
        taken["managedFields"] = msgspec.Raw(msgspec.json.encode(fields))
    return taken


def generate_name(base: str) -> str:
    """Return ``base``, truncated if necessary, with five random characters appended."""
    suffix = "".join(random.choices(_SUFFIX_CHARACTERS, k=_SUFFIX_LENGTH))
    return base[: _NAME_LIMIT - _SUFFIX_LENGTH] + suffix


def name_problems(served: ServedResource, metadata: Mapping[str, Any]) -> list[FieldProblem]:
    """Return the problems of an object's name, or of ``generateName`` if it has no name."""
    name = metadata.get("name", "")
    if not name:
        return [api_errors.required("metadata.name", "name or generateName is required")]
    where = "metadata.name"
    check = _NAME_RULES.get(str(served.qualified_name), _subdomain)
    return [api_errors.wrong_value(where, name, text) for text in check(name)]


def metadata_problems(
    served: ServedResource, metadata: Mapping[str, Any], was: Mapping[str, Any] | None = None
) -> list[FieldProblem]:
    """Return the problems of all other metadata that changed."""
    problems: list[FieldProblem] = []
    for member, check in _CHECKS.items():
        value: Any = metadata.get(member)
        before = None if was is None else was.get(member)
        if not value or value == before:
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            value = {key: item for key, item in value.items() if before.get(key) != item}
        problems += check(value)
        if member == "finalizers" and not served.custom:
            problems += _unqualified_finalizers(value)
    return problems


def _label_problems(labels: Mapping[str, str]) -> list[FieldProblem]:
    problems = []
    for key, value in labels.items():
        problems += _qualified_problems("metadata.labels", key)
        if len(value) > _NAME_LIMIT:
            problems.append(_too_long("metadata.labels", value, _NAME_LIMIT))
        if not _LABEL_VALUES.fullmatch(value):
            problems.append(api_errors.wrong_value("metadata.labels", value, _LABEL_VALUE_RULE))
    return problems


def _annotation_problems(annotations: Mapping[str, str]) -> list[FieldProblem]:
    problems = []
    for key in annotations:
        problems += _qualified_problems("metadata.annotations", key.lower())
    return problems


def _finalizer_problems(finalizers: list[str]) -> list[FieldProblem]:
    problems = []
    for finalizer in finalizers:
        problems += _qualified_problems("metadata.finalizers", finalizer)
    return problems


def _unqualified_finalizers(finalizers: list[str]) -> list[FieldProblem]:
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        api_errors.wrong_value(f"metadata.finalizers[{position}]", finalizer, why)
        for position, finalizer in enumerate(finalizers)
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def _owner_problems(owners: list[Json]) -> list[FieldProblem]:
    return [
        api_errors.required(f"metadata.ownerReferences[{position}].{member}", "must not be empty")
        for position, owner in enumerate(owners)
        for member in ("apiVersion", "kind", "name", "uid")
        if not owner.get(member)
    ]


_CHECKS: dict[str, Callable[[Any], list[FieldProblem]]] = {
    "labels": _label_problems,
    "annotations": _annotation_problems,
    "finalizers": _finalizer_problems,
    "ownerReferences": _owner_problems,
}


def _too_long(where: str, value: str, limit: int) -> FieldProblem:
    return api_errors.wrong_value(where, value, f"must be no more than {limit} bytes")


def _qualified_problems(where: str, key: str) -> list[FieldProblem]:
    prefix, slash, name = key.rpartition("/")
    problems = []
    if slash and not re.fullmatch(_SUBDOMAIN, prefix):
        rule = f"prefix part {_SUBDOMAIN_RULE}" if prefix else "prefix part must be non-empty"
        problems.append(api_errors.wrong_value(where, key, rule))
    if len(name) > _NAME_LIMIT:
        rule = f"name part must be no more than {_NAME_LIMIT} bytes"
        problems.append(api_errors.wrong_value(where, key, rule))
    if not _QUALIFIED_NAMES.fullmatch(name):
        rule = _QUALIFIED_RULE if name else "name part must be non-empty"
        problems.append(api_errors.wrong_value(where, key, rule))
    return problems


def _subdomain(name: str) -> list[str]:
    problems = ["must be no more than 253 bytes"] if len(name) > 253 else []
    return problems if re.fullmatch(_SUBDOMAIN, name) else [*problems, _SUBDOMAIN_RULE]


def _label(name: str) -> list[str]:
    problems = [f"must be no more than {_NAME_LIMIT} bytes"] if len(name) > _NAME_LIMIT else []
    return problems if re.fullmatch(_LABEL, name) else [*problems, _LABEL_RULE]


def _path_segment(name: str) -> list[str]:
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{bad}'" for bad in "/%" if bad in name]


_NAME_RULES: dict[str, Callable[[str], list[str]]] = {
    "namespaces": _label,
    "services": _label,
    "roles.rbac.authorization.k8s.io": _path_segment,
    "rolebindings.rbac.authorization.k8s.io": _path_segment,
    "clusterroles.rbac.authorization.k8s.io": _path_segment,
    "clusterrolebindings.rbac.authorization.k8s.io": _path_segment,
    "events": _path_segment,
    "events.events.k8s.io": _path_segment,
}
