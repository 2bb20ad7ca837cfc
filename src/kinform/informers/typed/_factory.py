"""The factory of typed informers, by group, version and resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kinform._checks import check_callable, expect
from kinform.api import GVR
from kinform.client import Fields, Labels, ResourceLike, gvr_of, suggest_resource
from kinform.errors import ConfigError, NoMatchError
from kinform.informers._factory import InformerFactory
from kinform.informers._kind_options import KindOptions
from kinform.informers._lease import ResourceInformer
from kinform.informers._namespace_options import Namespaces
from kinform.informers._shared_informer import SharedIndexInformer
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

    def for_model(
        self,
        model: type[M],
        *,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
        options: KindOptions[M] | None = None,
    ) -> ResourceInformer[M]:
        """Return a lease of the informer for a kind, with a lister: ``factory.for_model(Pod)``.

        ``factory.core.v1.pods`` is equivalent to a call without options.

        Raises:
            InvalidNameError: The kind has no resource.
            SelectorError: A selector is invalid.
            AlreadyStoppedError: The factory was shut down.
        """
        return self.for_resource(
            model, form=model, namespace=namespace, labels=labels, fields=fields, options=options
        )

    def informer_for(
        self, model: type[M], build: Callable[[Any, float], SharedIndexInformer[M]]
    ) -> SharedIndexInformer[M]:
        """Return the informer for a kind, building it with ``build`` at the first request.

        ``build`` is called with the client and the resync period. The factory owns the informer
        from then on: it starts it, waits for it and shuts it down with the others.

        Raises:
            InvalidNameError: The kind has no resource.
            ConfigError: ``build`` returned an informer of another kind, or something else.
            AlreadyStoppedError: The factory was shut down.
        """
        key = self._key(model)
        check_callable("build", build)

        def make() -> SharedIndexInformer[M]:
            built = build(self.client, self._resync_period_of(key))
            expect(
                built,
                SharedIndexInformer,
                receiver="informer_for",
                expected="a function that returns a kinform.SharedIndexInformer",
            )
            form: type[Handle] = built.form  # may differ from the annotation
            if issubclass(form, TypedObject) and form is not model:
                raise ConfigError(
                    f"build returned an informer for {form.__name__}, not for {model.__name__}"
                )
            return built

        return self._lease(key, model, make).informer

    def object_or_metadata(
        self,
        resource: ResourceLike,
        *,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
    ) -> ResourceInformer[TypedObject] | ResourceInformer[PartialObjectMetadata]:
        """Return typed objects if the resource has a model, otherwise metadata only.

        For programs that handle any kind, and need the contents of the kinds they know.
        """
        if model_for(gvr_of(resource)) is not None:
            return self.for_resource(resource, namespace=namespace, labels=labels, fields=fields)
        key = self._key(resource, namespace, labels, fields, only_metadata=True)
        return self._lease(
            key, PartialObjectMetadata, lambda: self._make_informer(key, PartialObjectMetadata)
        )

    def _form_of(self, resource: GVR) -> type[TypedObject]:
        model = model_for(resource)
        if model is None:
            raise NoMatchError(
                f"there is no model for {resource}{suggest_resource(resource, known_resources())} "
                "Pass form=Unstructured to read it without a model; `kinform generate` writes "
                "models for CRDs"
            )
        return model

    def _is_namespaced(self, resource: ResourceLike) -> bool:
        known = model_for(gvr_of(resource)) or resource
        return super()._is_namespaced(known)

    def _stored_form(self, resource: GVR) -> type[Handle]:
        return model_for(resource) or Unstructured
