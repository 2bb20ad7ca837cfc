"""Routes requests: finds the verb and the resource for a method and a path."""

from __future__ import annotations

from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from kinform.api import GVR
from kinform.errors import InvalidNameError
from kinform.testing import api_errors
from kinform.testing.resources import ResourceRegistry, ServedResource

_OBJECT_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCE_VERBS = {**_OBJECT_VERBS, "POST": "create"}
_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
# Below a namespace, these are its own subresources; all others are resources in it.
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


class PageNotFoundError(Exception):
    """The path does not exist: the plain 404 of a web server, not an API error."""


class RequestTarget(msgspec.Struct, frozen=True):
    """The target of a request. ``refusal`` is the error if it cannot be served."""

    verb: str = ""
    gvr: GVR | None = None
    served: ServedResource | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    refusal: Exception | None = None


def find_target(
    registry: ResourceRegistry, method: str, raw_path: str, *, watch: bool
) -> RequestTarget:
    """Return the target of a request; ``raw_path`` is decoded segment by segment."""
    segments = [unquote(segment) for segment in raw_path.strip("/").split("/")]
    if segments[0] == "api" and len(segments) > 2:
        group, version, rest = "", segments[1], segments[2:]
    elif segments[0] == "apis" and len(segments) > 3:
        group, version, rest = segments[1], segments[2], segments[3:]
    else:
        return RequestTarget()
    if rest[0] == "watch" and len(rest) > 1:
        rest, watch = rest[1:], True
    target = _place(group, version, rest)
    verb = _verb(method, target, watch=watch)
    located = replace(target, verb=verb)
    if located.gvr is None or (segments[0] == "apis" and not group):
        return replace(located, refusal=_unknown(registry, group))
    served = registry.find(group, version, located.gvr.resource)
    located = replace(located, served=served)
    return replace(located, refusal=_refusal(registry, method, located))


def _place(group: str, version: str, rest: list[str]) -> RequestTarget:
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = "/".join(rest[2:])
    try:
        gvr = GVR(group, version, rest[0])
    except InvalidNameError:
        return RequestTarget(namespace=namespace, name=name, subresource=subresource)
    return RequestTarget("", gvr, None, namespace, name, subresource)


def _verb(method: str, target: RequestTarget, *, watch: bool) -> str:
    if target.subresource:
        return _SUBRESOURCE_VERBS.get(method, "")
    if target.name:
        return "watch" if watch and method == "GET" else _OBJECT_VERBS.get(method, "")
    verb = _COLLECTION_VERBS.get(method, "")
    return "watch" if verb == "list" and watch else verb


def _refusal(registry: ResourceRegistry, method: str, target: RequestTarget) -> Exception | None:
    served, gvr = target.served, target.gvr
    assert gvr is not None  # only called for resources
    if served is None:
        return _unknown(registry, gvr.group)
    named_elsewhere = bool(target.name) and served.namespaced and not target.namespace
    if named_elsewhere or (target.namespace and not served.namespaced):
        return PageNotFoundError() if served.custom else api_errors.no_such_resource()
    if target.subresource:
        return _subresource_refusal(served, target)
    if served.namespaced and not target.namespace and target.verb not in ("list", "watch"):
        # Across all namespaces, only list and watch are allowed.
        unknown = served.custom and method == "POST"
        return PageNotFoundError() if unknown else api_errors.method_not_allowed()
    if served.custom and method == "PATCH" and not target.name:
        return api_errors.bad_request("name must be provided")
    if target.verb not in served.verbs:
        return api_errors.method_not_allowed()
    return None


def _subresource_refusal(served: ServedResource, target: RequestTarget) -> Exception | None:
    first = target.subresource.partition("/")[0]
    found = served.subresources.get(first)
    if found is None:
        if served.custom:
            return api_errors.not_found(served.qualified_name, target.name)
        return api_errors.no_such_resource()
    return None if target.verb in found.verbs else api_errors.method_not_allowed()


def _unknown(registry: ResourceRegistry, group: str) -> Exception:
    """Return the error for an unknown resource; undefined groups get a plain 404."""
    if group in registry.groups() and not registry.serves_custom_group(group):
        return api_errors.no_such_resource()
    return PageNotFoundError()
