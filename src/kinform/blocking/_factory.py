"""Informers and listers for plain code: the factories' lives, without ``await``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Generic, Self, TypedDict, TypeVar, Unpack

from kinform.api import GVR
from kinform.blocking._client import Client
from kinform.blocking._doors import Doors, door
from kinform.blocking._owned import Owned
from kinform.client import Fields, Labels
from kinform.informers import DynamicSharedInformerFactory as AsyncDynamicFactory
from kinform.informers import (
    HandlerFailure,
    InformerFactory,
    InformerKey,
    Namespaces,
    ReflectorOptions,
    ResourceInformer,
    SharedIndexInformer,
    Transform,
    TweakListOptions,
    WatchFailure,
)
from kinform.informers import MetadataSharedInformerFactory as AsyncMetadataFactory
from kinform.metrics import Metrics
from kinform.objects import Handle, PartialObjectMetadata, Unstructured

T = TypeVar("T", bound=Handle)


class FactoryOptions(TypedDict, Generic[T], total=False):
    """The options of the factories in ``kinform``, where they are explained."""

    namespace: Namespaces
    tweak_list_options: TweakListOptions | None
    transform: Transform[T] | None
    custom_resync: Mapping[GVR | str, float] | None
    on_watch_error: Callable[[WatchFailure], object] | None
    on_handler_error: Callable[[HandlerFailure], None] | None
    options: ReflectorOptions | None
    metrics: Metrics
    name: str


class BlockingFactory(Doors, Generic[T]):
    """What both factories have in common. ``with factory:`` is its life.

    The informers and listers that it hands out are those of ``kinform`` itself: registering,
    reading and stopping need no door, and what is to be waited for is a ``Latch``. It runs on its
    client's loop thread; ``def`` handlers have threads of their own, ``async def`` ones run there.
    Hold on to it: when nobody does, its informers stop, though somebody may still read them.
    """

    _inner: InformerFactory[T]

    def __init__(self, client: Client, inner: InformerFactory[T]) -> None:
        owned = Owned(
            inner.shutdown,
            name=f"the blocking {inner.name} of {client.config.server}",
            instead=f"kinform.{type(inner).__name__}",
            loop=client._owned.loop,
        )
        super().__init__(inner, owned)
        # Whoever holds the factory holds its client, whose loop thread it runs on.
        self.client = client

    def for_resource(
        self,
        resource: GVR | str,
        *,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
    ) -> ResourceInformer[T]:
        """The informer and the lister for a resource; the same informer for the same question."""
        return self._inner.for_resource(resource, namespace=namespace, labels=labels, fields=fields)

    @property
    def informers(self) -> Mapping[InformerKey, SharedIndexInformer[T]]:
        """All that are in use now."""
        return self._inner.informers

    def start(self) -> None:
        """Start what was asked for and does not run. Call it again after asking for more."""

        async def start() -> None:
            self._inner.start()

        self._owned.run(start())

    wait_for_cache_sync = door(InformerFactory.wait_for_cache_sync)

    def shutdown(self) -> None:
        """Stop all informers, and return when no task and no thread is left.

        Idempotent, and several threads may do it at once: all wait. Does nothing in a fork.

        Raises:
            StateError: One cannot wait on this thread: it runs an event loop. Nothing is done.
        """
        loop = self._owned.loop
        if loop.is_running:
            loop.run(self._inner.shutdown())
        self._owned.close()

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
    """Informers for any resource, whole objects without a model.

    with blocking.Client.from_env() as client:
        factory = blocking.DynamicSharedInformerFactory(client)
        pods = factory.for_resource("v1/pods")
        with factory:
            factory.wait_for_cache_sync(timeout=30)
            print(pods.lister.list())
    """

    def __init__(
        self,
        client: Client,
        default_resync: float = 0.0,
        **options: Unpack[FactoryOptions[Unstructured]],
    ) -> None:
        super().__init__(client, AsyncDynamicFactory(client._inner, default_resync, **options))


class MetadataSharedInformerFactory(BlockingFactory[PartialObjectMetadata]):
    """Informers for any resource that ask for metadata only."""

    def __init__(
        self,
        client: Client,
        default_resync: float = 0.0,
        **options: Unpack[FactoryOptions[PartialObjectMetadata]],
    ) -> None:
        super().__init__(client, AsyncMetadataFactory(client._inner, default_resync, **options))
