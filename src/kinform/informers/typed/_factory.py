"""The factory of typed informers, by group, version and resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, Unpack, cast

from kinform._checks import check_callable, expect
from kinform.api import GVR
from kinform.client import Client, Fields, Labels, suggest_resource
from kinform.errors import ConfigError, NoMatchError
from kinform.informers._factory import FactoryOptions, InformerFactory
from kinform.informers._informer_key import Asked, InformerKey, Namespaces, as_gvr
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers._sharing import ResourceInformer
from kinform.informers.typed._generated_groups import Groups
from kinform.models import known_resources, model_for
from kinform.objects import Handle, PartialObjectMetadata, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)


class SharedInformerFactory(InformerFactory[TypedObject], Groups):
    """Shared informers for every kind with a model, built-in or your own.

        factory = SharedInformerFactory(client, default_resync=30.0)
        sets = factory.apps.v1.stateful_sets
        sets.informer.add_event_handler(on_add=lambda s: print(s.metadata.name, s.spec.replicas))
        async with factory:
            await factory.wait_for_cache_sync(timeout=30)
            print(sets.lister.namespace("default").list())

    Informers store whole objects as bytes and decode the parts that are read. Pass ``form=`` to
    ``for_resource`` to read the same store as ``Unstructured`` or ``PartialObjectMetadata``.
    ``transform`` receives typed objects, or ``Unstructured`` ones for resources without a model.
    ``namespace`` applies to namespaced kinds only.
    """

    def __init__(
        self,
        client: Client,
        default_resync: float = 0.0,
        **options: Unpack[FactoryOptions[TypedObject]],
    ) -> None:
        super().__init__(client, default_resync, **options)
        self._held: dict[type[TypedObject], ResourceInformer[Any]] = {}

    def for_model(
        self,
        model: type[M],
        *,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
    ) -> ResourceInformer[M]:
        """Return the informer and the lister for a kind: ``factory.for_model(Pod)``.

        Without a namespace and selectors, all calls return the same object, which counts as one
        user of the informer. ``factory.core.v1.pods`` is equivalent.

        Raises:
            InvalidNameError: The kind has no resource.
            SelectorError: A selector is invalid.
            AlreadyStoppedError: The factory was shut down before the first call for this kind.
        """
        if namespace is not None or labels or fields:
            return self.for_resource(
                model, form=model, namespace=namespace, labels=labels, fields=fields
            )
        as_gvr(model)  # rejects arguments that may not even be hashable
        with self._lock:
            held = self._held.get(model)
            if held is None or held.is_released:
                held = self._held[model] = self.for_resource(model, form=model)
        return cast("ResourceInformer[M]", held)

    def informer_for(
        self, model: type[M], build: Callable[[Client, float], SharedIndexInformer[M]]
    ) -> SharedIndexInformer[M]:
        """Return the informer for a kind, building it with ``build`` at the first request.

        ``build`` is called with the client and the resync period. The factory owns the informer
        from then on: it starts it, waits for it and shuts it down with the others.

        Raises:
            InvalidNameError: The kind has no resource.
            ConfigError: ``build`` returned an informer of another kind, or something else.
            AlreadyStoppedError: The factory was shut down.
        """
        key = self._key(model, None, "", "")
        check_callable("build", build)

        def make() -> SharedIndexInformer[M]:
            built = build(self.client, self._resync_period(key.resource))
            expect(
                built,
                SharedIndexInformer,
                receiver="informer_for",
                expected="what builds a kinform.SharedIndexInformer",
            )
            form: type[Handle] = built.form  # may differ from the annotation
            if issubclass(form, TypedObject) and form is not model:
                raise ConfigError(
                    f"the informer that was built is of {form.__name__}, not of {model.__name__}"
                )
            return built

        return self._hold(key, model, make).informer

    def object_or_metadata(
        self,
        resource: Asked,
        *,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
    ) -> ResourceInformer[TypedObject] | ResourceInformer[PartialObjectMetadata]:
        """Return typed objects if the resource has a model, otherwise metadata only.

        For programs that handle any kind, and need the contents of the kinds they know.
        """
        key = self._key(resource, namespace, labels, fields)
        if model_for(key.resource) is not None:
            return self.for_resource(resource, namespace=namespace, labels=labels, fields=fields)
        key = InformerKey(key.resource, key.namespaces, key.labels, key.fields, only_metadata=True)
        return self._hold(
            key, PartialObjectMetadata, lambda: self._make_informer(key, PartialObjectMetadata)
        )

    def _form_of(self, resource: GVR) -> type[TypedObject]:
        model = model_for(resource)
        if model is None:
            raise NoMatchError(
                f"there is no model for {resource}{suggest_resource(resource, known_resources())} "
                "A kind without one is seen with form=Unstructured; `kinform generate` makes "
                "models of CRDs"
            )
        return model

    def _has_namespaces(self, resource: Asked) -> bool:
        known = model_for(as_gvr(resource)) or resource
        return super()._has_namespaces(known)

    def _rests_as(self, resource: GVR) -> type[Handle]:
        return model_for(resource) or Unstructured
