"""Recorded events, on the embedded and on the real server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform import Cache, Client
from kinform.controllers.recorder import EventApi, EventRecorder
from kinform.models.core.v1 import ConfigMap, Namespace
from kinform.models.core.v1 import Event as CoreEvent
from kinform.models.events.v1 import Event
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import ApiServer, faults
from tests.contract.cache_server import CacheServer
from tests.support.waiting import wait_until

BOTH = pytest.mark.parametrize("api", ["events.k8s.io/v1", "v1"])


def count_of(event: Event | CoreEvent) -> int:
    if isinstance(event, CoreEvent):
        return event.count
    return 1 if event.series is None else event.series.count


def message_of(event: Event | CoreEvent) -> str:
    return event.message if isinstance(event, CoreEvent) else event.note


async def events(client: Client, namespace: str, api: EventApi) -> list[Event | CoreEvent]:
    """Return the events that recorders of these tests have written, by time."""
    form: Any = CoreEvent if api == "v1" else Event
    listed = await client.list(form, namespace=namespace)
    ours = [each for each in listed if each.type and each.reason.startswith("Test")]
    return sorted(ours, key=lambda event: int(event.resource_version))


@BOTH
async def test_events_are_written_and_repeated_ones_counted(
    server: CacheServer, api: EventApi
) -> None:
    """C-72: the first and the second at once, the rest at the end at the latest."""
    namespace = await server.new_namespace()
    obj = await server.client.create(
        ConfigMap(metadata=ObjectMeta(name="settings", namespace=namespace))
    )
    async with EventRecorder(server.client, "web-controller", api=api) as recorder:
        for _ in range(2):
            assert recorder.event(obj, "Normal", "TestLoaded", "loaded", action="Load")
            await wait_until(lambda: recorder.status().pending == 0)
        (event,) = await events(server.client, namespace, api)
        assert (count_of(event), message_of(event)) == (2, "loaded")
        for _ in range(5):
            recorder.event(obj, "Normal", "TestLoaded", "loaded", action="Load")
        recorder.event(obj, "Warning", "TestFailed", "failed", related=obj)
    first, second = sorted(
        await events(server.client, namespace, api), key=lambda event: -count_of(event)
    )
    assert [(count_of(each), message_of(each), each.type) for each in (first, second)] == [
        (7, "loaded", "Normal"),
        (1, "failed", "Warning"),
    ]
    if isinstance(first, Event):
        assert first.regarding.uid == obj.uid
        assert first.reporting_controller == "web-controller"
        assert first.action == "Load"
        assert second.related is not None
        assert first.series is not None
        assert first.series.last_observed_time is not None
    else:
        assert first.involved_object.uid == obj.uid
        assert first.source.component == "web-controller"
        assert first.first_timestamp is not None
        assert first.last_timestamp is not None
    assert recorder.status().written == 8
    assert recorder.status().dropped == {}


@BOTH
async def test_similar_events_are_combined(server: CacheServer, api: EventApi) -> None:
    """C-72: the tenth different message and those after it."""
    namespace = await server.new_namespace()
    obj = await server.client.create(
        ConfigMap(metadata=ObjectMeta(name="settings", namespace=namespace))
    )
    async with EventRecorder(server.client, "web-controller", api=api) as recorder:
        for number in range(30):
            assert recorder.event(obj, "Normal", "TestLoaded", f"loaded {number}")
    written = await events(server.client, namespace, api)
    assert len(written) == 10
    assert sum(count_of(each) for each in written) == 30
    combined = [each for each in written if message_of(each).startswith("(combined from similar")]
    assert [count_of(each) for each in combined] == [21]


@BOTH
async def test_events_about_any_object_are_valid(server: CacheServer, api: EventApi) -> None:
    """C-72: cluster-scoped objects, names that are not valid for events, long texts."""
    namespace = await server.new_namespace()
    home = await server.client.get(Namespace, namespace)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": f"system:{server.marker}", "namespace": namespace, "uid": "u"},
    }
    long = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a" * 253, "namespace": namespace},
    }
    async with EventRecorder(server.client, "example.com/web", api=api) as recorder:
        recorder.event(home, "Normal", f"Test{server.marker}", "a namespace")
        for obj in (role, long):
            recorder.event(obj, "Normal", "TestSeen", "é" * 3000)
        await wait_until(lambda: recorder.status().pending == 0)
        assert recorder.status().dropped == {}, recorder.status().last_error
    assert len(await events(server.client, namespace, api)) == 2
    about_home = await events(server.client, "default", api)
    assert [each.reason for each in about_home].count(f"Test{server.marker}") == 1


@BOTH
async def test_namespace_that_does_not_exist_is_never_fatal(
    server: CacheServer, api: EventApi, caplog: pytest.LogCaptureFixture
) -> None:
    """C-72: the event is counted as lost and logged; the next ones are written."""
    namespace = await server.new_namespace()
    gone = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": f"{server.marker}-none"},
    }
    here = {**gone, "metadata": {"name": "a", "namespace": namespace}}
    async with EventRecorder(server.client, "web-controller", api=api) as recorder:
        for number in range(5):
            assert recorder.event(gone, "Normal", "TestSeen", f"seen {number}")
        await wait_until(lambda: recorder.status().pending == 0)
        assert recorder.status().dropped == {"refused": 5}
        assert recorder.event(here, "Normal", "TestSeen", "seen")
    assert len(await events(server.client, namespace, api)) == 1
    assert len([text for text in caplog.messages if "is lost" in text]) == 1


@BOTH
async def test_event_that_expired_is_created_again(server: CacheServer, api: EventApi) -> None:
    """C-72: a patch that finds nothing."""
    namespace = await server.new_namespace()
    obj = await server.client.create(
        ConfigMap(metadata=ObjectMeta(name="settings", namespace=namespace))
    )
    form: Any = CoreEvent if api == "v1" else Event
    async with EventRecorder(server.client, "web-controller", api=api) as recorder:
        recorder.event(obj, "Normal", "TestLoaded", "loaded")
        await wait_until(lambda: recorder.status().pending == 0)
        (event,) = await events(server.client, namespace, api)
        await server.client.delete(form, event.name, namespace=namespace)
        recorder.event(obj, "Normal", "TestLoaded", "loaded")
    (again,) = await events(server.client, namespace, api)
    assert again.name != event.name
    assert count_of(again) == 2


async def test_client_of_a_cache_writes_events(server: CacheServer) -> None:
    """C-72: any Writer does."""
    namespace = await server.new_namespace()
    obj = await server.create_map("settings", namespace)
    async with (
        Cache(server.client, namespace=namespace) as cache,
        EventRecorder(cache.client(), "web-controller") as recorder,
    ):
        recorder.event(obj, "Normal", "TestLoaded", "loaded")
    assert len(await events(server.client, namespace, "events.k8s.io/v1")) == 1


async def test_lots_of_events_are_all_counted(server: CacheServer) -> None:
    """C-72: ten thousand occurrences about a hundred objects; nothing blocks."""
    namespace = await server.new_namespace()
    async with EventRecorder(server.client, "web-controller", flush_timeout=30.0) as recorder:
        for number in range(10_000):
            obj = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"p{number % 100}", "namespace": namespace},
            }
            assert recorder.event(obj, "Normal", "TestSeen", "seen")
    written = await events(server.client, namespace, "events.k8s.io/v1")
    assert sorted(count_of(each) for each in written) == [100] * 100


async def test_connections_that_break_are_retried(kinform_api: ApiServer) -> None:
    """C-72: transport errors, and a response that is lost after the write."""
    async with Client(kinform_api.config) as client:
        obj = await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        for fault in (faults.reset_connection(), faults.cut_after(10)):
            kinform_api.faults.inject(fault, verb="create", resource="events.events.k8s.io")
        recorder = EventRecorder(client, "web-controller", flush_timeout=20.0)
        async with recorder:
            recorder.event(obj, "Normal", "TestLoaded", "loaded")
            await kinform_api.requests.wait_for(lambda request: bool(request.faults), verb="create")
        # Stopping ends the delays between attempts.
        assert recorder.status().written == 1
        (event,) = await events(client, "default", "events.k8s.io/v1")
        assert count_of(event) == 1


async def test_server_without_the_new_api_gets_core_events(kinform_api: ApiServer) -> None:
    """C-72: client-go's adapter decides at the start; here the first event does."""
    async with Client(kinform_api.config) as client:
        obj = await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        for path in ("/apis/events.k8s.io/*", "/apis/events.k8s.io", "/apis"):
            kinform_api.faults.inject(faults.not_found(), path=path, times=None)
        async with EventRecorder(client, "web-controller") as recorder:
            recorder.event(obj, "Normal", "TestLoaded", "loaded")
            await wait_until(lambda: recorder.status().pending == 0)
            assert recorder.status().api == "v1"
            recorder.event(obj, "Normal", "TestLoaded", "loaded")
        (event,) = await events(client, "default", "v1")
        assert (count_of(event), message_of(event)) == (2, "loaded")


async def test_hanging_server_does_not_hold_up_the_program(kinform_api: ApiServer) -> None:
    """C-72: stopping is bounded, and recording never waits."""
    async with Client(kinform_api.config) as client:
        kinform_api.faults.inject(
            faults.hang(), verb="create", resource="events.events.k8s.io", times=None
        )
        obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}}
        loop = asyncio.get_running_loop()
        recorder = EventRecorder(client, "web-controller", flush_timeout=0.2)
        async with recorder:
            for number in range(50):
                recorder.event(obj, "Normal", f"Test{number % 5}", "seen")
            began = loop.time()
        assert loop.time() - began < 10
        assert recorder.status().dropped == {"unsent": 50}
        assert recorder.is_stopped
