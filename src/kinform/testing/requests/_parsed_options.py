"""Parses and validates query parameters and option bodies, with the errors of the server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import field
from msgspec.structs import replace

from kinform.api import FieldRequirement, FieldSelector, LabelSelector
from kinform.errors import SelectorError
from kinform.testing import api_errors
from kinform.testing.api_errors import FieldProblem, QualifiedName
from kinform.testing.formats import PROTOBUF
from kinform.testing.requests._selector_errors import label_selector_error
from kinform.testing.resources import FIELD_ALIASES, ServedResource, unsupported_field

# All values of each parameter, by name.
Query = Mapping[str, Sequence[str]]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_MATCHES = ("Exact", "NotOlderThan", "")
_POLICIES = ("Foreground", "Background", "Orphan", "nil")
_FIELD_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_MAX_MANAGER = 128


class ParsedListOptions(msgspec.Struct, frozen=True):
    """The parsed options of a list or watch."""

    labels: LabelSelector = field(default_factory=LabelSelector)
    fields: FieldSelector = field(default_factory=FieldSelector)
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout: float | None = None
    watch: bool = False
    bookmarks: bool = False
    initial_events: bool | None = None

    @property
    def selects(self) -> bool:
        """Whether the options select less than all objects."""
        return bool(self.labels) or bool(self.fields)


class ParsedWriteOptions(msgspec.Struct, frozen=True):
    """The options of a create, update or patch."""

    dry_run: bool = False


class ParsedDeleteOptions(msgspec.Struct, frozen=True):
    """The options of a deletion. ``propagation`` is empty if not given."""

    dry_run: bool = False
    grace: int | None = None
    propagation: str = ""
    uid: str | None = None
    resource_version: str | None = None


def parse_list_options(
    query: Query, served: ServedResource, *, watch_list: bool, name: str = ""
) -> ParsedListOptions:
    """Parse the options of a list, a watch, or the deletion of a collection.

    Raises:
        BadRequestError: A number or selector is malformed, or a field is not selectable.
        InvalidError: Parameters contradict each other.
    """
    options = ParsedListOptions(
        labels=_labels(_first(query, "labelSelector")),
        fields=_fields_of(_first(query, "fieldSelector"), served),
        resource_version=_first(query, "resourceVersion"),
        match=_first(query, "resourceVersionMatch"),
        limit=max(0, _integer(query, "limit") or 0),
        continue_token=_first(query, "continue"),
        timeout=_integer(query, "timeoutSeconds"),
        watch=_flag(query, "watch") or False,
        bookmarks=_flag(query, "allowWatchBookmarks") or False,
        initial_events=_flag(query, "sendInitialEvents"),
    )
    options = _with_defaults(options, watch_list=watch_list)
    problems = _watch_problems(options, watch_list) if options.watch else _list_problems(options)
    if problems:
        raise api_errors.invalid(QualifiedName("meta.k8s.io", "ListOptions"), "", problems)
    if name:
        requirement = FieldRequirement("metadata.name", name)
        fields = FieldSelector((*options.fields.requirements, requirement))
        options = replace(options, fields=fields)
    return options


def parse_write_options(query: Query, kind: str) -> ParsedWriteOptions:
    """Parse the options; ``kind`` is ``CreateOptions``, ``UpdateOptions`` or ``PatchOptions``.

    Raises:
        InvalidError: A parameter has an invalid value.
    """
    dry_run = list(query.get("dryRun", ()))
    problems = _dry_run_problems(dry_run)
    manager = _first(query, "fieldManager")
    if len(manager.encode()) > _MAX_MANAGER:
        problems.append(
            FieldProblem(
                "FieldValueTooLong",
                "fieldManager",
                f"Too long: may not be more than {_MAX_MANAGER} bytes",
            )
        )
    if not manager.isprintable():
        explanation = "should only contain printable characters"
        problems.append(api_errors.wrong_value("fieldManager", manager, explanation))
    validation = _first(query, "fieldValidation")
    if validation not in _FIELD_VALIDATIONS:
        problems.append(
            api_errors.unsupported_value("fieldValidation", validation, _FIELD_VALIDATIONS)
        )
    if kind == "PatchOptions" and "force" in query:
        explanation = "may not be specified for non-apply patch"
        problems.append(api_errors.forbidden_value("force", explanation))
    if problems:
        raise api_errors.invalid(QualifiedName("meta.k8s.io", kind), "", problems)
    return ParsedWriteOptions(dry_run=bool(dry_run))


class _Preconditions(msgspec.Struct):
    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815 - the name on the wire


class _DeleteBody(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""  # noqa: N815 - the name on the wire
    gracePeriodSeconds: int | None = None  # noqa: N815 - the name on the wire
    preconditions: _Preconditions | None = None
    orphanDependents: bool | None = None  # noqa: N815 - the name on the wire
    propagationPolicy: str | None = None  # noqa: N815 - the name on the wire
    dryRun: list[str] | None = None  # noqa: N815 - the name on the wire


def parse_delete_options(query: Query, body: bytes, content_type: str) -> ParsedDeleteOptions:
    """Parse the options from the body if there is one, otherwise from the query.

    Raises:
        BadRequestError: The body is not a DeleteOptions, or a number is malformed.
        InvalidError: A value is invalid.
    """
    given = _delete_body(body, content_type) if body else _delete_query(query)
    problems: list[FieldProblem] = []
    if given.propagationPolicy is not None:
        if given.orphanDependents is not None:
            explanation = "orphanDependents and deletionPropagation cannot be both set"
            problems.append(
                api_errors.wrong_value("propagationPolicy", given.propagationPolicy, explanation)
            )
        elif given.propagationPolicy not in _POLICIES[:3]:
            problems.append(
                api_errors.unsupported_value(
                    "propagationPolicy", given.propagationPolicy, _POLICIES
                )
            )
    problems += _dry_run_problems(given.dryRun or [])
    if problems:
        raise api_errors.invalid(QualifiedName("meta.k8s.io", "DeleteOptions"), "", problems)
    propagation = given.propagationPolicy or ""
    if given.orphanDependents is not None:
        propagation = "Orphan" if given.orphanDependents else "Background"
    preconditions = given.preconditions or _Preconditions()
    return ParsedDeleteOptions(
        dry_run=bool(given.dryRun),
        grace=given.gracePeriodSeconds,
        propagation=propagation,
        uid=preconditions.uid,
        resource_version=preconditions.resourceVersion,
    )


def _delete_body(body: bytes, content_type: str) -> _DeleteBody:
    try:
        if content_type.startswith(PROTOBUF):
            from kinform.testing.formats.protobuf import read_delete_options

            given = msgspec.convert(read_delete_options(body), _DeleteBody)
        else:
            given = msgspec.json.decode(body, type=_DeleteBody)
    except msgspec.ValidationError as error:
        raise api_errors.bad_request(f"json: cannot unmarshal DeleteOptions: {error}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        message = "couldn't get version/kind; json parse error: unexpected end of JSON input"
        raise api_errors.bad_request(message) from error
    if given.kind not in ("", "DeleteOptions"):
        version = given.apiVersion or "v1"
        raise api_errors.bad_request(
            f'no kind "{given.kind}" is registered for version "{version}" '
            'in scheme "pkg/runtime/scheme.go:111"'
        )
    return given


def _delete_query(query: Query) -> _DeleteBody:
    return _DeleteBody(
        gracePeriodSeconds=_integer(query, "gracePeriodSeconds"),
        orphanDependents=_flag(query, "orphanDependents"),
        propagationPolicy=_first(query, "propagationPolicy") or None,
        dryRun=list(query.get("dryRun", ())),
    )


def _with_defaults(options: ParsedListOptions, *, watch_list: bool) -> ParsedListOptions:
    """Make a watch without a version a streaming list, if the server supports those."""
    if not watch_list or not options.watch:
        return options
    if options.initial_events is not None or options.match:
        return options
    if options.resource_version not in ("", "0"):
        return options
    return replace(options, initial_events=True, match="NotOlderThan")


def _list_problems(options: ParsedListOptions) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    match, where = options.match, "resourceVersionMatch"
    if match:
        if not options.resource_version:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            problems.append(api_errors.forbidden_value(where, why))
        if options.continue_token:
            why = "resourceVersionMatch is forbidden when continue is provided"
            problems.append(api_errors.forbidden_value(where, why))
        if match not in _MATCHES:
            problems.append(api_errors.unsupported_value(where, match, _MATCHES))
        if match == "Exact" and options.resource_version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            problems.append(api_errors.forbidden_value(where, why))
    if options.initial_events is not None:
        why = "sendInitialEvents is forbidden for list"
        problems.append(api_errors.forbidden_value("sendInitialEvents", why))
    return problems


def _watch_problems(options: ParsedListOptions, watch_list: bool) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    match, where = options.match, "resourceVersionMatch"
    if options.initial_events is not None:
        if match != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            problems.append(api_errors.forbidden_value(where, why))
        if not watch_list:
            why = (
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate "
                "is enabled"
            )
            problems.append(api_errors.forbidden_value("sendInitialEvents", why))
    if match:
        if options.initial_events is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            problems.append(api_errors.forbidden_value(where, why))
        if match != "NotOlderThan":
            problems.append(api_errors.unsupported_value(where, match, ["NotOlderThan"]))
        if options.continue_token:
            why = "resourceVersionMatch is forbidden when continue is provided"
            problems.append(api_errors.forbidden_value(where, why))
    return problems


def _dry_run_problems(given: Sequence[str]) -> list[FieldProblem]:
    if all(value == "All" for value in given):
        return []
    return [api_errors.unsupported_value("dryRun", list(given), ["All"])]


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _integer(query: Query, name: str) -> int | None:
    values = query.get(name)
    if not values:
        return None
    if not _INTEGER.fullmatch(values[0]):
        raise api_errors.bad_request(f'strconv.ParseInt: parsing "{values[0]}": invalid syntax')
    if len(values[0]) > 20 or abs(number := int(values[0])) >= 2**63:
        raise api_errors.bad_request(
            f'strconv.ParseInt: parsing "{values[0][:40]}": value out of range'
        )
    return number


def _flag(query: Query, name: str) -> bool | None:
    """Return False for ``false`` and ``0``, and True for any other value."""
    values: Any = query.get(name)
    if not values:
        return None
    return values[0].lower() not in ("false", "0")


def _labels(text: str) -> LabelSelector:
    try:
        return LabelSelector.parse(text)
    except SelectorError as error:
        raise api_errors.bad_request(label_selector_error(text, error)) from error


def _fields_of(text: str, served: ServedResource) -> FieldSelector:
    try:
        selector = FieldSelector.parse(text)
    except SelectorError as error:
        message = f"invalid selector: '{text}'; can't understand '{text}'"
        raise api_errors.bad_request(message) from error
    resource = str(served.stored.resource)
    aliases = FIELD_ALIASES.get(resource, {})
    requirements = []
    for requirement in selector.requirements:
        label = aliases.get(requirement.field, requirement.field)
        known = label == "metadata.name" or (
            label == "metadata.namespace" and _has_namespace_field(served)
        )
        if not known and label not in served.selectable:
            message = unsupported_field(
                resource, served.kind, requirement.field, custom=served.custom
            )
            raise api_errors.bad_request(message)
        requirements.append(msgspec.structs.replace(requirement, field=label))
    return FieldSelector(tuple(requirements))


def _has_namespace_field(served: ServedResource) -> bool:
    """Whether the namespace is selectable: not for cluster-wide kinds with their own fields."""
    return served.namespaced or not served.selectable
