"""Creates the informers of a cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from msgspec.structs import replace

from kinform.api import GVR, ApiResource
from kinform.client import ResourceLike, Watcher, gvr_of
from kinform.informers import (
    FactoryOptions,
    InformerFactory,
    InformerKey,
    KindOptions,
    ResourceInformer,
    SharedIndexInformer,
)
from kinform.models import model_for
from kinform.objects import Handle, PartialObjectMetadata, Unstructured


class CacheInformers(InformerFactory[Handle]):
    """The factory behind a cache: any kind, typed if it has a model, or metadata only."""

    def __init__(
        self,
        client: Watcher,
        default_resync: float,
        **options: Unpack[FactoryOptions[Any]],
    ) -> None:
        super().__init__(client, default_resync, **options)
        self._resources: dict[GVR, ApiResource] = {}

    def key(self, resource: ApiResource, *, only_metadata: bool) -> InformerKey:
        """Return the key of the informer for a kind, by the options of the cache."""
        self._resources[resource.gvr] = resource
        return self._key(resource.gvr, only_metadata=only_metadata)

    def lease(
        self, key: InformerKey, *, reuse: SharedIndexInformer[Any] | None = None
    ) -> ResourceInformer[Any]:
        """Return a lease of the informer for a key.

        Args:
            key: What the informer covers.
            reuse: A stopped informer to run again instead of creating one.
        """
        form = PartialObjectMetadata if key.only_metadata else self._stored_form(key.resource)
        return self._lease(key, form, lambda: reuse or self._make_informer(key, form))

    def set_default_namespaces(self, names: Iterable[str]) -> None:
        """Use these namespaces for all kinds whose options have none, from now on."""
        self._defaults = replace(self._defaults, namespace=sorted(names) or {})

    @property
    def default_namespaces(self) -> frozenset[str] | None:
        """The default namespaces; ``None`` for all, or if they have options of their own."""
        given = self._defaults.namespace
        if isinstance(given, str):
            return frozenset((given,)) if given else None
        is_plain = given is not None and not (isinstance(given, Mapping) and given)
        return frozenset(given or ()) if is_plain else None

    def set_kind_options(self, resource: GVR, change: KindOptions[Any]) -> None:
        """Change options of a kind, from now on."""
        known = self._by_kind.get(resource)
        self._by_kind[resource] = change if known is None else change.over(known)

    def check_options(self) -> None:
        """Check the options of all kinds whose scope is known without asking the server.

        Raises:
            NoMatchError: A cluster-scoped kind has namespaces.
        """
        for resource in self._by_kind:
            model = model_for(resource)
            if model is not None and model.resource is not None:
                self.key(model.resource, only_metadata=False)

    def start_one(self, key: InformerKey) -> None:
        """Start one informer, unless it is running."""
        self._map.start([key])

    def _form_of(self, resource: GVR) -> type[Handle]:
        return model_for(resource) or Unstructured

    def _is_namespaced(self, resource: ResourceLike) -> bool:
        known = self._resources.get(gvr_of(resource))
        return known.namespaced if known is not None else super()._is_namespaced(resource)
