"""The blocking informer factories."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack, overload

from kinform.blocking._client import Client, inner_client
from kinform.blocking._facade import BlockingFacade, blocking_method, direct_method, loop_method
from kinform.blocking._owner import Owner
from kinform.blocking._shared_informer import InformerFacades, SharedIndexInformer
from kinform.client import Fields, Labels, ResourceLike
from kinform.informers import DynamicSharedInformerFactory as AsyncDynamicFactory
from kinform.informers import (
    FactoryOptions,
    InformerFactory,
    InformerKey,
    InformerMap,
    KindOptions,
    Namespaces,
)
from kinform.informers import MetadataSharedInformerFactory as AsyncMetadataFactory
from kinform.informers import ResourceInformer as AsyncResourceInformer
from kinform.objects import Handle, PartialObjectMetadata, Unstructured

T = TypeVar("T", bound=Handle)
V = TypeVar("V", bound=Handle)


class ResourceInformer(Generic[T]):
    """A caller's lease of a shared informer, with a lister over its store.

        with factory.for_resource("v1/pods") as pods:     # start ... release
            pods.informer.has_synced.wait(timeout=30)
            print(pods.lister.list())

    The informer runs until its last lease is released.

    Attributes:
        resource: The resource of the informer.
        informer: The informer, shared by all equal requests.
        lister: Reads the store of the informer.
        release: End this lease; others are not affected. Idempotent.
    """

    def __init__(self, inner: AsyncResourceInformer[T], informer: SharedIndexInformer[T]) -> None:
        self._inner = inner
        self.resource = inner.resource
        self.informer = informer
        self.lister = inner.lister
        self.release = inner.release

    def close(self) -> None:
        """End this lease, and wait for the informer if it stops."""
        self.informer._owner.run_if_open(self._inner.close())

    @property
    def is_released(self) -> bool:
        return self._inner.is_released

    def __enter__(self) -> Self:
        """Start the informer, unless it is running."""
        self.informer._owner.run(self._inner.__aenter__())
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the lease, and wait for the informer if it stops."""
        self.informer._owner.run_if_open(self._inner.__aexit__(exc_type, exc, traceback))

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"


class BlockingFactory(BlockingFacade, Generic[T]):
    """Base class of the blocking factories. ``with factory:`` starts and stops it.

    It runs on the loop thread of its client, and so do ``async def`` handlers; each ``def`` handler
    has its own thread. Keep a reference to the factory or to one of its informers: without one, all
    informers stop, even if their listers are still in use.
    """

    _inner: InformerFactory[T]

    def __init__(self, client: Client, inner: InformerFactory[T]) -> None:
        owner = Owner(
            inner.shutdown,
            name=f"the blocking {inner.name} of {client.config.server}",
            instead=f"kinform.informers.{type(inner).__name__}",
            loop=client._owner.loop,
            needs=client._owner,
        )
        super().__init__(inner, owner)
        self.client = client
        self._facades = InformerFacades(owner)

    @overload
    def for_resource(
        self,
        resource: ResourceLike,
        *,
        form: None = None,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
        options: KindOptions[T] | None = None,
    ) -> ResourceInformer[T]: ...
    @overload
    def for_resource(
        self,
        resource: ResourceLike,
        *,
        form: type[V],
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
        options: KindOptions[Any] | None = None,
    ) -> ResourceInformer[V]: ...
    def for_resource(
        self,
        resource: ResourceLike,
        *,
        form: type[Any] | None = None,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
        options: KindOptions[Any] | None = None,
    ) -> ResourceInformer[Any]:
        """Return a lease of the informer for a resource; equal requests share an informer."""
        found = self._inner.for_resource(
            resource,
            form=form,
            namespace=namespace,
            labels=labels,
            fields=fields,
            options=options,
        )
        return ResourceInformer(found, self._facades.of(found.informer))

    @property
    def informers(self) -> Mapping[InformerKey, SharedIndexInformer[Any]]:
        """All informers in use."""
        return {key: self._facades.of(each) for key, each in self._inner.informers.items()}

    @property
    def informer_map(self) -> InformerMap:
        """The informers, to be shared with other factories of the same client."""
        return self._inner.informer_map

    start = loop_method(InformerFactory.start)
    remove = direct_method(InformerFactory.remove)
    wait_for_cache_sync = blocking_method(InformerFactory.wait_for_cache_sync)
    # On the loop thread: if that is blocked or has ended, the informers are not alive either.
    health = loop_method(InformerFactory.health)

    def shutdown(self) -> None:
        """Stop all informers, and return when all their tasks and threads have ended.

        Idempotent; concurrent calls all wait. Does nothing in a forked process.

        Raises:
            StateError: This thread runs an event loop, so it cannot wait. Nothing is stopped.
        """
        self._owner.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"


class DynamicSharedInformerFactory(BlockingFactory[Unstructured]):
    """Informers for any resource, with ``Unstructured`` objects.

        with blocking.Client.from_env() as client:
            factory = blocking.DynamicSharedInformerFactory(client)
            pods = factory.for_resource("v1/pods")
            with factory:
                factory.wait_for_cache_sync(timeout=30)
                print(pods.lister.list())

    The options are those of ``kinform.DynamicSharedInformerFactory``.
    """

    def __init__(
        self,
        client: Client,
        default_resync: float = 0.0,
        **options: Unpack[FactoryOptions[Unstructured]],
    ) -> None:
        inner = inner_client(client, receiver=type(self).__name__)
        super().__init__(client, AsyncDynamicFactory(inner, default_resync, **options))


class MetadataSharedInformerFactory(BlockingFactory[PartialObjectMetadata]):
    """Informers for any resource that request metadata only."""

    def __init__(
        self,
        client: Client,
        default_resync: float = 0.0,
        **options: Unpack[FactoryOptions[PartialObjectMetadata]],
    ) -> None:
        inner = inner_client(client, receiver=type(self).__name__)
        super().__init__(client, AsyncMetadataFactory(inner, default_resync, **options))
