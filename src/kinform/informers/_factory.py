"""A client in; informers and listers out, one for each question, shared by all who ask it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, Self, TypeVar

from kinform.api import GVR, ListOptions
from kinform.client import Client, Fields, Labels, Verbs, as_field_selector, as_label_selector
from kinform.errors import AlreadyStoppedError, CacheSyncError, ConfigError
from kinform.informers._lister import Lister
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers._sync_result import SyncResult, wait_for_sync
from kinform.informers.dispatch._telling import HandlerFailure
from kinform.informers.reflector._admission import Transform
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._vitals import WatchFailure
from kinform.informers.sources._listwatch import ListWatch
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Handle, PartialObjectMetadata, Unstructured

T = TypeVar("T", bound=Handle)

Namespaces = str | Sequence[str] | None
"""One namespace, several, or ``None`` for all."""


@dataclass(frozen=True, slots=True)
class InformerKey:
    """What makes two informers the same one.

    Attributes:
        resource: What it is of.
        namespaces: What it is limited to, sorted; empty for all.
        labels, fields: The selectors, as text.
    """

    resource: GVR
    namespaces: tuple[str, ...] = ()
    labels: str = ""
    fields: str = ""

    def __str__(self) -> str:
        where = f" in {', '.join(self.namespaces)}" if self.namespaces else ""
        which = " and ".join(filter(None, (self.labels, self.fields)))
        return f"{self.resource}{where}{f' where {which}' if which else ''}"


@dataclass(slots=True)
class _Entry(Generic[T]):
    informer: SharedIndexInformer[T]
    users: int = 0


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

    def __repr__(self) -> str:
        return f"<ResourceInformer {self.informer!r}>"


class InformerFactory(Generic[T]):
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
    """

    def __init__(
        self,
        client: Client,
        default_resync: float = 0.0,
        *,
        namespace: Namespaces = None,
        tweak_list_options: Callable[[ListOptions], ListOptions] | None = None,
        transform: Transform[T] | None = None,
        custom_resync: Mapping[GVR | str, float] | None = None,
        on_watch_error: Callable[[WatchFailure], object] | None = None,
        on_handler_error: Callable[[HandlerFailure], None] | None = None,
        options: ReflectorOptions | None = None,
        metrics: Metrics = NO_METRICS,
        name: str = "",
    ) -> None:
        self.client = client
        self.name = name or type(self).__name__
        self._default_resync = default_resync
        self._namespaces = _as_namespaces(namespace)
        self._tweak_list_options = tweak_list_options
        self._transform = transform
        self._custom_resync = {_as_gvr(key): each for key, each in (custom_resync or {}).items()}
        self._on_watch_error = on_watch_error
        self._on_handler_error = on_handler_error
        self._options = options or ReflectorOptions()
        self._metrics = metrics
        self._lock = threading.Lock()
        self._entries: dict[InformerKey, _Entry[T]] = {}
        self._leaving: list[SharedIndexInformer[T]] = []
        self._is_shut_down = False

    def _verbs(self) -> Verbs[T]:
        """The client, in the form that the objects are to have."""
        raise NotImplementedError

    # -- informers ---------------------------------------------------------------------------

    def for_resource(
        self,
        resource: GVR | str,
        *,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
    ) -> ResourceInformer[T]:
        """The informer and the lister for a resource; the same informer for the same question.

        It begins with the next ``start``. Whoever asks counts as a user until ``release``.

        Args:
            resource: A GVR, or as text: ``v1/pods``, ``apps/v1/deployments``.
            namespace: One or several; left out, the factory's.
            labels: Only objects whose labels match.
            fields: Only objects whose fields match.

        Raises:
            InvalidNameError: That is no resource.
            SelectorError: A selector is not legal.
            AlreadyStoppedError: The factory was shut down.
        """
        key = InformerKey(
            _as_gvr(resource),
            self._namespaces if namespace is None else _as_namespaces(namespace),
            str(as_label_selector(labels)),
            str(as_field_selector(fields)),
        )
        with self._lock:
            self._require_open()
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry(self._make_informer(key))
            entry.users += 1
        return ResourceInformer(key, entry.informer, self._release)

    @property
    def informers(self) -> Mapping[InformerKey, SharedIndexInformer[T]]:
        """All that are in use now."""
        with self._lock:
            return {key: entry.informer for key, entry in self._entries.items()}

    def _make_informer(self, key: InformerKey) -> SharedIndexInformer[T]:
        verbs = self._verbs()
        sources = [
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
            resync_period=self._custom_resync.get(key.resource, self._default_resync),
            transform=self._transform,
            on_watch_error=self._on_watch_error,
            on_handler_error=self._on_handler_error,
            options=self._options,
            metrics=self._metrics,
        )

    def _release(self, key: InformerKey, informer: SharedIndexInformer[T]) -> None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.informer is not informer:
                return
            entry.users -= 1
            if entry.users:
                return
            del self._entries[key]
            # Shutting down waits for it, too, if it has not ended by then.
            self._leaving = [each for each in self._leaving if not each.is_stopped]
            if informer.is_running:
                self._leaving.append(informer)
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

    def _verbs(self) -> Verbs[Unstructured]:
        return self.client


class MetadataSharedInformerFactory(InformerFactory[PartialObjectMetadata]):
    """Informers for any resource that ask for metadata only: less to send, to hold, to watch."""

    def _verbs(self) -> Verbs[PartialObjectMetadata]:
        return self.client.metadata


def _as_gvr(resource: GVR | str) -> GVR:
    return GVR.parse(resource) if isinstance(resource, str) else resource


def _as_namespaces(namespace: Namespaces) -> tuple[str, ...]:
    if namespace is None:
        return ()
    if isinstance(namespace, str):
        return (namespace,) if namespace else ()
    named = sorted(set(namespace))
    if not named or not all(named):
        raise ConfigError(
            f"namespaces {list(namespace)!r}: name each of them, or leave them out for all"
        )
    return tuple(named)
