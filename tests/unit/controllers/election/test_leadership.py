"""A leadership by the local clock, and the guard that refuses writes without one."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator

import pytest

from kinform import Client
from kinform.controllers import Leadership, LeadershipGuard
from kinform.controllers.election._clock import boot_time
from kinform.errors import ConfigError, LeadershipLostError
from kinform.models.coordination.v1 import Lease
from kinform.models.core.v1 import ConfigMap
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import ApiServer, faults


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leadership(clock: Clock) -> Leadership:
    return Leadership("a", 7, lease="default/web", valid_until=115.0, clock=clock)


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with ApiServer() as api:
        yield api


@pytest.fixture
async def client(api: ApiServer) -> AsyncIterator[Client]:
    async with Client(api.config) as client:
        yield client


def settings(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


def overdue(leadership: Leadership) -> float | None:
    return leadership.overdue


def test_leadership_ends_with_its_lease(leadership: Leadership, clock: Clock) -> None:
    clock.now = 114.9
    leadership.check()
    assert repr(leadership) == "<Leadership of a, token 7, valid>"
    assert leadership.remaining == pytest.approx(0.1)
    assert overdue(leadership) is None

    clock.now = 115.0
    assert not leadership.is_valid
    assert leadership.remaining == 0
    clock.now = 118.0
    assert overdue(leadership) == 3.0
    with pytest.raises(
        LeadershipLostError,
        match=r"a is not the leader of default/web any more: term 7 ended 3.0 s ago; stop",
    ):
        leadership.check()
    assert repr(leadership) == "<Leadership of a, token 7, over>"


def test_leadership_without_an_election_never_ends() -> None:
    leadership = Leadership("test", 1)

    leadership.check()
    assert leadership.remaining == math.inf
    assert not leadership.lost


def test_clock_counts_suspended_time_where_there_is_such_a_clock() -> None:
    number = getattr(time, "CLOCK_BOOTTIME", None)
    reference = time.monotonic() if number is None else time.clock_gettime(number)

    assert 0 <= boot_time() - reference < 60


async def test_guard_refuses_every_write_after_the_end(
    client: Client, api: ApiServer, leadership: Leadership, clock: Clock
) -> None:
    client.add_write_hook(LeadershipGuard(leadership))
    await client.create(settings("a"))
    clock.now = 120.0
    sent = len(api.requests)

    with pytest.raises(
        LeadershipLostError,
        match=r"create v1/configmaps default/b was not sent: a is not the leader of default/web",
    ):
        await client.create(settings("b"))
    with pytest.raises(LeadershipLostError):
        await client.patch(ConfigMap, "a", {"data": {"x": "y"}}, namespace="default")
    with pytest.raises(LeadershipLostError):
        await client.delete(ConfigMap, "a", namespace="default")
    with pytest.raises(LeadershipLostError):
        await client.delete_collection(ConfigMap, namespace="default")
    assert len(api.requests) == sent
    assert (await client.get(ConfigMap, "a", namespace="default")).name == "a"


async def test_guard_refuses_to_send_a_write_again_after_the_end(
    client: Client, api: ApiServer, leadership: Leadership, clock: Clock
) -> None:
    """The server asked to come back later, and the leadership ended meanwhile."""

    def end_of_term(_call: object) -> bool:
        clock.now = 120.0
        return True

    busy = faults.status(429, "TooManyRequests", "busy", retry_after=0)
    api.faults.inject(busy, verb="create", resource="configmaps", when=end_of_term)
    client.add_write_hook(LeadershipGuard(leadership))

    with pytest.raises(LeadershipLostError, match="was not sent"):
        await client.create(settings("a"))
    assert api.requests.count(verb="create", resource="configmaps") == 1


async def test_guard_allows_writes_to_the_lease_of_the_election_only(
    client: Client, leadership: Leadership, clock: Clock
) -> None:
    client.add_write_hook(LeadershipGuard(leadership))
    clock.now = 120.0

    await client.create(Lease(metadata=ObjectMeta(name="web", namespace="default")))
    with pytest.raises(LeadershipLostError):
        await client.create(Lease(metadata=ObjectMeta(name="other", namespace="default")))


def test_guard_takes_a_leadership() -> None:
    with pytest.raises(ConfigError, match=r"LeadershipGuard takes the Leadership .*, not None"):
        LeadershipGuard(None)  # type: ignore[arg-type]
