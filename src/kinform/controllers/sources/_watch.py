"""The source of most controllers: the events of a kind, mapped to keys."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from kinform._checks import check_callable, check_plain, expect, is_async_callable
from kinform._runtime import Backoff
from kinform.cache import Cache
from kinform.client import ResourceOrModel, place_of
from kinform.controllers._cluster import Cluster
from kinform.controllers._request import Request
from kinform.controllers.predicates import EventPredicate
from kinform.controllers.sources._mapping import keys_in, owner_map, resource_of
from kinform.controllers.sources._source import LOW_PRIORITY, OpenSource, Source
from kinform.errors import CacheSyncError, ConfigError, InvalidNameError, KinformError
from kinform.informers import ChangeSource, ChangeType, InformerEvent, SharedIndexInformer
from kinform.objects import Handle
from kinform.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)

MapFunction = Callable[[Any], Iterable[K]] | Callable[[Any], Awaitable[Iterable[K]]]
"""Returns the keys to reconcile for an object."""

KeyFunction = Callable[[InformerEvent[Any]], Any]
"""Returns the keys to reconcile for an event, or an awaitable of them."""

_UPDATED = ChangeType.UPDATED
_RESYNC = ChangeSource.RESYNC


class Watch(Source[K], Generic[K]):
    """Reconciles after events of a kind.

        Watch(Secret, map=lambda secret: [Request(secret.namespace, secret.labels["web"])])

    Without ``map`` and ``owner`` the object itself is reconciled. An update is mapped by its old
    and its new object.

    Args:
        resource: The kind.
        map: Returns the keys to reconcile for an object; def or async def.
        owner: Reconcile the owner of this kind, if it is the controller of the object.
        every_owner: Reconcile all owners of the kind.
        when: A predicate, or several, which all must pass. An event whose predicate raises passes,
            so that no change is missed.
        form: The class of the objects; ``PartialObjectMetadata`` watches metadata only.
        optional: Do not wait for it: the kind may be missing on the server, or come later.
        cluster: The cluster to watch; by default that of the controller.
        initial_priority: The priority of the objects that exist at the start.
        resync_priority: The priority of resyncs.
        name: The name used in logs and debug pages; by default the kind.

    Raises:
        ConfigError: ``map`` and ``owner`` are both given, or an option is invalid.
    """

    def __init__(
        self,
        resource: ResourceOrModel,
        *,
        map: MapFunction[K] | None = None,
        owner: ResourceOrModel | None = None,
        every_owner: bool = False,
        when: EventPredicate | Sequence[EventPredicate] = (),
        form: type[Handle] | None = None,
        optional: bool = False,
        cluster: Cluster | None = None,
        initial_priority: int = LOW_PRIORITY,
        resync_priority: int = LOW_PRIORITY,
        name: str = "",
    ) -> None:
        if map is not None:
            check_callable("map", map)
            if owner is not None:
                raise ConfigError("Watch takes map= or owner=, not both")
        if every_owner and owner is None:
            raise ConfigError("every_owner= needs owner=, the kind of the owners")
        _check_kinds(resource, *(() if owner is None else (owner,)))
        _check_form(form)
        for option, priority in (
            ("initial_priority", initial_priority),
            ("resync_priority", resync_priority),
        ):
            expect(priority, int, receiver=f"{option}=", expected="an integer")
        if cluster is not None:
            expect(cluster, Cluster, receiver="cluster=", expected="a kinform.controllers.Cluster")
        self._predicates = _predicates_of(when)
        self.resource = resource
        self.name = name or _name_of(resource)
        self._map = map
        self._owner = owner
        self._every_owner = every_owner
        self._form = form
        self._optional = optional
        self.cluster = cluster
        self._initial_priority = initial_priority
        self._resync_priority = resync_priority

    def with_predicates(self, predicates: Sequence[EventPredicate]) -> Watch[K]:
        """Return a copy of this source with predicates before its own."""
        copy: Watch[K] = Watch.__new__(Watch)
        copy.__dict__.update(self.__dict__)
        copy._predicates = (*predicates, *self._predicates)
        return copy

    def declare(self, cache: Cache) -> None:
        """Let the cache list the kind when it starts, unless it is optional or elsewhere."""
        if self._optional or self.cluster is not None:
            return
        with contextlib.suppress(InvalidNameError):  # a kind whose resource only the server knows
            cache.declare(self.resource, form=self._form)

    def open(self, queue: WorkQueue[K], cluster: Cluster) -> OpenSource:
        source = _OpenWatch(self.name, is_required=not self._optional)
        source.run(self._feed(source, queue, self.cluster or cluster))
        return source

    async def _feed(self, source: _OpenWatch, queue: WorkQueue[K], cluster: Cluster) -> None:
        patience = Backoff(0.05, cap=2.5)
        while True:
            # Short waits, so that the reason is known soon; the cache goes on trying meanwhile.
            timeout = patience.next()
            try:
                informer = await self._informer(cluster, timeout)
                keys_of = await self._key_function(cluster)
                break
            except CacheSyncError as error:
                source.problem = str(error)
            except KinformError as error:
                source.problem = str(error)
                await asyncio.sleep(timeout)
        feed = _Feed(
            source,
            queue,
            keys_of,
            self._predicates,
            initial_priority=self._initial_priority,
            resync_priority=self._resync_priority,
        )
        is_async = is_async_callable(keys_of)
        registration = informer.add_event_handler(
            on_event=feed.receive_async if is_async else feed.receive,
            run_on=None if is_async else "loop",
            name=f"controller {queue.name}",
        )
        source.attach(registration)
        explaining = asyncio.create_task(_explain(source, informer))
        try:
            await registration.has_synced
        finally:
            explaining.cancel()
        source.problem = ""
        source.has_synced.set()

    async def _informer(self, cluster: Cluster, timeout: float) -> SharedIndexInformer[Any]:
        cache = cluster.cache
        if self._form is None:
            return await cache.get_informer(self.resource, wait=False, timeout=timeout)
        return await cache.get_informer(self.resource, form=self._form, wait=False, timeout=timeout)

    async def _key_function(self, cluster: Cluster) -> KeyFunction:
        if self._map is not None:
            return (
                _by_object_async(self._map)
                if is_async_callable(self._map)
                else _by_object(self._map)
            )
        if self._owner is None:
            name = cluster.name
            # By key, because the object of a deletion may be unknown.
            return lambda event: (Request.of(event.key, name),)
        owner = await resource_of(cluster.live, self._owner)
        return _by_object(owner_map(owner, every_owner=self._every_owner, cluster=cluster.name))


class _OpenWatch(OpenSource):
    """An open source whose map function may be awaited; closing does not wait for it.

    Attributes:
        mapping: The call of the map function that is awaited now.
    """

    mapping: asyncio.Future[Any] | None = None

    async def close(self) -> None:
        self._is_closed = True  # no further call begins
        if self.mapping is not None:
            self.mapping.cancel()
        await super().close()


class _Feed(Generic[K]):
    """Receives the events of one source and puts the keys into the queue."""

    def __init__(
        self,
        source: _OpenWatch,
        queue: WorkQueue[K],
        keys_of: KeyFunction,
        predicates: tuple[EventPredicate, ...],
        *,
        initial_priority: int,
        resync_priority: int,
    ) -> None:
        self._source = source
        self._queue = queue
        self._keys_of = keys_of
        self._predicates = predicates
        self._initial_priority = initial_priority
        self._resync_priority = resync_priority

    def receive(self, event: InformerEvent[Any]) -> None:
        """Receive an event whose keys are known at once."""
        if self._predicates and not self._passes(event):
            return
        try:
            self._add(self._keys_of(event), event)
        except Exception as error:
            self._source.fail("its map function", error)

    async def receive_async(self, event: InformerEvent[Any]) -> None:
        """Receive an event whose keys have to be awaited."""
        source = self._source
        if source.is_closed or (self._predicates and not self._passes(event)):
            return
        source.mapping = mapping = asyncio.ensure_future(self._keys_of(event))
        try:
            self._add(await mapping, event)
        except asyncio.CancelledError as error:
            if not mapping.cancelled():
                raise
            if not source.is_closed:  # the map function awaited something cancelled
                source.fail("its map function", error)
        except Exception as error:
            source.fail("its map function", error)
        finally:
            source.mapping = None

    def _add(self, keys: Iterable[Any], event: InformerEvent[Any]) -> None:
        priority = self._priority(event)
        for key in keys:
            self._queue.add(key, priority=priority)

    def _passes(self, event: InformerEvent[Any]) -> bool:
        try:
            return all(test(event) for test in self._predicates)
        except Exception as error:
            self._source.fail("a predicate", error)
            return True

    def _priority(self, event: InformerEvent[Any]) -> int:
        if event.is_in_initial_list:
            return self._initial_priority
        if event.source is _RESYNC:
            return self._resync_priority
        return 0


def _by_object(map: Callable[[Any], Any]) -> KeyFunction:
    def keys_of(event: InformerEvent[Any]) -> Iterable[Any]:
        return dict.fromkeys(key for obj in _objects(event) for key in keys_in(map(obj)))

    return keys_of


def _by_object_async(map: Callable[[Any], Any]) -> KeyFunction:
    async def keys_of(event: InformerEvent[Any]) -> Iterable[Any]:
        return dict.fromkeys([key for obj in _objects(event) for key in keys_in(await map(obj))])

    return keys_of


def _objects(event: InformerEvent[Any]) -> tuple[Any, ...]:
    """Return the objects to map: of an update the old one, too, whose keys may differ."""
    if event.type is _UPDATED and event.source is not _RESYNC:
        return (event.old, event.object)
    # A deletion that was noticed late may have no object; then there is nothing to map.
    return () if event.object is None else (event.object,)


async def _explain(source: OpenSource, informer: SharedIndexInformer[Any]) -> None:
    """Keep the reason up to date for which an informer has not synced."""
    while True:
        source.problem = str(informer.sync_status())
        await asyncio.sleep(1.0)


def _predicates_of(when: EventPredicate | Sequence[EventPredicate]) -> tuple[EventPredicate, ...]:
    """Return the predicates that ``when=`` stands for.

    Raises:
        ConfigError: It is neither a predicate nor a list of them.
    """
    if callable(when):
        found: tuple[EventPredicate, ...] = (when,)
    else:
        expect(when, Sequence, receiver="when=", expected="a predicate, or a list of them")
        found = tuple(when)
    for each in found:
        check_callable("when", each)
        check_plain("when", each)
    return found


def _check_kinds(*kinds: ResourceOrModel) -> None:
    for kind in kinds:
        try:
            place_of(kind)
        except InvalidNameError as error:
            raise ConfigError(f"this cannot be watched: {error}") from error


def _check_form(form: object) -> None:
    if form is not None and not (isinstance(form, type) and issubclass(form, Handle)):
        raise ConfigError(f"form= takes a class of objects, not {form!r}")


def _name_of(resource: ResourceOrModel) -> str:
    return resource.__name__ if isinstance(resource, type) else str(resource)
