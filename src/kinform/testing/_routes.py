"""Routes requests: finds the verb and the resource for a method and a path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import unquote

from kinform.api import GVR
from kinform.errors import InvalidNameError
from kinform.testing import _status
from kinform.testing._resources import Registry, ServedResource

_OBJECT_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCE_VERBS = {**_OBJECT_VERBS, "POST": "create"}
_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
# Below a namespace, these are its own subresources; all others are resources in it.
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


class PageNotFoundError(Exception):
    """The path does not exist: the plain 404 of a web server, not an API error."""


@dataclass(frozen=True, slots=True)
class Location:
    """The target of a request. ``refusal`` is the error if it cannot be served."""

    verb: str = ""
    gvr: GVR | None = None
    served: ServedResource | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    refusal: Exception | None = None


def locate(registry: Registry, method: str, raw_path: str, *, watch: bool) -> Location:
    """Return the target of a request; ``raw_path`` is decoded segment by segment."""
    segments = [unquote(segment) for segment in raw_path.strip("/").split("/")]
    if segments[0] == "api" and len(segments) > 2:
        group, version, rest = "", segments[1], segments[2:]
    elif segments[0] == "apis" and len(segments) > 3:
        group, version, rest = segments[1], segments[2], segments[3:]
    else:
        return Location()
    if rest[0] == "watch" and len(rest) > 1:
        rest, watch = rest[1:], True
    where = _place(group, version, rest)
    verb = _verb(method, where, watch=watch)
    located = replace(where, verb=verb)
    if located.gvr is None or (segments[0] == "apis" and not group):
        return replace(located, refusal=_unknown(registry, group))
    served = registry.find(group, version, located.gvr.resource)
    located = replace(located, served=served)
    return replace(located, refusal=_refusal(registry, method, located))


def _place(group: str, version: str, rest: list[str]) -> Location:
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = "/".join(rest[2:])
    try:
        gvr = GVR(group, version, rest[0])
    except InvalidNameError:
        return Location(namespace=namespace, name=name, subresource=subresource)
    return Location("", gvr, None, namespace, name, subresource)


def _verb(method: str, where: Location, *, watch: bool) -> str:
    if where.subresource:
        return _SUBRESOURCE_VERBS.get(method, "")
    if where.name:
        return "watch" if watch and method == "GET" else _OBJECT_VERBS.get(method, "")
    verb = _COLLECTION_VERBS.get(method, "")
    return "watch" if verb == "list" and watch else verb


def _refusal(registry: Registry, method: str, where: Location) -> Exception | None:
    served, gvr = where.served, where.gvr
    assert gvr is not None  # only called for resources
    if served is None:
        return _unknown(registry, gvr.group)
    named_elsewhere = bool(where.name) and served.namespaced and not where.namespace
    if named_elsewhere or (where.namespace and not served.namespaced):
        return PageNotFoundError() if served.custom else _status.no_such_resource()
    if where.subresource:
        return _subresource_refusal(served, where)
    if served.namespaced and not where.namespace and where.verb not in ("list", "watch"):
        # Across all namespaces, only list and watch are allowed.
        unknown = served.custom and method == "POST"
        return PageNotFoundError() if unknown else _status.method_not_allowed()
    if served.custom and method == "PATCH" and not where.name:
        return _status.bad_request("name must be provided")
    if where.verb not in served.verbs:
        return _status.method_not_allowed()
    return None


def _subresource_refusal(served: ServedResource, where: Location) -> Exception | None:
    first = where.subresource.partition("/")[0]
    found = served.subresources.get(first)
    if found is None:
        if served.custom:
            return _status.not_found(served.named, where.name)
        return _status.no_such_resource()
    return None if where.verb in found.verbs else _status.method_not_allowed()


def _unknown(registry: Registry, group: str) -> Exception:
    """Return the error for an unknown resource; undefined groups get a plain 404."""
    if group in registry.groups() and not registry.serves_custom_group(group):
        return _status.no_such_resource()
    return PageNotFoundError()
