"""The resource argument of verbs and informers: converts text and model classes."""

from __future__ import annotations

from kinform.api import GVK, GVR, ApiResource
from kinform.errors import InvalidNameError
from kinform.objects import TypedObject

Place = GVR | GVK | ApiResource
"""A resource after conversion."""

Resource = Place | str
"""The resource argument of a verb: a GVR, a GVK, a resource from discovery, or a string such as
``apps/v1/deployments``."""

ResourceOrModel = Resource | type[TypedObject]
"""A resource as above, or a model class."""

ResourceLike = GVR | ApiResource | str | type[TypedObject]
"""A resource whose name is known without discovery: all of the above except a GVK."""


def place_of(resource: ResourceOrModel) -> Place:
    """Return the resource that a string or a model class stands for.

    Raises:
        InvalidNameError: The class has no resource, or this is neither a class nor a resource.
    """
    if isinstance(resource, Place):
        return resource
    if isinstance(resource, str):
        return GVR.parse(resource)
    given: object = resource  # callers may be untyped
    if not (isinstance(given, type) and issubclass(given, TypedObject)):
        raise InvalidNameError(
            f"{given!r} is not a resource; pass a GVR, a string such as 'apps/v1/deployments', "
            "a GVK, a model class, or a resource from discovery"
        )
    if resource.resource is None:
        raise InvalidNameError(
            f"{resource.__name__} has no resource of its own; if a subresource takes or returns "
            f"it, pass the resource that has the subresource, and form={resource.__name__}"
        )
    return resource.resource


def gvr_of(resource: ResourceLike) -> GVR:
    """Return the GVR of a resource.

    Raises:
        InvalidNameError: This is not a resource, or the class has none, or it is a GVK, which
            only discovery can resolve.
    """
    place = place_of(resource)
    if isinstance(place, GVK):
        raise InvalidNameError(
            f"{place} is a kind; pass its resource, such as GVR.parse('apps/v1/deployments')"
        )
    return place if isinstance(place, GVR) else place.gvr


def resource_name(resource: Place) -> str:
    """Return the name of a resource for messages."""
    return str(resource.gvr if isinstance(resource, ApiResource) else resource)
