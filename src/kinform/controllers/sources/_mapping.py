"""Maps objects to the keys of a controller: the object itself, or its owners."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kinform.api import GVK, ApiResource
from kinform.client import ClusterReader, ResourceOrModel, gvr_of
from kinform.controllers._request import Request
from kinform.errors import ConfigError, InvalidNameError
from kinform.objects import Handle


def owner_requests(
    obj: Handle, owner: ApiResource, *, every_owner: bool = False, cluster: str = ""
) -> list[Request]:
    """Return requests for the owners of an object that are of one kind.

    Args:
        obj: The owned object.
        owner: The kind of the owners. The version of a reference may differ.
        every_owner: All owners of the kind, instead of the one that is the controller.
        cluster: The cluster of the requests.
    """
    references: Iterable[Mapping[str, Any]] = obj.get_path("metadata.ownerReferences") or ()
    namespace = obj.namespace if owner.namespaced else ""
    requests = (
        Request(namespace, reference.get("name", ""), cluster)
        for reference in references
        if reference.get("kind") == owner.kind
        and (every_owner or reference.get("controller"))
        and _group(reference) == owner.gvr.group
    )
    return list(dict.fromkeys(requests))


def _group(reference: Mapping[str, Any]) -> str | None:
    """Return the group of an owner; ``None`` if the reference is malformed."""
    group, slash, version = str(reference.get("apiVersion", "")).partition("/")
    if "/" in version:
        return None
    return group if slash else ""


def keys_in(mapped: Any, function: str = "map") -> Iterable[Any]:
    """Return the keys that a function of the user returned.

    Raises:
        ConfigError: It returned something else, such as a single key, whose parts would be taken
            for keys.
    """
    if inspect.iscoroutine(mapped):
        mapped.close()  # otherwise Python warns that nobody awaited it
    if isinstance(mapped, str | bytes | Request) or not isinstance(mapped, Iterable):
        raise ConfigError(f"{function} must return a list of keys, not {mapped!r}")
    return mapped


def owner_map(
    owner: ApiResource, *, every_owner: bool, cluster: str
) -> Callable[[Handle], list[Request]]:
    """Return a map function from objects to their owners of one kind."""

    def map_to_owners(obj: Handle) -> list[Request]:
        return owner_requests(obj, owner, every_owner=every_owner, cluster=cluster)

    return map_to_owners


async def resource_of(client: ClusterReader, kind: ResourceOrModel) -> ApiResource:
    """Return the resource of a kind, with a request to the server where necessary.

    Raises:
        NoMatchError: The server does not have the kind.
        InvalidNameError: This is not a kind.
    """
    if isinstance(kind, ApiResource):
        return kind
    if isinstance(kind, type):
        resource = getattr(kind, "resource", None)
        if resource is None:
            raise InvalidNameError(f"{kind.__name__} has no resource, so it cannot be an owner")
        found: ApiResource = resource
        return found
    if isinstance(kind, GVK):
        return await client.discovery.for_kind(kind)
    return await client.discovery.for_resource(gvr_of(kind))
