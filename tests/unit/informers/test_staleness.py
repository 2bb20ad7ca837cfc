"""Staleness: the seconds since a store was last known to be current."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.errors import TransportError
from kinform.informers import ReflectorOptions, SharedIndexInformer, WatchFailure
from kinform.testing import virtual_time
from tests.contract.played_source import ExactBackoff
from tests.support.answers import pod, pod_list, status
from tests.support.scripted_source import (
    STAY,
    ScriptedSource,
    bookmark,
    end_bookmark,
    reflecting,
)

CUT = TransportError("cut")
SLOW = ReflectorOptions(reconnect_backoff=lambda: ExactBackoff(20, cap=20))


def listed(*items: Any) -> ScriptedSource:
    return ScriptedSource().lists(pod_list(*items, rv="10"))


def event(rv: int) -> tuple[str, dict[str, Any]]:
    return "MODIFIED", pod("a", rv=str(rv))


@virtual_time
async def test_nothing_is_known_before_the_first_list_and_zero_is_after_it() -> None:
    script = ScriptedSource().lists(CUT, pod_list(rv="10"))
    async with reflecting(script, options=SLOW) as reflector:
        found = [reflector.staleness]
        for seconds in (19, 1):
            await asyncio.sleep(seconds)
            found.append(reflector.staleness)
        assert found == [None, None, 0]
        assert reflector.status().staleness == 0


@virtual_time
async def test_a_streamed_list_counts_when_it_is_complete() -> None:
    script = ScriptedSource(streaming=True)
    script.watches([("ADDED", pod("a")), 5.0, end_bookmark("9"), STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(4)
        assert reflector.staleness is None
        await asyncio.sleep(3)
        assert reflector.staleness == pytest.approx(2)


@virtual_time
async def test_a_streamed_relist_does_not_count_before_it_is_complete() -> None:
    script = ScriptedSource(streaming=True)
    script.watches(
        [end_bookmark("9"), 30.0, ("ERROR", status(410, "Expired"))],
        [("ADDED", pod("a")), 5.0, CUT],
        [10.0, end_bookmark("19"), STAY],
    )
    async with reflecting(script, options=SLOW) as reflector:
        await asyncio.sleep(34)
        assert reflector.staleness == pytest.approx(4)
        await asyncio.sleep(5)
        assert reflector.staleness == pytest.approx(9)
        await asyncio.sleep(7)
        assert reflector.staleness == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("sign", [event(11), bookmark("11"), bookmark("10")])
@virtual_time
async def test_an_open_watch_counts_from_the_last_thing_that_came(sign: Any) -> None:
    script = listed(pod("a")).watches([30.0, sign, STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(29)
        assert reflector.staleness == pytest.approx(29)
        await asyncio.sleep(6)
        assert reflector.staleness == pytest.approx(5)


@virtual_time
async def test_a_lost_watch_grows_staler_until_it_is_open_and_quiet_again() -> None:
    script = listed().watches([10.0, event(11), CUT], CUT, CUT, [STAY])
    async with reflecting(script, options=SLOW) as reflector:
        await asyncio.sleep(10 + 30)
        assert reflector.staleness == pytest.approx(30, abs=0.02)
        await asyncio.sleep(10.05)  # open, but perhaps it is still sending what was missed
        assert script.trace[-1] == "watch 11"
        assert reflector.staleness == pytest.approx(40, abs=0.1)
        await asyncio.sleep(1)
        assert reflector.staleness == pytest.approx(1, abs=0.1)


@virtual_time
async def test_events_of_a_watch_that_catches_up_do_not_make_it_current() -> None:
    missed = [step for rv in range(12, 22) for step in (event(rv), 0.09)]
    script = listed().watches([10.0, event(11), CUT], CUT, [*missed, 0.1, event(22), STAY])
    async with reflecting(script, options=SLOW) as reflector:
        await asyncio.sleep(10 + 20.5)
        assert reflector.last_sync_resource_version > "12"
        assert reflector.staleness == pytest.approx(20.5, abs=0.05)
        await asyncio.sleep(1)
        assert reflector.last_sync_resource_version == "22"
        assert reflector.staleness == pytest.approx(0.5, abs=0.2)


@virtual_time
async def test_a_bookmark_says_that_a_watch_has_caught_up() -> None:
    script = listed().watches([10.0, event(11), CUT], CUT, [event(12), bookmark("13"), STAY])
    async with reflecting(script, options=SLOW) as reflector:
        await asyncio.sleep(10 + 20.05)
        assert reflector.last_sync_resource_version == "13"
        assert reflector.staleness == pytest.approx(0.05, abs=0.03)


@virtual_time
async def test_a_watch_lost_while_it_catches_up_leaves_the_store_stale() -> None:
    script = listed().watches([10.0, event(11), CUT], [event(12), CUT], CUT, [STAY])
    told: list[WatchFailure] = []
    async with reflecting(script, options=SLOW, on_watch_error=told.append) as reflector:
        await asyncio.sleep(10 + 15)
        assert reflector.last_sync_resource_version == "12"
        assert reflector.staleness == pytest.approx(15, abs=0.05)
    assert [failure.staleness for failure in told] == pytest.approx([0, 0, 0], abs=0.05)


@virtual_time
async def test_a_failure_reports_how_stale_the_store_is() -> None:
    script = listed().watches([10.0, CUT], CUT, CUT, [STAY])
    told: list[WatchFailure] = []
    async with reflecting(script, options=SLOW, on_watch_error=told.append):
        await asyncio.sleep(60)
    assert [failure.staleness for failure in told] == pytest.approx([10, 10, 30], abs=0.05)


@virtual_time
async def test_of_several_namespaces_the_worst_counts() -> None:
    scripts = [listed().watches([50.0, bookmark("11"), STAY]), listed().watches([STAY])]
    for namespace, script in zip("ab", scripts, strict=True):
        script.listwatch.namespace = namespace
    informer = SharedIndexInformer([script.listwatch for script in scripts])
    assert informer.staleness is None
    async with informer:
        await informer.has_synced
        await asyncio.sleep(60)
        assert informer.staleness == pytest.approx(60)
        status = informer.status()
        assert status.staleness == pytest.approx(60)
        assert status.sources["a"].staleness == pytest.approx(10)


@virtual_time
async def test_nothing_is_known_while_one_namespace_has_no_list() -> None:
    scripts = [listed().watches([STAY]), ScriptedSource()]
    for namespace, script in zip("ab", scripts, strict=True):
        script.listwatch.namespace = namespace
    async with SharedIndexInformer([script.listwatch for script in scripts]) as informer:
        await asyncio.sleep(5)
        assert informer.staleness is None
        assert informer.status().staleness is None
        assert not informer.is_fresh(1e9)


@virtual_time
async def test_an_informer_is_fresh_while_it_is_not_staler_than_asked() -> None:
    script = listed().watches([10.0, event(11), CUT], CUT, [STAY])
    informer = SharedIndexInformer(script.listwatch, options=SLOW)
    assert not informer.is_fresh(1e9)
    async with informer:
        await informer.has_synced
        await asyncio.sleep(10 + 15)
        assert informer.is_fresh(16)
        assert not informer.is_fresh(14)
        await asyncio.sleep(6)
        assert informer.is_fresh(2)
    assert not informer.is_fresh(1e9)
