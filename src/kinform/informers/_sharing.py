"""One informer in; a hold on it for each of its users, in the form that they want, out."""

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
    """One informer, and the forms in which its objects are seen."""

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
    """Refuse what is no form of an object, and the class of another resource.

    Raises:
        ConfigError: These objects cannot come out as that.
    """
    given: object = form  # callers are not all type-checked
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
    """One user's hold on a shared informer: the informer, and a lister over its store.

    Attributes:
        resource: What it is of.
        informer: Shared with all who asked the same.
        lister: Reads its store.
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
        """Say that you need it no more. With its last user the informer stops. Idempotent."""
        with self._releasing:
            give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back(self._key, self.informer)

    @property
    def is_released(self) -> bool:
        return self._give_back is None

    def __repr__(self) -> str:
        return f"<ResourceInformer {self.informer!r}>"
