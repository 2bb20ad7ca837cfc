"""Factories: one informer for each question, shared by all who ask it, begun and ended together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Client
from kinform.api import GVR, ListOptions
from kinform.errors import (
    ConfigError,
    InvalidNameError,
    NotFoundError,
    SelectorError,
)
from kinform.informers import (
    DynamicSharedInformerFactory,
    HandlerFailure,
    InformerKey,
    KindOptions,
    Latch,
    MetadataSharedInformerFactory,
    ReflectorOptions,
    WatchFailure,
)
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import ApiServer, faults
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK, Recorder
from tests.support.waiting import wait_until

SECRETS = GVR("", "v1", "secrets")


@pytest.fixture
async def factory(client: Client) -> AsyncIterator[DynamicSharedInformerFactory]:
    factory = DynamicSharedInformerFactory(client, options=QUICK)
    yield factory
    await factory.shutdown()


# -- sharing ---------------------------------------------------------------------------------


def test_the_same_question_has_the_same_informer(factory: DynamicSharedInformerFactory) -> None:
    def ask(resource: Any = MAPS, **options: Any) -> Any:
        return factory.for_resource(resource, **options).informer

    assert ask() is ask("v1/configmaps")
    assert ask(labels={"app": "web"}) is ask(labels="app=web")
    assert ask(namespace=["b", "a", "b"]) is ask(namespace=("a", "b"))
    assert ask(namespace="a") is ask(namespace=["a"])
    assert ask(fields={"metadata.name": "x"}) is ask(fields="metadata.name=x")
    different = [
        ask(),
        ask("v1/secrets"),
        ask(namespace="a"),
        ask(namespace=["a", "b"]),
        ask(labels="app=web"),
        ask(labels="app=db"),
        ask(fields="metadata.name=x"),
    ]
    assert len({id(informer) for informer in different}) == len(different)
    assert set(map(id, different)) == set(map(id, factory.informers.values()))


def test_the_factorys_namespace_counts_where_none_is_said(client: Client) -> None:
    factory = DynamicSharedInformerFactory(client, namespace=["b", "a"])
    everywhere = DynamicSharedInformerFactory(client)

    assert factory.for_resource(MAPS).informer.namespaces == ("a", "b")
    assert factory.for_resource(MAPS, namespace="c").informer.namespaces == ("c",)
    assert everywhere.for_resource(MAPS).informer.namespaces == ()
    assert [str(key) for key in factory.informers] == [
        "v1/configmaps in a, b",
        "v1/configmaps in c",
    ]


async def test_all_who_share_an_informer_share_one_watch(
    kinform_api: ApiServer, factory: DynamicSharedInformerFactory
) -> None:
    kinform_api.create(config_map("a"))
    users = [factory.for_resource(MAPS) for _ in range(10)]
    registrations = [user.informer.add_event_handler(Recorder()) for user in users]
    factory.start()
    for registration in registrations:
        await registration.has_synced

    assert len(kinform_api.requests.watches(MAPS)) == 1
    assert [user.lister.get("default/a").name for user in users] == ["a"] * 10


async def test_metadata_and_whole_objects_are_watched_apart(
    kinform_api: ApiServer, client: Client, factory: DynamicSharedInformerFactory
) -> None:
    kinform_api.create(config_map("a", data={"x": "y" * 500}, app="web"))
    metadata = MetadataSharedInformerFactory(client)
    whole, partial = factory.for_resource(MAPS), metadata.for_resource(MAPS)
    factory.start()
    async with metadata:
        assert await factory.wait_for_cache_sync(timeout=20)
        assert await metadata.wait_for_cache_sync(timeout=20)
        small, large = partial.lister.get("default/a"), whole.lister.get("default/a")
        assert isinstance(small, PartialObjectMetadata)
        assert isinstance(large, Unstructured)
        assert small.labels == large.labels == {"app": "web"}
        assert "data" not in small
        assert large["data"] == {"x": "y" * 500}
        assert partial.informer.status().bytes < whole.informer.status().bytes
    accepted = [request.headers["accept"] for request in kinform_api.requests.watches(MAPS)]
    assert ["PartialObjectMetadata" in accept for accept in accepted] == [False, True]


async def test_selectors_are_the_servers_work(
    kinform_api: ApiServer, factory: DynamicSharedInformerFactory
) -> None:
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        kinform_api.create(config_map(name, app=app))
    web = factory.for_resource(MAPS, labels="app=web")
    one = factory.for_resource(MAPS, fields={"metadata.name": "b"})
    factory.start()
    assert await factory.wait_for_cache_sync(timeout=20)

    assert [each.name for each in web.lister.list()] == ["a", "c"]
    assert [each.name for each in one.lister.list()] == ["b"]
    asked = {
        request.query.get("labelSelector", "") + request.query.get("fieldSelector", "")
        for request in kinform_api.requests.watches(MAPS)
    }
    assert asked == {"app=web", "metadata.name=b"}


def test_what_cannot_be_asked_is_refused(client: Client) -> None:
    factory = DynamicSharedInformerFactory(client)
    with pytest.raises(InvalidNameError):
        factory.for_resource("pods")
    with pytest.raises(SelectorError):
        factory.for_resource(MAPS, labels="a b c")
    with pytest.raises(ConfigError, match="pass non-empty names"):
        factory.for_resource(MAPS, namespace=[])
    with pytest.raises(ConfigError, match="pass non-empty names"):
        DynamicSharedInformerFactory(client, namespace=["a", ""])
    with pytest.raises(InvalidNameError):
        DynamicSharedInformerFactory(client, by_kind={"pods": KindOptions()})
    assert factory.informers == {}


# -- letting go ------------------------------------------------------------------------------


async def test_with_its_last_user_an_informer_stops_and_who_comes_then_has_a_fresh_one(
    kinform_api: ApiServer, factory: DynamicSharedInformerFactory
) -> None:
    kinform_api.create(config_map("a"))
    first, second = factory.for_resource(MAPS), factory.for_resource(MAPS)
    other = factory.for_resource(MAPS, namespace="default")
    factory.start()
    await factory.wait_for_cache_sync(timeout=20)

    first.release()
    first.release()  # of no further effect: the other user is still there
    assert factory.informers[InformerKey(MAPS)] is second.informer
    assert second.informer.is_running
    second.release()
    async with asyncio.timeout(20):
        await second.informer.stopped
    assert InformerKey(MAPS) not in factory.informers
    assert other.informer.is_running

    third = factory.for_resource(MAPS)
    assert third.informer is not second.informer
    assert len(third.lister) == 0
    factory.start()
    await factory.wait_for_cache_sync(timeout=20)
    assert third.lister.get("default/a").name == "a"
    assert second.informer.is_stopped
    # A late release of an earlier one does nothing to its successor.
    second.release()
    assert third.informer.is_running


async def test_what_was_let_go_before_the_start_is_not_started(
    kinform_api: ApiServer, factory: DynamicSharedInformerFactory
) -> None:
    factory.for_resource(MAPS).release()
    secrets = factory.for_resource(SECRETS)
    factory.start()
    assert list(await factory.wait_for_cache_sync(timeout=20)) == ["v1/secrets"]
    assert secrets.informer.has_synced
    assert kinform_api.requests.matching(resource=MAPS) == []


async def test_a_shutdown_waits_for_what_was_just_let_go(
    factory: DynamicSharedInformerFactory,
) -> None:
    maps = factory.for_resource(MAPS)
    factory.start()
    await factory.wait_for_cache_sync(timeout=20)
    maps.release()
    await factory.shutdown()
    assert maps.informer.is_stopped


async def test_a_handler_may_let_go_of_its_own_informer(
    kinform_api: ApiServer, factory: DynamicSharedInformerFactory
) -> None:
    maps = factory.for_resource(MAPS)
    maps.informer.add_event_handler(on_add=lambda obj: maps.release())
    factory.start()
    kinform_api.create(config_map("a"))
    async with asyncio.timeout(20):
        await maps.informer.stopped


# -- options ---------------------------------------------------------------------------------


def test_resync_periods_are_by_resource_by_default_or_the_handlers_own(client: Client) -> None:
    factory = DynamicSharedInformerFactory(
        client,
        30.0,
        by_kind={
            MAPS: KindOptions(resync_period=60.0),
            "v1/secrets": KindOptions(resync_period=0.0),
        },
    )

    def period(resource: Any, **options: Any) -> float:
        informer = factory.for_resource(resource, **options).informer
        return informer.add_event_handler(Recorder()).resync_period

    assert period("v1/pods") == 30.0
    assert period(MAPS) == period(MAPS, namespace="a") == 60.0
    assert period(SECRETS) == 0.0
    own = factory.for_resource(MAPS).informer.add_event_handler(Recorder(), resync_period=5.0)
    assert own.resync_period == 5.0


async def test_the_tweak_sees_every_list_and_every_watch(
    kinform_api: ApiServer, client: Client
) -> None:
    seen: list[ListOptions] = []

    def tweak(options: ListOptions) -> ListOptions:
        seen.append(options)
        return options.replace(label_selector="app=web")

    # Of its own, for that this resource cannot stream is remembered with the options.
    quick = ReflectorOptions(backoff=QUICK.backoff)
    kinform_api.faults.inject(
        faults.initial_events_unsupported(), verb="watch", resource="configmaps"
    )
    kinform_api.faults.inject(
        faults.expired_event(),
        verb="watch",
        resource="configmaps",
        when=lambda call: "sendInitialEvents" not in call.query,
    )
    for name, app in (("a", "web"), ("b", "db")):
        kinform_api.create(config_map(name, app=app))
    factory = DynamicSharedInformerFactory(client, tweak_list_options=tweak, options=quick)
    maps = factory.for_resource(MAPS)
    async with factory:
        await factory.wait_for_cache_sync(timeout=20)
        await wait_until(lambda: sum(maps.informer.status().relists.values()) == 1)
        await wait_until(lambda: maps.informer.status().watch_opens >= 2)
        assert [each.name for each in maps.lister.list()] == ["a"]

    asked = kinform_api.requests.matching(resource=MAPS)
    assert len(asked) == len(seen) > 4
    assert {request.verb for request in asked} == {"list", "watch"}
    assert {request.query["labelSelector"] for request in asked} == {"app=web"}


async def test_failures_of_watches_and_handlers_are_heard_in_one_place(
    kinform_api: ApiServer, client: Client
) -> None:
    watch_failures: list[WatchFailure] = []
    handler_failures: list[HandlerFailure] = []
    heard = Latch("heard")

    def hear(failure: HandlerFailure) -> None:
        handler_failures.append(failure)
        heard.set()

    def fail(obj: Unstructured) -> None:
        raise ValueError(obj.name)

    kinform_api.create(config_map("a"))
    kinform_api.faults.inject(faults.unavailable(), resource="configmaps")
    factory = DynamicSharedInformerFactory(
        client, on_watch_error=watch_failures.append, on_handler_error=hear, options=QUICK
    )
    factory.for_resource(MAPS).informer.add_event_handler(on_add=fail, name="failing")
    async with factory:
        async with asyncio.timeout(20):
            await heard

    assert [failure.name for failure in watch_failures] == ["v1/configmaps"]
    (failure,) = handler_failures
    assert "failing" in failure.handler
    assert isinstance(failure.error, ValueError)


async def test_resources_of_the_cluster_are_had_by_name(
    factory: DynamicSharedInformerFactory,
) -> None:
    namespaces = factory.for_resource("v1/namespaces")
    factory.start()
    assert await factory.wait_for_cache_sync(timeout=20)
    assert namespaces.lister.get("default").name == "default"
    with pytest.raises(NotFoundError, match='namespaces "none" not found in the cache'):
        namespaces.lister.get("none")


async def test_many_threads_may_ask_at_once(factory: DynamicSharedInformerFactory) -> None:
    found: list[object] = []

    def ask() -> None:
        for _ in range(50):
            holds = [factory.for_resource(MAPS), factory.for_resource(SECRETS)]
            found.extend(hold.informer for hold in holds)
            holds[1].release()

    keeper = factory.for_resource(SECRETS)
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)

    assert len(set(map(id, found))) == 2
    assert factory.informers[InformerKey(SECRETS)] is keeper.informer
    keeper.release()
    assert list(factory.informers) == [InformerKey(MAPS)]
