"""A resource, kind or name as the caller says it in; the path that leads to it out."""

from __future__ import annotations

from kinform.api import GVK, GVR, ApiResource
from kinform.client._discovery import Discovery
from kinform.client._paths import resource_path
from kinform.errors import InvalidNameError, KinformError, NoMatchError, NotFoundError
from kinform.objects import Handle, TypedObject

Resource = GVR | GVK | ApiResource
"""How a verb is told what to work on: by resource, by kind, or by what discovery gave."""

ResourceOrModel = Resource | type[TypedObject]
"""The same, or by the class of its objects."""


class Resolver:
    """Knows where things are. ``namespace`` is where they are if nobody says."""

    def __init__(self, discovery: Discovery, namespace: str) -> None:
        self._discovery = discovery
        self._namespace = namespace

    async def resolve(self, resource: Resource) -> ApiResource:
        """What the server says of it.

        Raises:
            NoMatchError: The server has no such thing.
        """
        resource = place_of(resource)  # typed verbs have done that; whoever else is as welcome
        if isinstance(resource, ApiResource):
            return resource
        if isinstance(resource, GVR):
            return await self._discovery.for_resource(resource)
        return await self._discovery.for_kind(resource)

    async def resolve_body(
        self, obj: Handle, resource: Resource | None, subresource: str
    ) -> ApiResource:
        """Where an object is to be sent: to its own kind's resource, unless the caller says.

        Raises:
            NoMatchError: The server has no such kind, or the kind no resource of its own.
        """
        if resource is not None:
            return await self.resolve(resource)
        if isinstance(obj, TypedObject):
            if obj.resource is None:
                raise _body_of_many(obj, subresource)
            return obj.resource  # it knows; if the server does not, its 404 is explained
        try:
            return await self.resolve(obj.gvk)
        except NoMatchError as error:
            if not subresource:
                raise
            raise _body_of_many(obj, subresource) from error

    async def collection_path(self, resource: Resource, namespace: str | None) -> str:
        """The path of all objects, of one namespace or of all."""
        # A GVR is a path already; whether it exists and has namespaces, the server says soon.
        if isinstance(resource, GVR):
            return resource_path(resource, namespace=namespace or "")
        found = await self.resolve(resource)
        if namespace and not found.namespaced:
            raise _not_in_namespaces(found)
        return resource_path(found.gvr, namespace=namespace or "")

    async def object_path(
        self, resource: Resource, name: str, namespace: str | None, subresource: str = ""
    ) -> str:
        """The path of one object, or of a subresource of it."""
        given: object = name  # callers are not all type-checked
        if given is None:  # the path would be that of all objects: a delete would be of them all
            raise InvalidNameError(f"which object of {shown(resource)}? its name is None")
        if isinstance(resource, GVR) and namespace:
            return resource_path(resource, namespace=namespace, name=name, subresource=subresource)
        found = await self.resolve(resource)
        home = self.home(found, namespace)
        return resource_path(found.gvr, namespace=home, name=name, subresource=subresource)

    def home(self, resource: ApiResource, namespace: str | None, own: str = "") -> str:
        """The namespace of an object: the caller's word, its own, or the one to use if neither."""
        if resource.namespaced:
            return namespace or own or self._namespace
        if namespace:
            raise _not_in_namespaces(resource)
        return ""

    async def explain_not_found(
        self, resource: Resource | None, path: str, error: NotFoundError
    ) -> None:
        """A 404 that names no object means the resource itself; say which ones there are.

        Raises:
            NoMatchError: Discovery does not have the resource either, or not in namespaces.
        """
        if error.details.get("name") or resource is None:
            return
        try:
            await self._discovery.refresh()  # what we know of it may be what is wrong
            # A class, or what an older discovery gave, says more than this server may have.
            asked = resource.gvr if isinstance(resource, ApiResource) else resource
            found = await self.resolve(asked)
        except NoMatchError as no_match:
            raise no_match from error
        except KinformError:
            return  # the 404 says more than why it cannot be explained
        if not found.namespaced and not path.startswith(resource_path(found.gvr)):
            raise _not_in_namespaces(found) from error


def place_of(resource: ResourceOrModel) -> Resource:
    """Where the objects of a class are found. What is no class says that already.

    Raises:
        InvalidNameError: They have no place of their own, or it is neither.
    """
    if isinstance(resource, Resource):
        return resource
    given: object = resource  # callers are not all type-checked
    if not (isinstance(given, type) and issubclass(given, TypedObject)):
        raise InvalidNameError(
            f"{given!r} is no resource; pass a GVR such as GVR.parse('apps/v1/deployments'), "
            "a GVK, a class of kinform.models, or what discovery gave"
        )
    if resource.resource is None:
        raise InvalidNameError(
            f"{resource.__name__} has no resource of its own; if it is what a subresource takes "
            f"or gives, name the resource that has it, and pass form={resource.__name__}"
        )
    return resource.resource


def shown(resource: Resource) -> str:
    return str(resource.gvr if isinstance(resource, ApiResource) else resource)


def _body_of_many(obj: Handle, subresource: str) -> NoMatchError:
    if not subresource:
        return NoMatchError(
            f"a {obj.kind} is the body of a subresource, and has no resource of its own; say "
            "where it goes with resource=, name= and subresource="
        )
    return NoMatchError(
        f"a {obj.kind} is the body of {subresource!r}, and many resources have one; "
        "say which with resource="
    )


def _not_in_namespaces(resource: ApiResource) -> NoMatchError:
    return NoMatchError(f"{resource.gvr} is not in namespaces; leave the namespace out")
