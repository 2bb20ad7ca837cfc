"""The verbs over one form of objects, and discovery, for plain code."""

from __future__ import annotations

from typing import Generic, TypeVar

from kinform.blocking._doors import Doors, door, door_to, iterate
from kinform.blocking._watch import Watch
from kinform.client import Discovery as AsyncDiscovery
from kinform.client import Verbs as AsyncVerbs
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class Discovery(Doors):
    """Kind ↔ resource ↔ scope, for everything the server has: ``kinform.client.Discovery``."""

    resources = door(AsyncDiscovery.resources)
    for_resource = door(AsyncDiscovery.for_resource)
    for_kind = door(AsyncDiscovery.for_kind)
    refresh = door(AsyncDiscovery.refresh)


class Verbs(Doors, Generic[T]):
    """Get, list, watch, patch and delete, for objects in one form: ``kinform.client.Verbs``."""

    @property
    def discovery(self) -> Discovery:
        return Discovery(self._inner.discovery, self._owned)

    @property
    def namespace(self) -> str:
        """Where the verbs on one object look if nobody says."""
        namespace: str = self._inner.namespace
        return namespace

    @property
    def form(self) -> type[T]:
        """The class of the objects that the verbs give."""
        form: type[T] = self._inner.form
        return form

    get = door(AsyncVerbs[T].get)
    list = door(AsyncVerbs[T].list)
    page = door(AsyncVerbs[T].page)
    pages = door_to(AsyncVerbs[T].pages, iterate)
    watch = door_to(AsyncVerbs[T].watch, Watch[T])
    patch = door(AsyncVerbs[T].patch)
    delete = door(AsyncVerbs[T].delete)
    delete_collection = door(AsyncVerbs[T].delete_collection)
