"""Informer factories: build informers and listers, and share one per resource and selector."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypedDict, TypeVar, cast, overload

from kinform._checks import expect, expect_client
from kinform.api import GVR
from kinform.client import Client, Fields, Labels, Verbs, as_field_selector, as_label_selector
from kinform.errors import (
    AlreadyStoppedError,
    CacheSyncError,
    NoMatchError,
    StateError,
)
from kinform.informers._informer_key import (
    Asked,
    InformerKey,
    Namespaces,
    as_gvr,
    as_namespaces,
)
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers._sharing import Entry, ResourceInformer, check_form
from kinform.informers._sync_result import SyncResult, wait_for_sync
from kinform.informers.dispatch._invoker import HandlerFailure
from kinform.informers.reflector._admission import Transform
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._state import WatchFailure
from kinform.informers.sources import ListWatch, TweakListOptions
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Handle, PartialObjectMetadata, TypedObject, Unstructured

T = TypeVar("T", bound=Handle)
V = TypeVar("V", bound=Handle)
H = TypeVar("H", bound=Handle)


class FactoryOptions(TypedDict, Generic[T], total=False):
    """The options that all factories accept. See ``InformerFactory``."""

    namespace: Namespaces
    tweak_list_options: TweakListOptions | None
    transform: Transform[T] | None
    custom_resync: Mapping[Asked, float] | None
    on_watch_error: Callable[[WatchFailure], object] | None
    on_handler_error: Callable[[HandlerFailure], None] | None
    options: ReflectorOptions | None
    metrics: Metrics
    name: str


class InformerFactory(ABC, Generic[T]):
    """Base class of the factories. ``async with factory:`` starts and shuts down its informers.

    Args:
        client: The client of the cluster to read from.
        default_resync: Default number of seconds between resyncs of a handler; 0 disables
            them.
        namespace: The namespaces of informers for which ``for_resource`` names none.
        tweak_list_options: Called with the options of every list and watch; returns the
            options to use.
        transform: Called once for each version of an object, before it is stored.
        custom_resync: Resync periods by resource, overriding ``default_resync``.
        on_watch_error: Called on the event loop for every lost connection and every refusal.
        on_handler_error: Called for every exception a handler raises, on the thread or loop
            of that handler.
        options: Reflector settings such as page size and backoff.
        metrics: Receives the metrics of all informers.
        name: The name used in errors.

    Raises:
        ConfigError: ``client`` is not a client, or an option is invalid.
    """

    def __init__(
        self,
        client: Client,
        default_resync: float = 0.0,
        *,
        namespace: Namespaces = None,
        tweak_list_options: TweakListOptions | None = None,
        transform: Transform[T] | None = None,
        custom_resync: Mapping[Asked, float] | None = None,
        on_watch_error: Callable[[WatchFailure], object] | None = None,
        on_handler_error: Callable[[HandlerFailure], None] | None = None,
        options: ReflectorOptions | None = None,
        metrics: Metrics = NO_METRICS,
        name: str = "",
    ) -> None:
        expect_client(client, Client, taker=type(self).__name__)
        expect(custom_resync or {}, Mapping, taker="custom_resync=", meant="a dict by resource")
        self.client = client
        self.name = name or type(self).__name__
        self._default_resync = default_resync
        self._namespaces = as_namespaces(namespace)
        self._tweak_list_options = tweak_list_options
        self._transform = transform
        self._custom_resync = {as_gvr(key): each for key, each in (custom_resync or {}).items()}
        self._on_watch_error = on_watch_error
        self._on_handler_error = on_handler_error
        self._options = options or ReflectorOptions()
        self._metrics = metrics
        # Reentrant: a builder of an informer may request other informers from this factory.
        self._lock = threading.RLock()
        self._entries: dict[InformerKey, Entry] = {}
        self._leaving: list[SharedIndexInformer[Any]] = []
        self._is_shut_down = False

    @abstractmethod
    def _form_of(self, resource: GVR) -> type[T]:
        """Return the default class of the objects of a resource.

        Raises:
            NoMatchError: This factory has no class for the resource.
        """

    # -- informers ---------------------------------------------------------------------------

    @overload
    def for_resource(
        self,
        resource: Asked,
        *,
        form: None = None,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
    ) -> ResourceInformer[T]: ...
    @overload
    def for_resource(
        self,
        resource: Asked,
        *,
        form: type[V],
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
    ) -> ResourceInformer[V]: ...
    def for_resource(
        self,
        resource: Asked,
        *,
        form: type[Handle] | None = None,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
    ) -> ResourceInformer[Any]:
        """Return the informer and the lister for a resource.

        Calls with the same resource, namespaces and selectors share one informer. It starts with
        the next ``start``. Each call counts as one user until its ``release``.

        Args:
            resource: A GVR, or a string such as ``v1/pods`` or ``apps/v1/deployments``.
            form: The class of the returned objects, instead of the factory's default. All classes
                of whole objects share one list and watch and one store.
            namespace: One or several namespaces; defaults to those of the factory.
            labels: Only objects that match this label selector.
            fields: Only objects that match this field selector.

        Raises:
            InvalidNameError: ``resource`` is not a valid resource name.
            NoMatchError: The resource has no model and no form was given, or a namespace was
                given for a cluster-scoped resource.
            ConfigError: The resource is not available in that form.
            SelectorError: A selector is invalid.
            AlreadyStoppedError: The factory was shut down.
        """
        key = self._key(resource, namespace, labels, fields)
        seen_as = form or self._form_of(key.resource)
        return self._hold(
            key, seen_as, lambda: self._make_informer(key, self._rests_as(key.resource))
        )

    def _key(
        self, resource: Asked, namespace: Namespaces, labels: Labels, fields: Fields
    ) -> InformerKey:
        asked = as_gvr(resource)
        namespaces = self._namespaces if namespace is None else as_namespaces(namespace)
        if namespaces and not self._has_namespaces(resource):
            if namespace is not None:
                raise NoMatchError(f"{asked} is not in namespaces; leave the namespace out")
            namespaces = ()  # the factory's default applies to namespaced resources only
        return InformerKey(
            asked, namespaces, str(as_label_selector(labels)), str(as_field_selector(fields))
        )

    def _has_namespaces(self, resource: Asked) -> bool:
        """Return false only for resources that are known to be cluster-scoped."""
        known = resource.resource if isinstance(resource, type) else None
        return known is None or known.namespaced

    def _hold(
        self, key: InformerKey, form: type[V], make: Callable[[], SharedIndexInformer[Any]]
    ) -> ResourceInformer[V]:
        """Add a user to the informer for the key, building the informer if necessary."""
        check_form(form, key.resource)
        with self._lock:
            self._require_open()
            entry = self._entries.get(key)
            if entry is None:
                entry = Entry.of(make())
                if key in self._entries:
                    raise StateError(
                        f"{key}: while it was being built, the factory was asked for it; build it "
                        "without the factory"
                    )
            informer = entry.seen_as(form)
            entry.users += 1
            self._entries[key] = entry
        return ResourceInformer(key, informer, self._release)

    @property
    def informers(self) -> Mapping[InformerKey, SharedIndexInformer[Any]]:
        """All informers in use."""
        with self._lock:
            return {key: entry.informer for key, entry in self._entries.items()}

    def _rests_as(self, resource: GVR) -> type[Handle]:
        """Return the class the transform receives, independent of the first request's form."""
        return self._form_of(resource)

    def _make_informer(self, key: InformerKey, form: type[H]) -> SharedIndexInformer[H]:
        verbs: Verbs[Any] = self.client
        if issubclass(form, PartialObjectMetadata):
            verbs = self.client.metadata
        elif issubclass(form, TypedObject):
            verbs = self.client.view(form)
        sources: list[ListWatch[H]] = [
            ListWatch.for_resource(
                verbs,
                key.resource,
                namespace=namespace,
                labels=key.labels,
                fields=key.fields,
                tweak_list_options=self._tweak_list_options,
            )
            for namespace in key.namespaces or (None,)
        ]
        return SharedIndexInformer(
            sources,
            name=str(key),
            resync_period=self._resync_period(key.resource),
            transform=cast("Transform[H] | None", self._transform),
            on_watch_error=self._on_watch_error,
            on_handler_error=self._on_handler_error,
            options=self._options,
            metrics=self._metrics,
        )

    def _resync_period(self, resource: GVR) -> float:
        return self._custom_resync.get(resource, self._default_resync)

    def _release(self, key: InformerKey, informer: SharedIndexInformer[Any]) -> None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or informer not in entry.views.values():
                return
            entry.users -= 1
            if entry.users:
                return
            del self._entries[key]
            # shutdown() waits for this informer too if it is still running by then.
            self._leaving = [each for each in self._leaving if not each.is_stopped]
            if informer.is_running:
                self._leaving.append(entry.informer)
        informer.stop()

    # -- lifecycle ---------------------------------------------------------------------------

    def start(self) -> None:
        """Start all requested informers that are not running. Call again after further requests.

        Raises:
            AlreadyStoppedError: The factory was shut down.
        """
        with self._lock:
            self._require_open()
            informers = [entry.informer for entry in self._entries.values()]
            for informer in informers:
                if not informer.is_running:
                    informer.start()

    async def shutdown(self) -> None:
        """Stop all informers and return when their tasks and threads have ended.

        Idempotent; concurrent calls all wait. The factory cannot be started again.
        """
        with self._lock:
            self._is_shut_down = True
            informers = [entry.informer for entry in self._entries.values()] + self._leaving
        running = [informer for informer in informers if informer.is_running]
        for informer in running:
            informer.stop()
        for informer in running:
            await informer.stopped

    async def wait_for_cache_sync(
        self, timeout: float | None = None, *, strict: bool = False
    ) -> SyncResult:
        """Wait until every started informer has synced, and return the state of each.

        An informer that cannot sync does not delay the others; after ``timeout`` the result names
        it and the reason.

        Args:
            timeout: Seconds to wait; ``None`` waits without limit.
            strict: Raise if an informer has not synced.

        Raises:
            CacheSyncError: With ``strict``, the informers that have not synced, and the reasons.
        """
        started = {str(key): each for key, each in self.informers.items() if each.was_started}
        result = await wait_for_sync(started, timeout)
        if strict:
            if not started and self.informers:
                raise CacheSyncError(f"{self.name}: nothing was started; call start() first")
            result.raise_for_unsynced()
        return result

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.shutdown()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._entries)} informers at {self.client!r}>"

    def _require_open(self) -> None:
        if self._is_shut_down:
            raise AlreadyStoppedError(f"{self.name} was shut down; make another factory")


class DynamicSharedInformerFactory(InformerFactory[Unstructured]):
    """Shared informers for any resource, with whole objects that need no model.

        factory = DynamicSharedInformerFactory(client, default_resync=30.0)
        blocks = factory.for_resource("crd.projectcalico.org/v1/ipamblocks")
        blocks.informer.add_event_handler(on_add=lambda block: print(block.key))
        async with factory:
            await factory.wait_for_cache_sync(timeout=30)
            print(blocks.lister.list())

    Objects are ``Unstructured``. Pass ``form=`` to ``for_resource`` for another class.
    """

    def _form_of(self, resource: GVR) -> type[Unstructured]:
        return Unstructured


class MetadataSharedInformerFactory(InformerFactory[PartialObjectMetadata]):
    """Shared informers that request only object metadata, which saves bandwidth and memory."""

    def _form_of(self, resource: GVR) -> type[PartialObjectMetadata]:
        return PartialObjectMetadata
