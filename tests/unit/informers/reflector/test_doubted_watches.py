"""One informer finds its connection dead; the quiet ones of the same client resume theirs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.client import Reachability
from kinform.informers import Store, WatchFailure
from kinform.testing import virtual_time
from tests.support.answers import pod, pod_list
from tests.support.scripted_source import STAY, ScriptedSource, contents, reflecting


def event(version: int) -> tuple[str, Any]:
    return "ADDED", pod(f"p{version}", rv=str(version))


def busy_until_dead(next_watch: list[Any]) -> ScriptedSource:
    """An event each second until the 13th, then silence for ever; and what the next watch sends."""
    beats: list[Any] = []
    for version in range(11, 24):
        beats += [1.0, event(version)]
    return ScriptedSource().lists(pod_list()).watches([*beats, STAY], next_watch)


def sharing(*scripts: ScriptedSource) -> None:
    reachability = Reachability()
    for script in scripts:
        script.listwatch.reachability = reachability


@virtual_time
async def test_a_quiet_watch_is_resumed_when_a_busy_one_of_its_client_was_dead() -> None:
    busy = busy_until_dead([event(24), STAY])
    quiet = ScriptedSource().lists(pod_list()).watches([STAY], [event(25), STAY])
    sharing(busy, quiet)
    store, failures = Store[Any](), list[WatchFailure]()
    async with reflecting(busy), reflecting(quiet, store, on_watch_error=failures.append):
        await asyncio.sleep(40)
    assert quiet.trace == ["list 0", "watch 10", "watch 10"]
    assert 13 + 15 <= quiet.gaps("watch")[0] < 13 + 15 + 0.1
    assert list(contents(store)) == ["p25"]
    assert "another connection to the same server was lost" in str(failures[0].error)


@virtual_time
async def test_a_busy_watch_that_only_fell_silent_disturbs_no_other() -> None:
    busy = busy_until_dead([STAY])
    quiet = ScriptedSource().lists(pod_list()).watches([STAY])
    sharing(busy, quiet)
    async with reflecting(busy), reflecting(quiet):
        await asyncio.sleep(40)
    assert len(busy.gaps("watch")) == 1
    assert quiet.trace == ["list 0", "watch 10"]


@pytest.mark.parametrize("heard", [[14.0, event(11), STAY], [event(11), 20.0, event(12), STAY]])
@virtual_time
async def test_a_watch_that_brought_something_meanwhile_is_left_alone(heard: list[Any]) -> None:
    busy = busy_until_dead([event(24), STAY])
    alive = ScriptedSource().lists(pod_list()).watches(heard)
    sharing(busy, alive)
    async with reflecting(busy), reflecting(alive):
        await asyncio.sleep(28.5)
    assert alive.trace == ["list 0", "watch 10"]


@virtual_time
async def test_a_streamed_list_is_never_doubted() -> None:
    busy = busy_until_dead([event(24), STAY])
    streaming = ScriptedSource(streaming=True).watches([event(5), STAY])
    sharing(busy, streaming)
    async with reflecting(busy), reflecting(streaming) as reflector:
        await asyncio.sleep(29)
        assert reflector.status().errors == {}
    assert streaming.trace == ["stream newest"]
