"""Arguments of an elector that cannot work are refused before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from kinform import Cache, Client, blocking
from kinform.controllers import LeaderElector
from kinform.errors import ConfigError, InvalidNameError
from kinform.transport import ClusterConfig
from tests.support.leases import LeaseServer

CONFIG = ClusterConfig(server="http://127.0.0.1:1", namespace="shop")


async def async_callback(leader: str) -> None:
    return


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"lease_duration": 10.0}, "lease_duration .10 s. must be longer than renew_deadline"),
        ({"renew_deadline": 2.4}, "renew_deadline .2.4 s. must be longer than 1.2 times"),
        ({"retry_period": 0}, "retry_period must be a number of seconds above 0, not 0"),
        ({"lease_duration": "15"}, "lease_duration must be a number .* not '15'"),
        ({"lease_duration": float("inf")}, "lease_duration must be a number .* not inf"),
        ({"lease_duration": float("nan")}, "lease_duration must be a number .* not nan"),
        ({"retry_period": True}, "retry_period must be a number .* not True"),
        ({"identity": ""}, "identity must not be empty"),
        ({"identity": " "}, "identity must not be empty"),
        ({"identity": 3}, "identity= takes a string, not int"),
        ({"namespace": ""}, "needs a namespace, not ''; pass namespace="),
        ({"labels": ["a"]}, "labels= takes a dict of strings, not list"),
        ({"labels": {"a b": "c"}}, "label key 'a b'"),
        ({"labels": {"a": ["b"]}}, "all values must be strings"),
        ({"on_new_leader": async_callback}, "on_new_leader must not be async"),
        ({"on_new_leader": 1}, "on_new_leader must be a function"),
        ({"clock": 1.0}, "clock must be a function"),
    ],
)
def test_invalid_option(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        LeaderElector(LeaseServer().client(), "web", **options)


@pytest.mark.parametrize("name", ["", "Web", "a/b", "a b", "-a", "a" * 254, None, 3])
def test_invalid_name(name: Any) -> None:
    client = LeaseServer().client()

    with pytest.raises(InvalidNameError, match="the name of an election must have lower-case"):
        LeaderElector(client, name)
    with pytest.raises((InvalidNameError, ConfigError), match="namespace"):
        LeaderElector(client, "web", namespace=name or "")


def test_client_that_is_none() -> None:
    with pytest.raises(ConfigError, match=r"LeaderElector takes a kinform.Client, not None"):
        LeaderElector(None, "web")  # type: ignore[arg-type]


def test_blocking_client() -> None:
    with (
        blocking.Client(CONFIG) as client,
        pytest.raises(ConfigError, match=r"use kinform.blocking.LeaderElector"),
    ):
        LeaderElector(client, "web")  # type: ignore[arg-type]


async def test_client_without_a_namespace() -> None:
    client = LeaseServer().client()
    client.namespace = None  # type: ignore[assignment]

    with pytest.raises(ConfigError, match="the election 'web' needs a namespace, not None"):
        LeaderElector(client, "web")


async def test_defaults_are_those_of_the_client() -> None:
    async with Client(CONFIG) as client:
        first, second = LeaderElector(client, "web"), LeaderElector(client, "web")

    assert first.namespace == "shop"
    assert first.identity != second.identity
    assert "_" in first.identity


async def test_client_of_a_cache_is_bypassed() -> None:
    async with Client(CONFIG) as client:
        elector = LeaderElector(Cache(client).client(), "web")

    assert elector._lock._client is client
