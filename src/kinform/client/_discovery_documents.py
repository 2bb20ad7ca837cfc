"""Parses discovery documents, aggregated or legacy, into resources."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import msgspec

from kinform.api import GVK, GVR, ApiResource, split_api_version
from kinform.client._json_decoding import decode
from kinform.errors import DecodeError, InvalidNameError

logger = logging.getLogger("kinform.client")

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class _Struct(msgspec.Struct, gc=False, rename="camel"):
    """Base class; lists may be null, because Go encodes an empty list so without omitempty."""


class _Meta(_Struct):
    name: str = ""


class _ResponseKind(_Struct):
    kind: str = ""


class _Subresource(_Struct):
    subresource: str = ""


class _Resource(_Struct):
    resource: str
    scope: str = ""
    singular_resource: str = ""
    response_kind: _ResponseKind | None = None
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_Subresource] | None = None


class _Version(_Struct):
    version: str
    resources: list[_Resource] | None = None
    freshness: str = ""


class _Group(_Struct):
    metadata: _Meta
    versions: list[_Version] | None = None


class _GroupDiscoveryList(_Struct):
    kind: str
    items: list[_Group] | None = None


def parse_aggregated(body: bytes, *, known: Iterable[ApiResource]) -> list[ApiResource] | None:
    """Return the resources of an aggregated document; ``None`` if the document is a legacy one.

    The API server of a version marked as stale does not respond currently. Its resources still
    exist, so the ``known`` ones are kept.
    """
    if _decode(body, _ResponseKind).kind != "APIGroupDiscoveryList":
        return None
    found: list[ApiResource] = []
    known = list(known)
    for group in _decode(body, _GroupDiscoveryList).items or ():
        for version in group.versions or ():
            at = (group.metadata.name, version.version)
            if version.freshness == "Stale" and not version.resources:
                found.extend(k for k in known if (k.gvr.group, k.gvr.version) == at)
                continue
            found.extend(_legal(_from_aggregated(at, entry) for entry in version.resources or ()))
    return found


def _from_aggregated(group_version: tuple[str, str], entry: _Resource) -> _Description | None:
    if entry.response_kind is None or not entry.response_kind.kind:
        return None  # only a parent of subresources, without objects of its own
    return _Description(
        (*group_version, entry.resource),
        entry.response_kind.kind,
        entry.scope == "Namespaced",
        entry.singular_resource,
        entry.verbs,
        entry.short_names,
        entry.categories,
        [below.subresource for below in entry.subresources or ()],
    )


class _GroupVersion(_Struct):
    group_version: str


class _LegacyGroup(_Struct):
    versions: list[_GroupVersion] | None = None


class _Roots(_Struct):
    versions: list[str] | None = None
    groups: list[_LegacyGroup] | None = None


def parse_group_versions(body: bytes) -> list[tuple[str, str]]:
    """Return the groups and versions in an ``APIVersions`` or ``APIGroupList``."""
    roots = _decode(body, _Roots)
    named = [entry.group_version for group in roots.groups or () for entry in group.versions or ()]
    try:
        return [("", version) for version in roots.versions or ()] + [
            split_api_version(name) for name in named
        ]
    except InvalidNameError as error:
        raise DecodeError(f"not a discovery document: {error}") from error


class _LegacyResource(_Struct):
    name: str
    kind: str
    namespaced: bool = False
    singular_name: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None


class _ResourceList(_Struct):
    resources: list[_LegacyResource] | None = None


def parse_resource_list(group: str, version: str, body: bytes) -> list[ApiResource]:
    """Return the resources of an ``APIResourceList``, with their subresources."""
    entries = _decode(body, _ResourceList).resources or []
    below: dict[str, list[str]] = {}
    for entry in entries:
        parent, slash, subresource = entry.name.partition("/")
        if slash:
            below.setdefault(parent, []).append(subresource)
    return _legal(
        _Description(
            (group, version, entry.name),
            entry.kind,
            entry.namespaced,
            entry.singular_name,
            entry.verbs,
            entry.short_names,
            entry.categories,
            below.get(entry.name),
        )
        for entry in entries
        if "/" not in entry.name
    )


class _Description(NamedTuple):
    """The description of a resource, common to both kinds of documents."""

    gvr: tuple[str, str, str]
    kind: str
    namespaced: bool
    singular: str
    verbs: list[str] | None
    short_names: list[str] | None
    categories: list[str] | None
    subresources: list[str] | None


def _legal(descriptions: Iterable[_Description | None]) -> list[ApiResource]:
    """Return the resources, without those with invalid names: one must not hide the others."""
    found: list[ApiResource] = []
    for described in descriptions:
        if described is None:
            continue
        try:
            resource = ApiResource(
                GVR(*described.gvr),
                described.kind,
                described.namespaced,
                described.singular,
                frozenset(described.verbs or ()),
                tuple(described.short_names or ()),
                tuple(described.categories or ()),
                tuple(described.subresources or ()),
            )
            GVK(resource.gvr.group, resource.gvr.version, resource.kind)
        except InvalidNameError as error:
            logger.warning("discovery: skipping %s: %s", "/".join(described.gvr), error)
            continue
        found.append(resource)
    return found


_Document = TypeVar("_Document", bound=_Struct)


def _decode(body: bytes, document: type[_Document]) -> _Document:
    return decode(msgspec.json.Decoder(document), body, problem="not a discovery document")
