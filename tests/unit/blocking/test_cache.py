"""19: a cache without ``await``, read by any number of threads."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import kinform
from kinform import blocking
from kinform.api import GVK
from kinform.blocking import CacheOptions
from kinform.cache import CachedClient as AsyncCachedClient
from kinform.cache import KindReader, OwnWritesMode
from kinform.errors import (
    AlreadyStartedError,
    AlreadyStoppedError,
    CacheNotStartedError,
    CacheSyncError,
    ConfigError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    OutOfScopeError,
    ResourceNotCachedError,
    StaleReadError,
    StateError,
    UnknownIndexError,
)
from kinform.informers import Latch, WatchFailure
from kinform.models.core.v1 import ConfigMap, Namespace, Secret
from kinform.models.meta.v1 import ObjectMeta
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import BlockingApiServer, faults
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK
from tests.support.processes import output_of

MODES: tuple[OwnWritesMode, ...] = ("wait", "overlay")


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    kinform_server.create(config_map("a", app="web"))
    kinform_server.create(config_map("b", app="jobs"))
    with blocking.Client(kinform_server.config) as client:
        yield client


def names(objects: Any) -> list[str]:
    return [each.name for each in objects]


def typed_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data={"n": "0"})


# -- the same names --------------------------------------------------------------------------


def _signatures(kind: type) -> dict[str, list[str]]:
    """The methods of a class with the names of their parameters."""
    return {
        name: list(inspect.signature(method).parameters)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_nothing_of_the_async_cache_is_missing() -> None:
    """19: same names; the loop of ``start`` is the client's."""
    wanted = {each for each in dir(kinform.Cache) if not each.startswith("_")}
    assert wanted <= set(dir(blocking.Cache))
    ours, theirs = _signatures(blocking.Cache), _signatures(kinform.Cache)
    exceptions = {"start", "get_informer"}  # the latter forwards its keywords
    assert {name: ours[name] for name in theirs if name not in exceptions} == {
        name: theirs[name] for name in theirs if name not in exceptions
    }


def test_nothing_of_the_async_cached_client_is_missing() -> None:
    """19: except what exists for this facade."""
    wanted = {each for each in dir(AsyncCachedClient) if not each.startswith("_")}
    assert wanted - {"get_if_ready", "list_if_ready"} <= set(dir(blocking.CachedClient))


def test_the_options_are_those_of_the_async_cache() -> None:
    """19: one table of options."""
    assert set(CacheOptions.__annotations__) == (
        set(inspect.signature(kinform.Cache).parameters) - {"client"}
    )


def test_only_a_blocking_client_is_accepted() -> None:
    """19: the error names the class to use."""
    given: Any = kinform.Client(kinform.ClusterConfig(server="https://cluster.test"))
    with pytest.raises(ConfigError, match=r"kinform\.blocking\.Cache takes a kinform\.blocking"):
        blocking.Cache(given)


# -- reading ---------------------------------------------------------------------------------


def test_all_forms_of_a_kind_are_read(client: blocking.Client) -> None:
    """19: typed, untyped and metadata, by class, GVR and GVK, from one watch."""
    with blocking.Cache(client) as cache:
        assert type(cache.get(ConfigMap, "default/a")) is ConfigMap
        assert type(cache.get(MAPS, "a", namespace="default")) is Unstructured
        assert type(cache.get(GVK("", "v1", "ConfigMap"), "a")) is Unstructured
        assert type(cache.get(ConfigMap, "a", form=PartialObjectMetadata)) is PartialObjectMetadata
        found = cache.list(ConfigMap, labels="app=web", namespace="default")
        assert names(found) == ["a"]
        assert found.resource_version
        assert names(cache.list(MAPS, limit=1)) == ["a"]
        assert list(cache.informers) == ["v1/configmaps"]
        assert cache.status()["v1/configmaps"].objects == 2


def test_indexes_are_added_before_and_after_the_start(client: blocking.Client) -> None:
    """19: a field by path or function, and a label, from any thread."""
    cache = blocking.Cache(client)
    cache.index_field(ConfigMap, "metadata.labels.app")
    with cache:
        assert names(cache.list(ConfigMap, fields={"metadata.labels.app": "web"})) == ["a"]
        cache.index_field(ConfigMap, "first letter", lambda each: [each.metadata.name[0]])
        cache.index_label(ConfigMap, "app")
        assert names(cache.list(ConfigMap, fields={"first letter": "b"})) == ["b"]
        assert names(cache.list(ConfigMap, labels="app=jobs")) == ["b"]
        with pytest.raises(UnknownIndexError, match=r"cache\.index_field"):
            cache.list(ConfigMap, fields={"data.x": "y"})


def test_errors_are_those_of_the_async_cache(client: blocking.Client) -> None:
    """19: with their texts, whether a read has to wait or not."""
    cache = blocking.Cache(client, namespace="default", undeclared_reads="error", kinds=[ConfigMap])
    with pytest.raises(CacheNotStartedError, match="with block"):
        cache.get(ConfigMap, "default/a")
    with cache:
        for _ in range(2):
            with pytest.raises(NotFoundError, match="default/missing"):
                cache.get(ConfigMap, "default/missing")
            with pytest.raises(OutOfScopeError):
                cache.get(ConfigMap, "other/a")
            with pytest.raises(ResourceNotCachedError):
                cache.list(Secret)
        with pytest.raises(ResourceNotCachedError):
            cache.peek(Secret)
        with pytest.raises(AlreadyStartedError):
            cache.start()


def test_read_that_cannot_finish_is_bounded(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    """19: by the timeout of the call, with the reason."""
    kinform_server.faults.inject(faults.forbidden(), resource="secrets", times=None)
    with blocking.Cache(client, options=QUICK) as cache:
        with pytest.raises(CacheSyncError, match=r"(?i)forbidden"):
            cache.list(Secret, timeout=0.5)
        with pytest.raises(CacheSyncError, match="not complete yet"):
            cache.peek(Secret)


def test_many_threads_read_at_once(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    """19: the first readers share one informer, and all see the same objects."""
    together = threading.Barrier(8)

    def read(number: int) -> set[tuple[str, ...]]:
        together.wait()
        seen = set()
        for _ in range(50):
            seen.add(tuple(names(cache.list(ConfigMap))))
            assert cache.get(ConfigMap, f"default/{'ab'[number % 2]}").name == "ab"[number % 2]
        return seen

    with blocking.Cache(client) as cache, ThreadPoolExecutor(8) as pool:
        results = list(pool.map(read, range(8)))

    assert results == [{("a", "b")}] * 8
    assert len(kinform_server.requests.watches(MAPS)) == 1


def test_ready_reads_do_not_wait_for_the_loop_thread(client: blocking.Client) -> None:
    """19: they run on the calling thread, which may even have an event loop."""
    with blocking.Cache(client) as cache:
        mine = cache.client()
        cache.list(ConfigMap)
        reader = cache.peek(ConfigMap)
        busy, done, was_done = threading.Event(), threading.Event(), list[bool]()

        async def occupy() -> None:
            busy.set()
            was_done.append(done.wait(20))

        occupied = threading.Thread(target=lambda: cache._owner.run(occupy()))
        occupied.start()
        try:
            assert busy.wait(30)
            assert isinstance(reader, KindReader)
            assert reader.get("default/a").name == "a"
            assert cache.get(ConfigMap, "default/a").name == "a"
            assert names(cache.list(ConfigMap)) == ["a", "b"]
            assert mine.get(ConfigMap, "default/a").name == "a"
            assert names(mine.list(ConfigMap)) == ["a", "b"]
        finally:
            done.set()
            occupied.join()
        assert was_done == [True]  # the reads were done before the loop was free

        async def in_a_coroutine() -> None:
            assert cache.get(ConfigMap, "default/a").name == "a"
            with pytest.raises(StateError, match=r"use kinform\.Cache in asyncio code"):
                cache.get(Secret, "default/a")

        asyncio.run(in_a_coroutine())


# -- informers and scope ---------------------------------------------------------------------


def test_handlers_run_on_their_own_threads(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    """19: the informer is the blocking one, and the same for the same question."""
    added, threads = Latch("late was added"), set[threading.Thread]()

    def on_add(each: ConfigMap) -> None:
        threads.add(threading.current_thread())
        if each.name == "late":
            added.set()

    cache = blocking.Cache(client)
    informer = cache.get_informer(ConfigMap)
    assert isinstance(informer, blocking.SharedIndexInformer)
    informer.add_event_handler(on_add=on_add)
    with cache:
        assert cache.get_informer(ConfigMap) is informer
        assert cache.wait_for_cache_sync(timeout=30, strict=True)
        kinform_server.create(config_map("late"))
        assert added.wait(30)
        cache.remove_informer(ConfigMap)
        assert informer.is_stopped
        assert "late" in names(cache.list(ConfigMap))
        assert cache.get_informer(ConfigMap, wait=False) is informer
    assert threading.main_thread() not in threads
    assert not any(each.name == client._owner.loop.name for each in threads)


def test_namespaces_and_selectors_change_while_it_runs(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    """19: each call returns when the cache has what it covers."""
    client.create(Namespace(metadata=ObjectMeta(name="other")))
    kinform_server.create(config_map("c", "other", app="web"))
    with blocking.Cache(client, namespace=["default"]) as cache:
        assert names(cache.list(ConfigMap)) == ["a", "b"]
        cache.add_namespace("other")
        assert names(cache.list(ConfigMap)) == ["a", "b", "c"]
        cache.set_selectors(ConfigMap, labels="app=web")
        assert names(cache.list(ConfigMap)) == ["a", "c"]
        cache.remove_namespace("default")
        assert names(cache.list(ConfigMap)) == ["c"]
        with pytest.raises(ConfigError, match="does not cover"):
            cache.remove_namespace("default")


def test_declared_kinds_are_cached_without_a_read(client: blocking.Client) -> None:
    """19: also from another thread, as the first kind of a running cache."""
    with blocking.Cache(client) as cache:
        cache.declare(ConfigMap)
        assert cache.wait_for_cache_sync(timeout=30, strict=True)
        assert len(cache.peek(ConfigMap)) == 2


def test_idle_informers_are_released(client: blocking.Client) -> None:
    """19: and created again by the next read."""
    with blocking.Cache(client, idle_timeout=1e-9) as cache:
        cache.list(ConfigMap)
        cache.release_idle_informers()
        with pytest.raises(ResourceNotCachedError):
            cache.peek(ConfigMap)
        assert names(cache.list(ConfigMap)) == ["a", "b"]


def test_missing_permissions_are_listed(client: blocking.Client) -> None:
    """19: the embedded server allows everything."""
    with blocking.Cache(client, kinds=[ConfigMap]) as cache:
        assert cache.preflight().missing == ()


# -- the client ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_reads_see_own_writes(client: blocking.Client, mode: OwnWritesMode) -> None:
    """19: each thread sees what it wrote at once; errors are those of the server."""

    def write(number: int) -> None:
        name = f"m{number}"
        for _ in range(3):
            created = mine.create(typed_map(name))
            assert mine.get(ConfigMap, created.key).resource_version == created.resource_version
            edited = created.copy()
            edited.data = {"n": "1"}
            mine.update(edited)
            assert mine.get(ConfigMap, created.key).data == {"n": "1"}
            with pytest.raises(ConflictError):
                mine.update(edited)
            mine.patch(ConfigMap, name, {"data": {"n": "2"}})
            (listed,) = (each for each in mine.list(ConfigMap) if each.name == name)
            assert listed.data == {"n": "2"}
            mine.delete(ConfigMap, name)
            with pytest.raises(NotFoundError):
                mine.get(ConfigMap, created.key)
            assert name not in names(mine.list(ConfigMap, namespace="default"))

    with blocking.Cache(client) as cache, ThreadPoolExecutor(4) as pool:
        mine = cache.client(own_writes=mode)
        list(pool.map(write, range(4)))
        mine.create(typed_map("c"))
        mine.delete_collection(ConfigMap, namespace="default")
        assert names(mine.list(ConfigMap)) == []


def test_stale_reads_are_bounded(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    """19: only the reads that the write concerns wait."""
    with blocking.Cache(client, options=QUICK) as cache:
        mine = cache.client(timeout=0.1)
        mine.list(ConfigMap)
        kinform_server.faults.inject(faults.hang(), verb="watch", resource="configmaps", times=None)
        kinform_server.end_watches("configmaps")
        created = mine.create(typed_map("c"))
        with pytest.raises(StaleReadError, match="default/c"):
            mine.get(ConfigMap, "default/c")
        with pytest.raises(StaleReadError):
            mine.list(ConfigMap)
        with pytest.raises(StaleReadError):
            cache.caught_up(created.resource_version, ConfigMap, timeout=0.1)
        assert mine.get(ConfigMap, "default/a").name == "a"
        assert cache.client(own_writes="overlay").get(ConfigMap, "default/c").name == "c"
        assert mine.live.get(ConfigMap, "c").name == "c"


def test_live_kinds_are_read_from_the_server(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    """19: also if the cache has them."""
    with blocking.Cache(client) as cache:
        cache.list(ConfigMap)
        live = cache.client(live=[ConfigMap])
        before = len(kinform_server.requests)
        assert names(live.list(ConfigMap)) == ["a", "b"]
        assert type(live.get(ConfigMap, "default/a")) is ConfigMap
        assert len(kinform_server.requests) == before + 2
        assert live.live is client
        assert live.namespace == client.namespace
        assert live.discovery.for_resource(MAPS).kind == "ConfigMap"
        assert type(live.view(PartialObjectMetadata).get(MAPS, "a")) is PartialObjectMetadata
        assert live.reachability is client._inner.reachability


# -- a life ----------------------------------------------------------------------------------


def test_stop_leaves_no_thread_and_no_watch(kinform_server: BlockingApiServer) -> None:
    """19: the loop thread ends with the client, those of handlers with the cache."""
    before = set(threading.enumerate())
    client = blocking.Client(kinform_server.config)
    cache = blocking.Cache(client)
    with client:
        with cache:
            cache.get_informer(ConfigMap).add_event_handler(on_add=print)
            cache.client().create(typed_map("a"))
        assert cache.is_stopped
        with pytest.raises(AlreadyStoppedError, match="create another cache"):
            cache.get(ConfigMap, "default/a")
        assert not [each for each in cache.informers.values() if each.is_running]
        with pytest.raises(AlreadyStartedError):
            cache.start()
    assert set(threading.enumerate()) - before == set()


def test_cache_stops_with_its_last_reference(kinform_server: BlockingApiServer) -> None:
    """19: its clients are references."""
    kinform_server.create(config_map("a"))
    with blocking.Client(kinform_server.config) as client:
        cache = blocking.Cache(client)
        cache.start()
        mine, inner = cache.client(), cache._inner
        del cache
        gc.collect()
        assert mine.get(ConfigMap, "default/a").name == "a"
        assert inner.is_running
        del mine
        gc.collect()
        assert inner.stopped.wait(30)


def test_health_is_that_of_the_async_cache(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    """19: revoked access keeps serving, and is a problem with its reason."""
    refused = Latch("the watch was refused")

    def on_watch_error(failure: WatchFailure) -> None:
        if isinstance(failure.error, ForbiddenError):
            refused.set()

    with blocking.Cache(client, options=QUICK, on_watch_error=on_watch_error) as cache:
        cache.list(ConfigMap)
        assert str(cache.health(max_staleness=60)) == "ok"
        kinform_server.faults.inject(faults.forbidden(), resource="configmaps", times=None)
        kinform_server.end_watches("configmaps")
        assert refused.wait(30)
        health = cache.health()
        assert (health.live, health.ready, list(health.problems)) == (
            True,
            True,
            ["v1/configmaps"],
        )
        assert "forbidden" in str(health).lower()
        assert cache.get(ConfigMap, "default/a").name == "a"
    client.close()
    with pytest.raises(StateError):
        cache.health()


def test_forked_child_is_told(kinform_server: BlockingApiServer) -> None:
    """19: a child would read objects that nobody updates."""
    kinform_server.create(config_map("a"))
    out = output_of(
        kinform_server,
        """
import os, sys, warnings
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
from kinform import blocking
from kinform.errors import StateError
from kinform.models.core.v1 import ConfigMap
client = blocking.Client.from_kubeconfig(sys.argv[1])
cache = blocking.Cache(client)
cache.start()
mine = cache.client()
print(len(cache.list(ConfigMap)), len(mine.list(ConfigMap)), flush=True)
child = os.fork()
if not child:
    reads = (
        lambda: cache.get(ConfigMap, "default/a"),
        lambda: cache.list(ConfigMap),
        lambda: mine.get(ConfigMap, "default/a"),
        lambda: mine.list(ConfigMap),
    )
    for read in reads:
        try:
            read()
        except StateError as error:
            print("child:", "after the fork" in str(error), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent:", cache.get(ConfigMap, "default/a").name)
client.close()
""",
    )
    assert out.splitlines() == ["1 1", *["child: True"] * 4, "parent: a"]
