"""20: the event recorder without ``await``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import kinform
from kinform import blocking
from kinform.controllers import EventRecorder as AsyncEventRecorder
from kinform.errors import AlreadyStartedError, ConfigError
from kinform.models.core.v1 import ConfigMap
from kinform.models.events.v1 import Event
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import BlockingApiServer


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    with blocking.Client(kinform_server.config) as client:
        yield client


def new_map(name: str = "a") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


def counts(client: blocking.Client) -> list[int]:
    events = client.list(Event, namespace="default")
    return sorted(1 if each.series is None else each.series.count for each in events)


def test_events_of_threads_are_written_when_the_block_is_left(client: blocking.Client) -> None:
    """20: all of them, counted."""
    obj = client.create(new_map())
    with blocking.EventRecorder(client, "web") as recorder:
        assert recorder.is_running

        def record() -> None:
            for _ in range(50):
                assert recorder.event(obj, "Normal", "Loaded", "loaded")

        threads = [threading.Thread(target=record) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with pytest.raises(AlreadyStartedError):
            recorder.start()
    assert counts(client) == [200]
    assert recorder.status().written == 200
    assert recorder.is_stopped


def test_client_of_a_cache_is_accepted(client: blocking.Client) -> None:
    """20: as in the async API."""
    obj = client.create(new_map())
    with blocking.Cache(client) as cache, blocking.EventRecorder(cache.client(), "web") as recorder:
        recorder.event(obj, "Normal", "Loaded", "loaded")
    assert counts(client) == [1]


def test_closing_the_client_stops_the_recorder(kinform_server: BlockingApiServer) -> None:
    """20: nothing is left behind; stop it first, or events may be lost, but never silently."""
    with blocking.Client(kinform_server.config) as client:
        recorder = blocking.EventRecorder(client, "web")
        recorder.start()
        recorder.event(client.create(new_map()), "Normal", "Loaded", "loaded")
    assert recorder.is_stopped
    status = recorder.status()
    assert status.written + sum(status.dropped.values()) == 1


@pytest.mark.parametrize("wrong", [None, "client", kinform.Client])
def test_other_clients_are_refused(wrong: Any, kinform_server: BlockingApiServer) -> None:
    """20: an async client belongs to another API."""
    given: Any = wrong(kinform_server.config) if wrong is kinform.Client else wrong
    with pytest.raises(ConfigError, match=r"EventRecorder takes a kinform\.blocking\.Client"):
        blocking.EventRecorder(given, "web")


def test_signature_is_that_of_the_async_recorder() -> None:
    """20: the same names."""
    for name in ("event", "status", "start", "stop", "run", "stopped"):
        assert hasattr(blocking.EventRecorder, name)
        assert hasattr(AsyncEventRecorder, name)
