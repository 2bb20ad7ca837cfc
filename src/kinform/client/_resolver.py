"""Resolves resources and kinds to request paths."""

from __future__ import annotations

from typing import NamedTuple

from kinform.api import GVR, ApiResource
from kinform.client._discovery import Discovery
from kinform.client._paths import resource_path
from kinform.client._resources import Place, resource_name
from kinform.errors import InvalidNameError, KinformError, NoMatchError, NotFoundError
from kinform.objects import Handle, TypedObject


class Location(NamedTuple):
    """What a request is for: a collection, an object or a subresource of it."""

    gvr: GVR
    namespace: str
    name: str | None = None
    subresource: str = ""

    @property
    def path(self) -> str:
        """The path of the request.

        Raises:
            InvalidNameError: A name is invalid.
        """
        return resource_path(
            self.gvr, namespace=self.namespace, name=self.name, subresource=self.subresource
        )


class Resolver:
    """Finds the paths of resources and objects. ``namespace`` is the default namespace."""

    def __init__(self, discovery: Discovery, namespace: str) -> None:
        self._discovery = discovery
        self._namespace = namespace

    async def resolve(self, resource: Place) -> ApiResource:
        """Return the resource as described by the server.

        Raises:
            NoMatchError: The resource does not exist.
        """
        if isinstance(resource, ApiResource):
            return resource
        if isinstance(resource, GVR):
            return await self._discovery.for_resource(resource)
        return await self._discovery.for_kind(resource)

    async def resolve_object(
        self, obj: Handle, resource: Place | None, subresource: str
    ) -> ApiResource:
        """Return the resource to send an object to; by default, the resource of its kind.

        Raises:
            NoMatchError: The kind does not exist on the server, or has no resource.
        """
        if resource is not None:
            return await self.resolve(resource)
        if isinstance(obj, TypedObject):
            if obj.resource is None:
                raise _ambiguous_body(obj, subresource)
            return obj.resource  # without discovery; if it is wrong, the 404 is explained
        try:
            return await self.resolve(obj.gvk)
        except NoMatchError as error:
            if not subresource:
                raise
            raise _ambiguous_body(obj, subresource) from error

    async def locate_collection(self, resource: Place, namespace: str | None) -> Location:
        """Return the location of a collection, in one namespace or in all."""
        # A GVR needs no discovery: the server reports if it does not exist or has no namespaces.
        if isinstance(resource, GVR):
            return Location(resource, namespace or "")
        found = await self.resolve(resource)
        if namespace and not found.namespaced:
            raise _not_in_namespaces(found)
        return Location(found.gvr, namespace or "")

    async def locate(
        self, resource: Place, name: str, namespace: str | None, subresource: str = ""
    ) -> Location:
        """Return the location of an object or of one of its subresources."""
        given: object = name  # callers may be untyped
        if given is None:  # the path of the whole collection, which a delete would empty
            raise InvalidNameError(
                f"which object of {resource_name(resource)}? the given name is None"
            )
        if isinstance(resource, GVR) and namespace:
            return Location(resource, namespace, name, subresource)
        found = await self.resolve(resource)
        return Location(found.gvr, self.namespace_for(found, namespace), name, subresource)

    def namespace_for(self, resource: ApiResource, namespace: str | None, own: str = "") -> str:
        """Return the namespace: the explicit one, the object's own, or the default."""
        if resource.namespaced:
            return namespace or own or self._namespace
        if namespace:
            raise _not_in_namespaces(resource)
        return ""

    async def explain_not_found(
        self, resource: Place | None, path: str, error: NotFoundError
    ) -> None:
        """Explain a 404 that names no object, which means that the resource was not found.

        Raises:
            NoMatchError: Discovery does not have the resource either, or not in namespaces.
        """
        if error.details.get("name") or resource is None:
            return
        try:
            await self._discovery.refresh()  # the cached entry may be outdated
            # Look up by name: a model or an older discovery may differ from this server.
            named = resource.gvr if isinstance(resource, ApiResource) else resource
            found = await self.resolve(named)
        except NoMatchError as no_match:
            raise no_match from error
        except KinformError:
            return  # the original 404 is more useful than this error
        if not found.namespaced and not path.startswith(resource_path(found.gvr)):
            raise _not_in_namespaces(found) from error


def _ambiguous_body(obj: Handle, subresource: str) -> NoMatchError:
    if not subresource:
        return NoMatchError(
            f"a {obj.kind} is the body of a subresource, and has no resource of its own; pass "
            "resource=, name= and subresource="
        )
    return NoMatchError(
        f"a {obj.kind} is the body of the subresource {subresource!r}, which many resources "
        "have; pass resource="
    )


def _not_in_namespaces(resource: ApiResource) -> NoMatchError:
    return NoMatchError(f"{resource.gvr} is cluster-scoped; omit the namespace")
