"""A server whose versions went back: what is suspicious, what is proof, and what is neither."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractAsyncContextManager
from itertools import pairwise
from typing import Any

import pytest

from kinform.api import GVR
from kinform.errors import ForbiddenError, ResourceVersionTooLargeError, TransportError
from kinform.informers import Reflector, ReflectorOptions, Store
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.answers import pod, pod_list
from tests.support.scripted_source import (
    STAY,
    ScriptedSource,
    bookmark,
    contents,
    end_bookmark,
)
from tests.support.scripted_source import reflecting as reflecting_usual

PODS = GVR("", "v1", "pods")
WENT_BACK = {"versions went back": 1}
REFUSED = TransportError("refused")
GHOSTS = pod_list(pod("a", rv="900"), pod("ghost", rv="890"), rv="900")
RESTORED = pod_list(pod("a", rv="100"), pod("b", rv="110"), rv="120")
# The answer to the small list that only asks for the version.
AT_120, AT_950 = pod_list(pod("a"), rv="120"), pod_list(pod("a"), rv="950")


def server(*, resource: GVR | None = PODS, **options: Any) -> ScriptedSource:
    return ScriptedSource(resource=resource, **options).lists(GHOSTS)


def reflecting(
    script: ScriptedSource, store: Store[Unstructured] | None = None, **options: Any
) -> AbstractAsyncContextManager[Reflector[Unstructured]]:
    """A reflector whose watches last for ever, unless the script ends them."""
    return reflecting_usual(
        script, store, options=ReflectorOptions(watch_timeout=100_000), **options
    )


def checks(script: ScriptedSource) -> list[float]:
    """When the version alone was asked for."""
    return [each.at for each in script.asked if each.verb == "list" and each.options.limit == 1]


def is_restored(reflector: Reflector[Unstructured], store: Store[Unstructured]) -> bool:
    return (
        contents(store) == {"a": "100", "b": "110"}
        and reflector.last_sync_resource_version == "120"
        and reflector.status().relists == WENT_BACK
    )


def has_nothing_new(reflector: Reflector[Unstructured], store: Store[Unstructured]) -> bool:
    return (
        contents(store) == {"a": "900", "ghost": "890"}
        and reflector.last_sync_resource_version == "900"
        and not reflector.status().relists
    )


# -- silence ---------------------------------------------------------------------------------------


@virtual_time
async def test_a_long_silence_is_checked_and_a_lower_version_leads_to_a_list() -> None:
    """18.8: A watch from a version of the future is silent for ever."""
    script, store = server().lists(AT_120, RESTORED), Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(299)
        assert script.trace == ["list 0", "watch 900"]
        await asyncio.sleep(200)
        assert is_restored(reflector, store)
    assert script.trace == ["list 0", "watch 900", "list newest", "list newest", "watch 120"]
    assert len(checks(script)) == 1


@virtual_time
async def test_the_log_says_from_where_to_where_the_versions_went(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """18.8: One warning, with both versions and the probable cause."""
    script = server().lists(AT_120, RESTORED)
    with caplog.at_level(logging.WARNING, "kinform.reflector"):
        async with reflecting(script):
            await asyncio.sleep(500)
    (message,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert "versions went back from 900 to 120" in message
    assert "restored from a backup" in message


@virtual_time
async def test_after_a_regression_events_of_lower_versions_are_applied() -> None:
    """18.8: The informer works as usual afterwards."""
    events = [600.0, ("ADDED", pod("c", rv="121")), ("DELETED", pod("a", rv="122"))]
    script, store = server().watches([STAY], [*events, STAY]).lists(AT_120, RESTORED), Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1200)
        assert contents(store) == {"b": "110", "c": "121"}
        assert reflector.last_sync_resource_version == "122"


@virtual_time
async def test_a_server_that_is_only_quiet_is_checked_rarely() -> None:
    """18.8: One small list in five minutes at most, and nothing follows from it."""
    script, store = server().lists(*[AT_950] * 100), Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(3600)
        assert has_nothing_new(reflector, store)
    times = checks(script)
    assert 6 <= len(times) <= 12
    assert all(after - before >= 300 for before, after in pairwise(times))


@pytest.mark.parametrize("kind", ["bookmarks", "events"])
@virtual_time
async def test_a_watch_that_sends_something_is_not_checked(kind: str) -> None:
    """18.8: Whatever arrives is newer than the start of the watch."""
    steps: list[object] = []
    for version in range(901, 931):
        rv = str(version)
        steps += [60.0, bookmark(rv) if kind == "bookmarks" else ("MODIFIED", pod("a", rv=rv))]
    script = server().watches([*steps, STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(1790)
        assert reflector.last_sync_resource_version == "929"
    assert script.trace == ["list 0", "watch 900"]


@virtual_time
async def test_silence_counts_over_several_watches() -> None:
    """18.8: A proxy that ends silent connections must not prevent the check."""
    script, store = server().watches(*[[60.0]] * 20).lists(AT_120, RESTORED), Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(600)
        assert is_restored(reflector, store)


@virtual_time
async def test_after_an_outage_a_short_silence_is_checked() -> None:
    """18.8: A server is not reachable while it is restored."""
    script = server().watches([20.0, REFUSED], REFUSED, REFUSED).lists(AT_120, RESTORED)
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(60)
        assert is_restored(reflector, store)


@virtual_time
async def test_after_a_lost_connection_alone_nothing_is_checked() -> None:
    """18.8: Connections are lost every day."""
    script = server().watches(*[[20.0, REFUSED]] * 3)
    async with reflecting(script):
        await asyncio.sleep(200)
    assert script.trace == ["list 0", *["watch 900"] * 4]


@virtual_time
async def test_after_an_outage_the_missed_events_are_enough() -> None:
    """18.8: A server that continues is not checked."""
    missed = [("MODIFIED", pod("a", rv="901")), STAY]
    script = server().watches([20.0, REFUSED], REFUSED, REFUSED, missed)
    async with reflecting(script) as reflector:
        await asyncio.sleep(200)
        assert reflector.last_sync_resource_version == "901"
    assert not checks(script)


@virtual_time
async def test_a_store_resumed_at_a_version_of_the_future_is_listed() -> None:
    """18.8: A snapshot may be newer than the backup."""
    script, store = ScriptedSource(resource=PODS).lists(AT_120, RESTORED), Store()
    async with reflecting(script, store, resume_from="900") as reflector:
        await asyncio.sleep(20)
        assert contents(store) == {"a": "100", "b": "110"}
        assert reflector.last_sync_resource_version == "120"
    assert script.trace == ["watch 900", "list newest", "list newest", "watch 120"]


@virtual_time
async def test_the_silence_of_a_custom_source_is_not_checked() -> None:
    """18.8: Its list may ignore the limit."""
    script = server(resource=None)
    async with reflecting(script):
        await asyncio.sleep(3600)
    assert not checks(script)


@pytest.mark.parametrize(
    "answer",
    [ForbiddenError("no", code=403), TransportError("lost"), pod_list(rv=""), pod_list(rv="x1")],
    ids=["forbidden", "lost", "no version", "opaque version"],
)
@virtual_time
async def test_a_check_without_a_version_proves_nothing(answer: Any) -> None:
    """18.8: The watch continues."""
    script, store = server().lists(*[answer] * 10), Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1000)
        assert has_nothing_new(reflector, store)
        assert not reflector.status().errors
    assert script.trace[:2] == ["list 0", "watch 900"]
    assert "watch" not in str(script.trace[2:])
    assert checks(script)


@virtual_time
async def test_a_source_that_hides_the_cancellation_of_a_check_does_not_run_on() -> None:
    """18.8: After the end of the watch there are no more requests."""
    script = server()
    list_once = script.listwatch.page

    async def stubborn(options: Any) -> Any:
        try:
            return await list_once(options)
        except asyncio.CancelledError:
            raise TransportError("cancelled") from None

    script.listwatch.page = stubborn  # type: ignore[method-assign]
    async with reflecting(script):
        await asyncio.sleep(500)  # the check hangs
        assert len(checks(script)) == 1
    await asyncio.sleep(3600)
    assert len(checks(script)) == 1


# -- bookmarks -------------------------------------------------------------------------------------


@virtual_time
async def test_a_lower_bookmark_is_checked_at_once() -> None:
    """18.8: Also of a custom source."""
    script = server(resource=None).watches([5.0, bookmark("120"), STAY]).lists(AT_120, RESTORED)
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(6)
        assert is_restored(reflector, store)


@virtual_time
async def test_a_lower_bookmark_of_a_lagging_replica_changes_nothing() -> None:
    """18.8: The version never goes back, and nothing is listed."""
    steps = [5.0, bookmark("899"), 5.0, ("MODIFIED", pod("ghost", rv="960")), STAY]
    script, store = server().watches(steps).lists(AT_950), Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(6)
        assert has_nothing_new(reflector, store)
        await asyncio.sleep(6)
        assert contents(store) == {"a": "900", "ghost": "960"}
        assert not reflector.status().relists
    assert script.trace == ["list 0", "watch 900", "list newest"]


@virtual_time
async def test_a_flood_of_lower_bookmarks_is_not_a_flood_of_checks() -> None:
    """18.8: Ten seconds apart, at least."""
    steps = [0.1, bookmark("899")] * 600
    script = server().watches([*steps, STAY]).lists(*[AT_950] * 100)
    async with reflecting(script):
        await asyncio.sleep(60)
    assert 2 <= len(checks(script)) <= 7


@virtual_time
async def test_a_bookmark_that_cannot_be_compared_is_taken() -> None:
    """18.8: Opaque versions have no order."""
    script = server().watches([5.0, bookmark("abc"), STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(60)
        assert reflector.last_sync_resource_version == "abc"
    assert not checks(script)


# -- lists -----------------------------------------------------------------------------------------

EXPIRED = [5.0, bookmark("901"), ("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})]


@virtual_time
async def test_a_list_older_than_requested_is_not_applied() -> None:
    """18.8: Of a lagging replica that ignores the requested version; the newest list is."""
    older, newest = pod_list(pod("a", rv="880"), rv="880"), pod_list(pod("a", rv="960"), rv="960")
    script, store = server().watches(EXPIRED, [STAY]).lists(older, newest), Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert contents(store) == {"a": "960"}
        assert reflector.status().relists == {"expired": 1}
    assert script.trace == ["list 0", "watch 900", "list 901", "list newest", "watch 960"]


@virtual_time
async def test_a_newest_list_that_is_older_than_the_store_is_proof() -> None:
    """18.8: It is listed once more, since known versions may be other states now."""
    too_large = ResourceVersionTooLargeError("too large", code=504, reason="Timeout")
    script, store = server().watches(EXPIRED, [STAY]), Store()
    script.lists(too_large, RESTORED, RESTORED)
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert is_restored(reflector, store)
    assert script.trace[2:] == ["list 901", "list newest", "list newest", "watch 120"]


@virtual_time
async def test_a_watch_that_stays_too_large_ends_at_the_restored_state() -> None:
    """18.8: Aggregated servers refuse a version of the future instead of being silent."""
    too_large = ResourceVersionTooLargeError("too large", code=504, reason="Timeout")
    script, store = server().watches([5.0], too_large, too_large, [STAY]), Store()
    script.lists(RESTORED, RESTORED)
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(60)
        assert is_restored(reflector, store)


@virtual_time
async def test_a_streamed_list_that_is_older_than_the_store_is_streamed_once_more() -> None:
    """18.8: Streams are no other lists."""
    first = [("ADDED", pod("a", rv="900")), ("ADDED", pod("ghost", rv="890")), end_bookmark("900")]
    restored = [("ADDED", pod("a", rv="100")), ("ADDED", pod("b", rv="110")), end_bookmark("120")]
    script, store = ScriptedSource(resource=PODS, streaming=True), Store()
    script.watches([*first, *EXPIRED], restored, [*restored, STAY])
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert is_restored(reflector, store)
    assert script.trace == ["stream newest", "stream 901", "stream newest"]


# -- events ----------------------------------------------------------------------------------------


@virtual_time
async def test_a_watch_that_starts_with_an_older_update_is_listed() -> None:
    """18.8: The server sends what came before the known version."""
    older = [5.0, ("MODIFIED", pod("a", rv="115")), STAY]
    too_large = ResourceVersionTooLargeError("too large", code=504, reason="Timeout")
    script, store = server().watches(older).lists(too_large, RESTORED, RESTORED), Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert is_restored(reflector, store)
        assert reflector.status().errors["WatchReplayError"] == 1


@virtual_time
async def test_a_deletion_with_the_last_version_of_its_object_is_ordinary() -> None:
    """18.8: Some sources send deletions so."""
    script, store = server().watches([5.0, ("DELETED", pod("ghost", rv="890")), STAY]), Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert contents(store) == {"a": "900"}
        assert not reflector.status().errors


@virtual_time
async def test_an_older_event_that_cannot_be_decoded_is_checked_and_moves_nothing_back() -> None:
    """18.8: Its version is known, although the object is not."""
    older = {"kind": 5, "metadata": {"name": "x", "resourceVersion": "115"}}
    script, store = server().watches([5.0, ("MODIFIED", older), STAY]).lists(AT_950), Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert has_nothing_new(reflector, store)
        assert list(reflector.quarantine) == ["x"]
    assert len(checks(script)) == 1


@virtual_time
async def test_watches_of_older_events_that_cannot_be_decoded_are_no_progress() -> None:
    """18.8: Each attempt waits longer than the one before."""
    older = {"kind": 5, "metadata": {"name": "x", "resourceVersion": "115"}}
    script = server().watches(*[[("MODIFIED", older), ("ADDED", pod("a", rv="116"))]] * 100)
    script.lists(*[GHOSTS] * 100)
    async with reflecting(script):
        await asyncio.sleep(60)
    assert len(script.trace) < 40
