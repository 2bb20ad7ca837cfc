"""20: the helpers that do I/O without ``await``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, assert_type

import pytest

import kinform
from kinform import blocking
from kinform.client import EventType
from kinform.controllers import OperationResult
from kinform.errors import ConfigError, ConflictError, ExpiredError, WaitTimeoutError
from kinform.models.core.v1 import ConfigMap
from kinform.models.meta.v1 import ObjectMeta
from kinform.objects import Unstructured
from kinform.testing import BlockingApiServer, faults
from tests.support.config_maps import MAPS

KEY = "default/settings"


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    with blocking.Client(kinform_server.config) as client:
        yield client


def settings(**data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="settings", namespace="default"), data=data)


def test_function_runs_on_the_calling_thread(client: blocking.Client) -> None:
    """20: so it may block, and use the client."""
    threads: list[threading.Thread] = []

    def mutate(found: ConfigMap) -> None:
        threads.append(threading.current_thread())
        client.list(ConfigMap, namespace="default")
        found.data["n"] = "1"

    made, result = blocking.create_or_update(client, settings(), mutate)
    assert_type(made, ConfigMap)
    again, unchanged = blocking.create_or_patch(client, settings(), mutate)
    assert (result, unchanged) == (OperationResult.CREATED, OperationResult.UNCHANGED)
    assert again.resource_version == made.resource_version
    assert set(threads) == {threading.current_thread()}


def test_dict_and_client_of_a_cache(client: blocking.Client) -> None:
    """20: as in the async API."""
    tree: dict[str, Any] = settings().to_dict()

    def mutate(found: Unstructured) -> None:
        found["data"] = {"n": "1"}

    with blocking.Cache(client, namespace="default") as cache:
        reader = cache.client()
        made, created = blocking.create_or_patch(reader, tree, mutate)
        assert_type(made, Unstructured)
        _, unchanged = blocking.create_or_update(reader, tree, mutate)
    assert (created, unchanged) == (OperationResult.CREATED, OperationResult.UNCHANGED)


def test_wrong_arguments_are_named(
    client: blocking.Client, kinform_server: BlockingApiServer
) -> None:
    """20: async functions and async clients."""

    async def mutate(found: ConfigMap) -> None:
        raise AssertionError

    with pytest.raises(ConfigError, match="must not be async"):
        blocking.create_or_update(client, settings(), mutate)
    foreign: Any = kinform.Client(kinform_server.config)
    for call in (blocking.create_or_update, blocking.create_or_patch):
        with pytest.raises(ConfigError, match=r"takes a kinform\.blocking\.Client"):
            call(foreign, settings(), lambda found: None)
    with pytest.raises(ConfigError, match="takes an informer or a cache"):
        blocking.wait_until(foreign, KEY)
    with pytest.raises(ConfigError, match="must be a function"):
        blocking.create_or_update(client, settings(), None)  # type: ignore[call-overload]
    assert len(client.list(ConfigMap, namespace="default")) == 0


def test_conflicts_are_retried(client: blocking.Client) -> None:
    """20: with a sleeping thread."""
    calls = 0

    def contested() -> str:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise ConflictError("modified", code=409)
        return "done"

    assert assert_type(blocking.retry_on_conflict(contested), str) == "done"
    calls = -10
    with pytest.raises(ConflictError):
        blocking.retry_on_conflict(contested, attempts=2)
    assert calls == -8


def test_thread_waits_for_an_object(client: blocking.Client) -> None:
    """20: on a cache or an informer."""
    with blocking.Cache(client, namespace="default") as cache:
        with pytest.raises(WaitTimeoutError, match=f"before {KEY} exists; it was not seen"):
            blocking.wait_until(cache, KEY, kind=ConfigMap, timeout=0.05)
        made = client.create(settings(n="1"))
        found = blocking.wait_until(
            cache, KEY, lambda found: found.data["n"] == "1", kind=ConfigMap, timeout=30
        )
        assert assert_type(found, ConfigMap).uid == made.uid
        informer = cache.get_informer(MAPS)
        assert_type(blocking.wait_until(informer, KEY), Unstructured)
        client.delete(ConfigMap, "settings", namespace="default")
        blocking.wait_until_gone(cache, KEY, kind=ConfigMap, timeout=30)
        blocking.wait_until_gone(informer, KEY)


def test_resuming_watch_reconnects(
    client: blocking.Client, kinform_server: BlockingApiServer
) -> None:
    """20: iterated by a thread, until a 410."""
    listed = client.list(ConfigMap, namespace="default")
    kinform_server.faults.inject(faults.drop_connection(), verb="watch", resource="configmaps")
    version = listed.resource_version
    with blocking.resuming_watch(
        client, ConfigMap, resource_version=version, namespace="default"
    ) as watch:
        client.create(settings(n="1"))
        event = next(watch)
        assert (event.type, assert_type(event.object, ConfigMap).data) == (
            EventType.ADDED,
            {"n": "1"},
        )
        assert watch.connections == 2
        assert watch.resource_version == event.object.resource_version
    kinform_server.faults.inject(faults.expired(), verb="watch", resource="configmaps")
    with (
        blocking.resuming_watch(client, ConfigMap, resource_version=version) as watch,
        pytest.raises(ExpiredError),
    ):
        next(watch)
