"""Sharing of informers: counts the users of an informer and creates views for them."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from kinform.api import GVR
from kinform.errors import ConfigError
from kinform.informers._informer_key import InformerKey
from kinform.informers._informer_view import InformerView
from kinform.informers._lister import Lister
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.objects import Handle, PartialObjectMetadata, TypedObject

T = TypeVar("T", bound=Handle)
V = TypeVar("V", bound=Handle)


class Entry(msgspec.Struct, eq=False):
    """One informer with its views and the number of its users."""

    informer: SharedIndexInformer[Any]
    views: dict[type[Handle], SharedIndexInformer[Any]]
    users: int = 0

    @classmethod
    def of(cls, informer: SharedIndexInformer[Any]) -> Entry:
        return cls(informer, {informer.form: informer})

    def seen_as(self, form: type[V]) -> SharedIndexInformer[V]:
        view = self.views.get(form)
        if view is None:
            rests_as = self.informer.form
            if issubclass(rests_as, PartialObjectMetadata):
                raise ConfigError(
                    f"{self.informer.name} has metadata only, which cannot be seen as "
                    f"{form.__name__}; ask a factory of whole objects"
                )
            view = self.views[form] = InformerView(self.informer, form)
        return view


def check_form(form: type[Handle], resource: GVR) -> None:
    """Check that objects of a resource are available as ``form``.

    Raises:
        ConfigError: ``form`` is not a class of objects, or it is the model of another resource.
    """
    given: object = form  # callers may be untyped
    is_form = isinstance(given, type) and issubclass(given, Handle)
    if not is_form or inspect.isabstract(form) or form is TypedObject:
        raise ConfigError(
            f"objects cannot come out as {form!r}; form= takes Unstructured, "
            "PartialObjectMetadata, or the class of the resource's own kind"
        )
    if issubclass(form, TypedObject) and (form.resource is None or form.resource.gvr != resource):
        own = "no resource" if form.resource is None else form.resource.gvr
        raise ConfigError(f"{form.__name__} is the class for {own}, not for {resource}")


class ResourceInformer(Generic[T]):
    """A reference to a shared informer, and a lister over its store.

    Attributes:
        resource: The resource.
        informer: The informer, shared with all equal requests.
        lister: Reads the informer's store.
    """

    def __init__(
        self,
        key: InformerKey,
        informer: SharedIndexInformer[T],
        give_back: Callable[[InformerKey, SharedIndexInformer[T]], None],
    ) -> None:
        self.resource = key.resource
        self.informer = informer
        self.lister: Lister[T] = Lister(informer.indexer, informer.form, key.resource.resource)
        self._key = key
        self._give_back: Callable[[InformerKey, SharedIndexInformer[T]], None] | None = give_back
        self._releasing = threading.Lock()

    def release(self) -> None:
        """Release the reference. The informer stops with its last reference. Idempotent."""
        with self._releasing:
            give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back(self._key, self.informer)

    @property
    def is_released(self) -> bool:
        return self._give_back is None

    def __repr__(self) -> str:
        return f"<ResourceInformer {self.informer!r}>"
