"""A client in; informers and listers out, one for each question, shared by all who ask it."""

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
from kinform.informers.sources._listwatch import ListWatch, TweakListOptions
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Handle, PartialObjectMetadata, TypedObject, Unstructured

T = TypeVar("T", bound=Handle)
V = TypeVar("V", bound=Handle)
H = TypeVar("H", bound=Handle)


class FactoryOptions(TypedDict, Generic[T], total=False):
    """What all factories can be told. ``InformerFactory`` explains it."""

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
    """What all factories have in common. ``async with factory:`` is its life.

    Args:
        client: Whose cluster it is.
        default_resync: Seconds between resyncs, for handlers that do not say; 0 for never.
        namespace: What informers are limited to if ``for_resource`` does not say.
        tweak_list_options: Sees the options of every list and every watch, and returns them.
        transform: Changes each version of an object once, before anybody sees it.
        custom_resync: Other resync periods, by resource.
        on_watch_error: Hears every lost connection and refusal, on the loop.
        on_handler_error: Hears every failure of a handler, where the handler runs.
        options: How reflectors go about it: page size, backoff and the like.
        metrics: Is told what happens.
        name: What it is called in errors.

    Raises:
        ConfigError: That is no client, or an option cannot be meant.
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
        # Who builds an informer for us may ask us for others meanwhile.
        self._lock = threading.RLock()
        self._entries: dict[InformerKey, Entry] = {}
        self._leaving: list[SharedIndexInformer[Any]] = []
        self._is_shut_down = False

    @abstractmethod
    def _form_of(self, resource: GVR) -> type[T]:
        """What the objects of a resource come out as, if nobody says.

        Raises:
            NoMatchError: This factory has no form for it.
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
        """The informer and the lister for a resource; the same informer for the same question.

        It begins with the next ``start``. Whoever asks counts as a user until ``release``.

        Args:
            resource: A GVR, or as text: ``v1/pods``, ``apps/v1/deployments``.
            form: What its objects come out as, if not in the factory's own form. All forms of
                whole objects share one list and watch, and one store.
            namespace: One or several; left out, the factory's.
            labels: Only objects whose labels match.
            fields: Only objects whose fields match.

        Raises:
            InvalidNameError: That is no resource.
            NoMatchError: It has no model, and no form was given; or it is known to have no
                namespaces, and one was given.
            ConfigError: Its objects cannot be had in that form.
            SelectorError: A selector is not legal.
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
            namespaces = ()  # the factory's is for those that have some
        return InformerKey(
            asked, namespaces, str(as_label_selector(labels)), str(as_field_selector(fields))
        )

    def _has_namespaces(self, resource: Asked) -> bool:
        """Whether it may; only where it is known to have none, this is false."""
        known = resource.resource if isinstance(resource, type) else None
        return known is None or known.namespaced

    def _hold(
        self, key: InformerKey, form: type[V], make: Callable[[], SharedIndexInformer[Any]]
    ) -> ResourceInformer[V]:
        """One more user of what the key says, made now if there is none."""
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
        """All that are in use now."""
        with self._lock:
            return {key: entry.informer for key, entry in self._entries.items()}

    def _rests_as(self, resource: GVR) -> type[Handle]:
        """The form that the transform gets, whoever asks first and in whatever form."""
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
            # Shutting down waits for it, too, if it has not ended by then.
            self._leaving = [each for each in self._leaving if not each.is_stopped]
            if informer.is_running:
                self._leaving.append(entry.informer)
        informer.stop()

    # -- life --------------------------------------------------------------------------------

    def start(self) -> None:
        """Start what was asked for and does not run. Call it again after asking for more.

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
        """Stop all informers, and return when no task and no thread is left.

        Idempotent, and may be called by several at once: all wait. Nothing starts after it.
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
        """Wait until every started informer has synced; which have, and why others have not.

        One that cannot sync keeps none of the others from it: after ``timeout`` the result tells.

        Args:
            timeout: Seconds; ``None`` waits as long as it takes.
            strict: Raise if one has not synced.

        Raises:
            CacheSyncError: With ``strict``: which have not, and why.
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
    """Informers for any resource, whole objects without a model.

    factory = DynamicSharedInformerFactory(client, default_resync=30.0)
    blocks = factory.for_resource("crd.projectcalico.org/v1/ipamblocks")
    blocks.informer.add_event_handler(on_add=lambda block: print(block.key))
    async with factory:
        await factory.wait_for_cache_sync(timeout=30)
        print(blocks.lister.list())
    """

    def _form_of(self, resource: GVR) -> type[Unstructured]:
        return Unstructured


class MetadataSharedInformerFactory(InformerFactory[PartialObjectMetadata]):
    """Informers for any resource that ask for metadata only: less to send, to hold, to watch."""

    def _form_of(self, resource: GVR) -> type[PartialObjectMetadata]:
        return PartialObjectMetadata
