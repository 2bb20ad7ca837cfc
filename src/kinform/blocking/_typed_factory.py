"""The blocking informer factory of typed objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, Unpack, cast

from kinform._checks import expect
from kinform.blocking._client import Client, inner_client
from kinform.blocking._factory import BlockingFactory, ResourceInformer
from kinform.blocking._shared_informer import SharedIndexInformer, SharedIndexInformerOptions
from kinform.blocking._source import ListWatch
from kinform.client import Fields, Labels, ResourceLike
from kinform.informers import (
    FactoryOptions,
    KindOptions,
    NamespaceNames,
    Namespaces,
    TweakListOptions,
)
from kinform.informers import ResourceInformer as AsyncResourceInformer
from kinform.informers import SharedIndexInformer as AsyncInformer
from kinform.informers import SharedInformerFactory as AsyncFactory
from kinform.informers.typed import Groups, namespaces_of
from kinform.objects import PartialObjectMetadata, TypedObject

M = TypeVar("M", bound=TypedObject)


class SharedInformerFactory(BlockingFactory[TypedObject], Groups):
    """Informers for all kinds that have a model, built-in or custom.

        with blocking.Client.from_env() as client:
            factory = blocking.SharedInformerFactory(client)
            nodes = factory.core.v1.nodes
            with factory:
                factory.wait_for_cache_sync(timeout=30)
                print([node.metadata.name for node in nodes.lister.list()])

    The options are those of ``kinform.SharedInformerFactory``.
    """

    _inner: AsyncFactory

    def __init__(
        self,
        client: Client,
        default_resync: float = 0.0,
        **options: Unpack[FactoryOptions[TypedObject]],
    ) -> None:
        inner = inner_client(client, receiver=type(self).__name__)
        super().__init__(client, AsyncFactory(inner, default_resync, **options))

    def for_model(
        self,
        model: type[M],
        *,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
        options: KindOptions[M] | None = None,
    ) -> ResourceInformer[M]:
        """Return a lease of the informer for a kind: ``factory.for_model(Pod)``."""
        return self.for_resource(
            model, form=model, namespace=namespace, labels=labels, fields=fields, options=options
        )

    def informer_for(
        self, model: type[M], build: Callable[[Client, float], SharedIndexInformer[M]]
    ) -> SharedIndexInformer[M]:
        """Return the informer for a kind; ``build`` creates it on the first request."""

        def build_inner(_: object, resync_period: float) -> AsyncInformer[M]:
            built = build(self.client, resync_period)
            expect(
                built,
                SharedIndexInformer,
                receiver="informer_for",
                expected="a function that returns a kinform.blocking.SharedIndexInformer",
            )
            return self._facades.adopt(built)

        return self._facades.of(self._inner.informer_for(model, build_inner))

    def object_or_metadata(
        self,
        resource: ResourceLike,
        *,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
    ) -> ResourceInformer[TypedObject] | ResourceInformer[PartialObjectMetadata]:
        """Return an informer of typed objects if the resource has a model, else of metadata."""
        found = self._inner.object_or_metadata(
            resource, namespace=namespace, labels=labels, fields=fields
        )
        either = cast("AsyncResourceInformer[TypedObject]", found)  # the same facade for both
        return ResourceInformer(either, self._facades.of(either.informer))


def new_informer(
    model: type[M],
    client: Client,
    *,
    namespace: NamespaceNames = None,
    labels: Labels = "",
    fields: Fields = "",
    tweak_list_options: TweakListOptions | None = None,
    **options: Unpack[SharedIndexInformerOptions[M]],
) -> SharedIndexInformer[M]:
    """Create an informer of a kind that is not shared: its own list and watch, its own store.

    Args:
        model: The model class of the kind.
        client: The client of the cluster.
        namespace: One or several namespaces; ``None`` for all.
        labels: Select objects by label.
        fields: Select objects by field.
        tweak_list_options: Receives and returns the options of every list and watch.
        options: The options of ``SharedIndexInformer``.
    """
    inner_client(client, receiver="new_informer")
    sources = [
        ListWatch.for_resource(
            client,
            model,
            namespace=each,
            labels=labels,
            fields=fields,
            tweak_list_options=tweak_list_options,
        )
        for each in namespaces_of(model, namespace)
    ]
    return SharedIndexInformer(sources, **options)
