"""Informers and listers without ``await``: from any thread, through forks, Ctrl-C and garbage."""

from __future__ import annotations

import asyncio
import gc
import inspect
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kinform import blocking, informers
from kinform.api import GVR
from kinform.client import Client as AsyncClient
from kinform.errors import AlreadyStoppedError, CacheSyncError, ForbiddenError, StateError
from kinform.informers import FactoryOptions, InformerFactory, KindOptions, Latch
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import BlockingApiServer, faults
from tests.support.processes import output_of, python

MAPS = GVR("", "v1", "configmaps")
SECRETS = GVR("", "v1", "secrets")


def config_map(name: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "y"}}


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    kinform_server.create(config_map("a", app="web"))
    with blocking.Client(kinform_server.config) as client:
        yield client


# -- the same names --------------------------------------------------------------------------


def test_no_name_of_the_async_factory_is_missing() -> None:
    for name in ("DynamicSharedInformerFactory", "MetadataSharedInformerFactory"):
        names = {each for each in dir(getattr(informers, name)) if not each.startswith("_")}
        assert names <= set(dir(getattr(blocking, name)))


def test_no_name_of_a_hold_is_missing(client: blocking.Client) -> None:
    factory = blocking.DynamicSharedInformerFactory(client)
    hold = factory.for_resource(MAPS)
    other = informers.DynamicSharedInformerFactory(AsyncClient(client.config)).for_resource(MAPS)

    assert {each for each in dir(other) if not each.startswith("_")} <= set(dir(hold))


def test_the_same_question_gets_the_same_informer(client: blocking.Client) -> None:
    factory = blocking.DynamicSharedInformerFactory(client)
    first, second = factory.for_resource(MAPS), factory.for_resource("v1/configmaps")

    assert first.informer is second.informer
    assert list(factory.informers.values()) == [first.informer]
    assert factory.for_resource(MAPS, labels="app").informer is not first.informer


def test_the_options_are_those_of_the_async_factory() -> None:
    wanted = set(inspect.signature(InformerFactory).parameters) - {"client", "default_resync"}
    assert set(FactoryOptions.__annotations__) == wanted


# -- a life ----------------------------------------------------------------------------------


def test_a_with_block_is_its_life(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    factory = blocking.DynamicSharedInformerFactory(client)
    maps = factory.for_resource(MAPS)
    seen, threads = list[str](), set[str]()
    added = Latch("b was added")

    def on_add(obj: Unstructured) -> None:
        seen.append(obj.name)
        threads.add(threading.current_thread().name)
        if obj.name == "b":
            added.set()

    maps.informer.add_event_handler(on_add=on_add)
    with factory:
        assert factory.wait_for_cache_sync(timeout=20)
        assert [each.name for each in maps.lister.namespace("default").list("app=web")] == ["a"]
        kinform_server.create(config_map("b"))
        assert added.wait(20)
        assert maps.lister.get("default/b")["data"] == {"x": "y"}

    assert seen == ["a", "b"]
    assert threading.main_thread().name not in threads
    assert maps.informer.is_stopped
    # What it had can still be read.
    assert len(maps.lister) == 2


def test_an_async_handler_runs_on_the_loop_thread(client: blocking.Client) -> None:
    factory = blocking.DynamicSharedInformerFactory(client)
    told = Latch("told")

    async def on_add(obj: Unstructured) -> None:
        await asyncio.sleep(0)
        with pytest.raises(StateError, match="would deadlock"):
            factory.wait_for_cache_sync()
        told.set()

    factory.for_resource(MAPS).informer.add_event_handler(on_add=on_add)
    with factory:
        assert told.wait(20)


def test_metadata_has_a_factory_too(client: blocking.Client) -> None:
    factory = blocking.MetadataSharedInformerFactory(client, namespace="default")
    maps = factory.for_resource(MAPS)
    with factory:
        factory.wait_for_cache_sync(timeout=20, strict=True)
        (found,) = maps.lister.list()

    assert isinstance(found, PartialObjectMetadata)
    assert "data" not in found


def test_options_and_start_for_more_work_as_they_do_with_await(client: blocking.Client) -> None:
    def mark(obj: Unstructured) -> None:
        obj["marked"] = True

    factory = blocking.DynamicSharedInformerFactory(
        client, 30.0, transform=mark, by_kind={MAPS: KindOptions(resync_period=60.0)}, name="mine"
    )
    maps = factory.for_resource(MAPS)
    registration = maps.informer.add_event_handler(on_add=lambda obj: None)
    with factory:
        assert factory.wait_for_cache_sync(timeout=20)
        namespaces = factory.for_resource("v1/namespaces")
        factory.start()
        assert namespaces.informer.has_synced.wait(20)
        assert maps.lister.get("default/a")["marked"] is True
        assert set(factory.informers.values()) == {maps.informer, namespaces.informer}
        namespaces.release()
        assert namespaces.informer.stopped.wait(20)

    assert registration.resync_period == 60.0
    assert repr(factory).startswith("<blocking <DynamicSharedInformerFactory")


def test_a_wait_says_who_is_late_and_why(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    kinform_server.faults.inject(faults.forbidden(), resource="secrets", times=None)
    factory = blocking.DynamicSharedInformerFactory(client)
    factory.for_resource(MAPS)
    factory.for_resource(SECRETS)
    with factory:
        result = factory.wait_for_cache_sync(timeout=0.3)
        assert result[MAPS]
        assert isinstance(result[SECRETS].error, ForbiddenError)
        with pytest.raises(CacheSyncError, match="1 of 2 informers: v1/secrets"):
            factory.wait_for_cache_sync(timeout=0.1, strict=True)


def test_a_shutdown_is_final_and_may_be_repeated(client: blocking.Client) -> None:
    factory = blocking.DynamicSharedInformerFactory(client)
    maps = factory.for_resource(MAPS)
    with factory:
        factory.wait_for_cache_sync(timeout=20)
    factory.shutdown()
    with pytest.raises(AlreadyStoppedError):
        factory.for_resource("v1/services")
    with pytest.raises(StateError):
        factory.start()
    assert maps.informer.is_stopped
    # The client is another matter.
    assert client.get(MAPS, "a").name == "a"


def test_closing_the_client_ends_its_factories(kinform_server: BlockingApiServer) -> None:
    before = set(threading.enumerate())
    client = blocking.Client(kinform_server.config)
    factories = [blocking.DynamicSharedInformerFactory(client) for _ in range(2)]
    held = [factory.for_resource(MAPS) for factory in factories]
    for factory, hold in zip(factories, held, strict=True):
        hold.informer.add_event_handler(on_add=lambda obj: None)
        factory.start()
        factory.wait_for_cache_sync(timeout=20)

    client.close()

    assert [hold.informer.is_stopped for hold in held] == [True, True]
    assert set(threading.enumerate()) - before == set()
    for factory in factories:
        factory.shutdown()


# -- threads and loops -----------------------------------------------------------------------


def test_many_threads_may_use_it_at_once(client: blocking.Client) -> None:
    factory = blocking.DynamicSharedInformerFactory(client)
    problems: list[BaseException] = []

    def use() -> None:
        try:
            for _ in range(10):
                maps = factory.for_resource(MAPS)
                factory.start()
                factory.wait_for_cache_sync(timeout=20, strict=True)
                assert maps.lister.get("default/a").name == "a"
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    factory.shutdown()

    assert problems == []


def test_all_who_shut_it_down_at_once_wait_until_it_is_done(client: blocking.Client) -> None:
    factory = blocking.DynamicSharedInformerFactory(client)
    maps = factory.for_resource(MAPS)
    began = Latch("began")

    async def slow(obj: Unstructured) -> None:
        began.set()
        await asyncio.sleep(3600)  # until the stop has waited long enough and cancels it

    maps.informer.add_event_handler(on_add=slow)
    factory.start()
    assert began.wait(20)
    found: list[bool] = []

    def shut_down() -> None:
        factory.shutdown()
        found.append(maps.informer.is_stopped)

    threads = [threading.Thread(target=shut_down) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert found == [True] * 4


def test_a_shutdown_that_was_refused_can_be_done_elsewhere(client: blocking.Client) -> None:
    factory = blocking.DynamicSharedInformerFactory(client)
    maps = factory.for_resource(MAPS)
    refused = Latch("refused")

    async def on_add(obj: Unstructured) -> None:
        with pytest.raises(StateError, match="would deadlock"):
            factory.shutdown()
        refused.set()

    maps.informer.add_event_handler(on_add=on_add)
    factory.start()
    assert refused.wait(20)
    assert maps.informer.is_running
    factory.shutdown()

    assert maps.informer.is_stopped


def test_a_plain_handler_may_shut_it_down(client: blocking.Client) -> None:
    factory = blocking.DynamicSharedInformerFactory(client)
    maps = factory.for_resource(MAPS)
    maps.informer.add_event_handler(on_add=lambda obj: factory.shutdown())
    factory.start()

    assert maps.informer.stopped.wait(20)


async def test_it_may_be_used_from_the_executor_of_a_running_loop(
    kinform_server: BlockingApiServer,
) -> None:
    def use() -> list[str]:
        with blocking.Client(kinform_server.config) as client:
            factory = blocking.DynamicSharedInformerFactory(client)
            namespaces = factory.for_resource("v1/namespaces")
            with factory:
                factory.wait_for_cache_sync(timeout=20, strict=True)
                return [each.name for each in namespaces.lister.list()]

    assert "default" in await asyncio.to_thread(use)


async def test_it_is_refused_where_it_would_bring_a_loop_to_a_stand(
    kinform_server: BlockingApiServer,
) -> None:
    client = blocking.Client(kinform_server.config)
    factory = blocking.DynamicSharedInformerFactory(client)
    maps = factory.for_resource(MAPS)
    for call in (factory.start, factory.wait_for_cache_sync, factory.__enter__):
        with pytest.raises(StateError, match="would block this thread's event loop"):
            call()
    assert not maps.informer.was_started
    await asyncio.to_thread(factory.start)
    # Reading and registering have no colour.
    registration = maps.informer.add_event_handler(on_add=lambda obj: None)
    async with asyncio.timeout(20):
        await registration.has_synced
    assert maps.lister.list() == []
    await asyncio.to_thread(client.close)
    assert maps.informer.is_stopped


# -- garbage ---------------------------------------------------------------------------------


def test_dropped_without_a_word_it_leaves_no_thread(kinform_server: BlockingApiServer) -> None:
    kinform_server.create(config_map("a"))
    before = set(threading.enumerate())
    client = blocking.Client(kinform_server.config)
    factory = blocking.DynamicSharedInformerFactory(client)
    informer = factory.for_resource(MAPS).informer
    registration = informer.add_event_handler(on_add=lambda obj: None)
    factory.start()
    assert registration.has_synced.wait(20)
    begun = set(threading.enumerate()) - before
    assert begun
    stopped = informer.stopped

    del client, factory, informer
    gc.collect()

    assert stopped.wait(20)
    for thread in begun:
        thread.join(20)
    assert not any(thread.is_alive() for thread in begun)


def test_dropped_alone_it_stops_and_its_client_lives_on(client: blocking.Client) -> None:
    factory = blocking.DynamicSharedInformerFactory(client)
    maps = factory.for_resource(MAPS)
    factory.start()
    assert maps.informer.has_synced.wait(20)
    stopped, lister = maps.informer.stopped, maps.lister

    del factory, maps
    gc.collect()

    assert stopped.wait(20)
    # What it had can still be read.
    assert lister.get("default/a").name == "a"
    assert client.get(MAPS, "a").name == "a"


def test_who_holds_one_of_its_informers_holds_it(kinform_server: BlockingApiServer) -> None:
    def begin() -> blocking.SharedIndexInformer[Unstructured]:
        client = blocking.Client(kinform_server.config)
        factory = blocking.DynamicSharedInformerFactory(client)
        informer = factory.for_resource(MAPS).informer
        factory.start()
        return informer

    informer = begin()
    gc.collect()
    made = kinform_server.create(config_map("late"))

    assert informer.has_synced.wait(20)
    assert informer.wait_for_rv(made["metadata"]["resourceVersion"]).wait(20)


def test_it_keeps_its_dropped_client_alive(kinform_server: BlockingApiServer) -> None:
    kinform_server.create(config_map("a"))
    factory = blocking.DynamicSharedInformerFactory(blocking.Client(kinform_server.config))
    gc.collect()
    maps = factory.for_resource(MAPS)
    with factory:
        assert factory.wait_for_cache_sync(timeout=20)
        assert maps.lister.get("default/a").name == "a"


# -- processes -------------------------------------------------------------------------------

_SETUP = """
import os, sys, threading, warnings
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
from kinform import blocking
from kinform.errors import StateError
client = blocking.Client.from_kubeconfig(sys.argv[1])
factory = blocking.DynamicSharedInformerFactory(client)
maps = factory.for_resource("v1/configmaps")
"""


def test_a_forked_child_is_told_and_the_parents_informers_go_on(
    kinform_server: BlockingApiServer,
) -> None:
    out = output_of(
        kinform_server,
        _SETUP
        + """
factory.start()
factory.wait_for_cache_sync(timeout=20, strict=True)
child = os.fork()
if not child:
    for call in (factory.start, factory.wait_for_cache_sync):
        try:
            call()
        except StateError as error:
            print("child:", error)
    factory.shutdown()
    with blocking.Client.from_kubeconfig(sys.argv[1]) as other:
        mine = blocking.DynamicSharedInformerFactory(other)
        namespaces = mine.for_resource("v1/namespaces")
        with mine:
            mine.wait_for_cache_sync(timeout=20, strict=True)
            print("child:", namespaces.lister.get("default").name, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
made = client.create(body)
assert maps.informer.wait_for_rv(made.resource_version).wait(20)
print("parent:", maps.lister.get("default/late").name)
factory.shutdown()
client.close()
""",
    )

    first, second, third, parent = out.splitlines()
    assert "create a new one after the fork" in first
    assert "create a new one after the fork" in second
    assert (third, parent) == ("child: default", "parent: late")
    assert len(kinform_server.requests.watches(MAPS)) == 1


def test_ctrl_c_ends_the_wait_and_the_block_tidies_up(kinform_server: BlockingApiServer) -> None:
    kinform_server.faults.inject(faults.forbidden(), resource="configmaps", times=None)
    process = python(
        kinform_server,
        _SETUP
        + """
try:
    with client, factory:
        print("waiting", flush=True)
        factory.wait_for_cache_sync()
except KeyboardInterrupt:
    print("interrupted", maps.informer.is_stopped, threading.active_count())
""",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert (process.returncode, out, err) == (0, "interrupted True 1\n", "")


def test_python_ends_quietly_though_nobody_closed_it(kinform_server: BlockingApiServer) -> None:
    kinform_server.create(config_map("a"))
    out = output_of(
        kinform_server,
        _SETUP
        + """
told = threading.Event()
maps.informer.add_event_handler(on_add=lambda obj: (print(obj.name, flush=True), told.set()))
factory.start()
assert told.wait(20)
""",
    )

    assert out == "a\n"
