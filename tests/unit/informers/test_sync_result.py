"""Who has synced and why the others have not: as a mapping, as text, and as an error."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kinform.api import GVR
from kinform.errors import CacheSyncError, ForbiddenError, KinformError
from kinform.informers import Phase, SharedIndexInformer, SyncResult, SyncStatus
from kinform.informers._sync_result import wait_for_sync
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.informer_sources import LoggedSource, informer_of


def status(
    *,
    synced: bool = False,
    phase: Phase = Phase.WAITING,
    error: KinformError | None = None,
    attempts: int = 0,
) -> SyncStatus:
    return SyncStatus(synced=synced, phase=phase, error=error, attempts=attempts, waiting=12.34)


GOOD = status(synced=True, phase=Phase.WATCHING)
BAD = status(error=ForbiddenError("no secrets", code=403), attempts=7)


def test_it_is_true_if_all_have_synced() -> None:
    assert SyncResult({"v1/pods": GOOD, "v1/nodes": GOOD})
    assert not SyncResult({"v1/pods": GOOD, "v1/nodes": BAD})
    assert SyncResult({})


def test_it_is_a_mapping_by_resource() -> None:
    result = SyncResult({"v1/pods": GOOD, "apps/v1/deployments": BAD})

    assert result["v1/pods"] is result[GVR("", "v1", "pods")] is GOOD
    assert result[GVR("apps", "v1", "deployments")] is BAD
    assert dict(result) == {"v1/pods": GOOD, "apps/v1/deployments": BAD}
    assert "v1/nodes" not in result
    with pytest.raises(KeyError, match="v1/pods, apps/v1/deployments"):
        result["v1/nodes"]


def test_what_an_informer_is_limited_to_may_be_left_out_if_there_is_one() -> None:
    result = SyncResult(
        {
            "v1/pods in a, b": GOOD,
            "v1/nodes where zone=1": BAD,
            "v1/maps in a": GOOD,
            "v1/maps in b": GOOD,
        }
    )

    assert result["v1/pods"] is GOOD
    assert result[GVR("", "v1", "nodes")] is BAD
    with pytest.raises(KeyError, match="v1/maps in a, v1/maps in b"):
        result["v1/maps"]
    assert "v1/pod" not in result


def test_as_text_it_names_those_that_are_late_sorted_and_why() -> None:
    result = SyncResult({"v1/secrets": BAD, "v1/pods": GOOD, "v1/nodes": status(phase=Phase.NEW)})

    assert list(result.unsynced) == ["v1/nodes", "v1/secrets"]
    assert str(result) == (
        "v1/nodes: not started; v1/secrets: not synced for 12.3 s, waiting after 7 attempts: "
        f"{BAD.error}"
    )
    assert str(SyncResult({"v1/pods": GOOD})) == "all 1 informers have synced"
    assert repr(result).startswith("<SyncResult v1/nodes")


def test_as_an_error_it_says_the_same() -> None:
    SyncResult({"v1/pods": GOOD}).raise_for_unsynced()
    with pytest.raises(CacheSyncError, match=r"1 of 2 informers: v1/secrets: .*no secrets"):
        SyncResult({"v1/pods": GOOD, "v1/secrets": BAD}).raise_for_unsynced()


# -- waiting ---------------------------------------------------------------------------------


def informers(*sources: LoggedSource) -> dict[str, SharedIndexInformer[Unstructured]]:
    return {f"n{number}": informer_of(source) for number, source in enumerate(sources)}


@virtual_time
async def test_waiting_ends_when_all_have_synced_or_the_time_is_over() -> None:
    good, late = LoggedSource("a"), LoggedSource("b")
    late.list_error = RuntimeError("not yet")
    both = informers(good, late)
    loop = asyncio.get_running_loop()
    for informer in both.values():
        informer.start()

    before = loop.time()
    result = await wait_for_sync(both, 5)
    assert loop.time() - before == pytest.approx(5)
    assert (bool(result["n0"]), bool(result["n1"])) == (True, False)
    assert result["n1"].attempts > 0

    loop.call_later(3, lambda: setattr(late, "list_error", None))
    before = loop.time()
    assert await wait_for_sync(both, None)
    assert loop.time() - before < 4

    for informer in both.values():
        informer.stop()
        await informer.stopped


@virtual_time
async def test_no_time_is_enough_for_what_is_there_already() -> None:
    late = LoggedSource("b")
    late.list_error = RuntimeError("not yet")
    both = informers(LoggedSource("a"), late)
    async with both["n0"], both["n1"]:
        await both["n0"].has_synced
        assert list((await wait_for_sync(both, 0)).unsynced) == ["n1"]
        late.list_error = None
        await both["n1"].has_synced
        assert await wait_for_sync(both, 0)


@virtual_time
async def test_who_stops_is_not_waited_for() -> None:
    source = LoggedSource("a")
    source.list_error = RuntimeError("never")
    one = informers(source)
    async with one["n0"]:
        asyncio.get_running_loop().call_later(1, one["n0"].stop)
        result = await wait_for_sync(one, None)

    assert not result
    assert result["n0"].phase is Phase.STOPPED


@virtual_time
async def test_who_is_late_is_named_in_the_log_every_ten_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "kinform.informer")
    source = LoggedSource("a")
    source.list_error = RuntimeError("out of order")
    one = informers(source)
    async with one["n0"]:
        await wait_for_sync(one, 35)

    lines = [record.getMessage() for record in caplog.records if record.name == "kinform.informer"]
    assert len(lines) == 3
    assert all(line.startswith("waiting for caches to sync: n0: not synced") for line in lines)
    assert "out of order" in lines[0]


@virtual_time
async def test_cancelling_the_wait_leaves_nothing_behind() -> None:
    source = LoggedSource("a")
    source.list_error = RuntimeError("never")
    one = informers(source)
    async with one["n0"]:
        await asyncio.sleep(1)
        tasks = asyncio.all_tasks()
        waiting = asyncio.create_task(wait_for_sync(one, None))
        await asyncio.sleep(1)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        assert asyncio.all_tasks() - tasks == set()
