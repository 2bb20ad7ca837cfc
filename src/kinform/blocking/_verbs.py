"""The blocking verbs for one class of objects, and discovery."""

from __future__ import annotations

from typing import Generic, TypeVar

from kinform.blocking._facade import BlockingFacade, blocking_method, iterate, wrapping_method
from kinform.blocking._watch import Watch
from kinform.client import Discovery as AsyncDiscovery
from kinform.client import Verbs as AsyncVerbs
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class Discovery(BlockingFacade):
    """Maps kinds, resources and scopes of the server: the blocking ``kinform.client.Discovery``."""

    resources = blocking_method(AsyncDiscovery.resources)
    for_resource = blocking_method(AsyncDiscovery.for_resource)
    for_kind = blocking_method(AsyncDiscovery.for_kind)
    refresh = blocking_method(AsyncDiscovery.refresh)


class Verbs(BlockingFacade, Generic[T]):
    """Get, list, watch, patch and delete for one class: the blocking ``kinform.client.Verbs``."""

    @property
    def discovery(self) -> Discovery:
        return Discovery(self._inner.discovery, self._owner)

    @property
    def namespace(self) -> str:
        """The default namespace of verbs on a single object."""
        namespace: str = self._inner.namespace
        return namespace

    @property
    def form(self) -> type[T]:
        """The class of the objects that the verbs return."""
        form: type[T] = self._inner.form
        return form

    get = blocking_method(AsyncVerbs[T].get)
    list = blocking_method(AsyncVerbs[T].list)
    page = blocking_method(AsyncVerbs[T].page)
    pages = wrapping_method(AsyncVerbs[T].pages, iterate)
    watch = wrapping_method(AsyncVerbs[T].watch, Watch[T])
    patch = blocking_method(AsyncVerbs[T].patch)
    delete = blocking_method(AsyncVerbs[T].delete)
    delete_collection = blocking_method(AsyncVerbs[T].delete_collection)
