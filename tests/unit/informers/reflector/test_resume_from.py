"""Resuming: the first request is a watch from the version of a store that was filled elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.errors import (
    ConfigError,
    ExpiredError,
    ForbiddenError,
    MethodNotAllowedError,
    ResourceVersionTooLargeError,
    ServiceUnavailableError,
    TransportError,
)
from kinform.informers import (
    DeltaFIFO,
    DeltasKind,
    Phase,
    Reflector,
    Store,
    StoreTarget,
    SyncMode,
    WatchFailure,
)
from kinform.informers.reflector import TargetFailedError
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.answers import pod, pod_list, status
from tests.support.scripted_source import (
    STAY,
    ScriptedSource,
    bookmark,
    contents,
    end_bookmark,
    reflecting,
)

GONE = ("ERROR", status(410, "Expired"))
EXPIRED = ExpiredError("too old", code=410, reason="Expired")
TOO_LARGE = ResourceVersionTooLargeError("too large", code=504)


def filled(*pods: Any, rv: str = "10") -> Store[Unstructured]:
    store = Store()
    store.replace([Unstructured(each) for each in pods], rv)
    return store


# -- the version is served ---------------------------------------------------------------------


@virtual_time
async def test_resuming_sends_a_watch_and_no_list_and_keeps_the_objects() -> None:
    script = ScriptedSource(streaming=True).watches(
        [("MODIFIED", pod("a", rv="11")), ("DELETED", pod("b", rv="12")), STAY]
    )
    store = filled(pod("a"), pod("b"), pod("c"))
    async with reflecting(script, store, resume_from="10") as reflector:
        assert reflector.last_sync_resource_version == "10"
        await asyncio.sleep(1)
        assert contents(store) == {"a": "11", "c": "1"}
        assert reflector.last_sync_resource_version == store.resource_version == "12"
        assert reflector.status().mode is SyncMode.RESUMED
        assert reflector.status().relists == {}
        assert reflector.status().list_age is None
    assert script.trace == ["watch 10"]


@virtual_time
async def test_an_idle_watch_counts_as_synced_after_a_tenth_of_a_second() -> None:
    script = ScriptedSource().watches([STAY])
    async with reflecting(script, filled(pod("a")), resume_from="10") as reflector:
        await asyncio.sleep(0.09)
        assert reflector.status().phase is Phase.WATCHING
        assert not reflector.status().synced
        assert reflector.staleness is None
        await asyncio.sleep(0.02)
        assert reflector.status().synced
        assert reflector.staleness == pytest.approx(0.11)


@virtual_time
async def test_staleness_is_unknown_until_the_missed_events_are_received() -> None:
    missed = [0.05, ("MODIFIED", pod("a", rv="11"))] * 10
    script = ScriptedSource().watches([*missed, bookmark("11"), STAY])
    async with reflecting(script, filled(pod("a")), resume_from="10") as reflector:
        await asyncio.sleep(0.45)
        assert reflector.status().synced
        assert reflector.staleness is None
        await asyncio.sleep(0.06)
        assert reflector.staleness == pytest.approx(0.01)


@virtual_time
async def test_a_lost_connection_before_it_is_resumed_is_opened_again_without_a_list() -> None:
    script = ScriptedSource().watches(
        TransportError("refused"), ServiceUnavailableError("busy", code=503), [STAY]
    )
    async with reflecting(script, filled(pod("a")), resume_from="10") as reflector:
        await asyncio.sleep(5)
        assert reflector.status().synced
    assert script.trace == ["watch 10"] * 3


@virtual_time
async def test_watches_that_end_after_each_event_still_resume() -> None:
    script = ScriptedSource().watches(
        *[[("MODIFIED", pod("a", rv=str(rv)))] for rv in range(11, 15)], [STAY]
    )
    synced_after: list[int] = []

    class Noting(StoreTarget[Unstructured]):
        def resume(self, resource_version: str) -> None:
            synced_after.append(len(script.asked))
            super().resume(resource_version)

    async with reflecting(script, Noting(filled(pod("a"))), resume_from="10"):
        await asyncio.sleep(1)
    assert script.trace == [f"watch {rv}" for rv in range(10, 15)]
    assert synced_after == [2]


@virtual_time
async def test_a_second_run_does_not_resume_again() -> None:
    script = ScriptedSource().watches([STAY], [STAY]).lists(pod_list(pod("a"), rv="20"))
    reflector = Reflector(script.listwatch, filled(pod("a")), resume_from="10")
    for _ in range(2):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await reflector.run()
    assert script.trace == ["watch 10", "list 10", "watch 20"]


# -- the version is refused --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("refusals", "asked"),
    [
        ([EXPIRED], ["watch 10", "list 10"]),
        ([[GONE]], ["watch 10", "list 10"]),
        ([ForbiddenError("no", code=403)], ["watch 10", "list 10"]),
        ([TOO_LARGE] * 2, ["watch 10", "watch 10", "list newest"]),
        ([[]] * 3, ["watch 10", "watch 10", "watch 10", "list 10"]),
    ],
    ids=["410", "410 as an event", "403", "too large", "closed at once"],
)
@virtual_time
async def test_a_refused_version_leads_to_one_list_that_replaces_the_objects(
    refusals: list[Any], asked: list[str]
) -> None:
    script = ScriptedSource().watches(*refusals, [STAY])
    script.lists(pod_list(pod("b", rv="15"), pod("d", rv="16"), rv="20"))
    store = filled(pod("a"), pod("b"))
    async with reflecting(script, store, resume_from="10") as reflector:
        await asyncio.sleep(20)
        assert contents(store) == {"b": "15", "d": "16"}
        assert reflector.status().mode is SyncMode.LIST
        assert reflector.status().relists == {}
    assert script.trace == [*asked, "watch 20"]


@virtual_time
async def test_a_refused_version_is_followed_by_a_streamed_list_at_once() -> None:
    script = ScriptedSource(streaming=True).watches(
        [GONE], [("ADDED", pod("b", rv="15")), end_bookmark("20"), STAY]
    )
    store = filled(pod("a"))
    async with reflecting(script, store, resume_from="10"):
        await asyncio.sleep(0.01)
        assert contents(store) == {"b": "15"}
    assert script.trace == ["watch 10", "stream 10"]


@virtual_time
async def test_a_refusal_in_the_first_event_is_never_reported_as_synced() -> None:
    script = ScriptedSource().watches([0.09, GONE])
    async with reflecting(script, filled(pod("a")), resume_from="10") as reflector:
        await asyncio.sleep(5)
        assert not reflector.status().synced
        assert reflector.staleness is None
        assert reflector.status().errors == {"Expired": 1}
    assert script.trace == ["watch 10", "list 10"]


@virtual_time
async def test_a_resource_without_watch_is_listed_at_once_and_then_polled() -> None:
    script = ScriptedSource().watches(MethodNotAllowedError("no", code=405))
    script.lists(pod_list(pod("b"), rv="20"))
    store = filled(pod("a"))
    async with reflecting(script, store, resume_from="10") as reflector:
        await asyncio.sleep(0.01)
        assert contents(store) == {"b": "1"}
        assert reflector.status().phase is Phase.POLLING


# -- targets -----------------------------------------------------------------------------------


@virtual_time
async def test_a_queue_is_synced_once_the_resume_is_processed() -> None:
    store = filled(pod("a"), pod("b"))
    queue = DeltaFIFO[Unstructured](known_objects=store)
    script = ScriptedSource().watches([1.0, ("MODIFIED", pod("a", rv="11")), STAY])
    async with reflecting(script, queue, resume_from="10"):
        taken = await queue.pop(lambda deltas: (deltas.kind, deltas.resource_version, [*deltas]))
        assert taken == (DeltasKind.RESUME, "10", [])
        assert queue.has_synced
        kinds = await queue.pop(lambda deltas: [delta.type.value for delta in deltas])
        assert kinds == ["UPDATED"]


@virtual_time
async def test_the_list_after_a_refused_version_finds_what_was_deleted() -> None:
    store = filled(pod("a"), pod("b"))
    queue = DeltaFIFO[Unstructured](known_objects=store)
    script = ScriptedSource().watches(EXPIRED).lists(pod_list(pod("b"), pod("c"), rv="20"))
    async with reflecting(script, queue, resume_from="10"):
        deltas = await queue.pop(lambda deltas: deltas)
    assert [(delta.type.value, delta.key) for delta in deltas] == [
        ("DELETED", "default/a"),
        ("REPLACED", "default/b"),
        ("REPLACED", "default/c"),
    ]
    assert deltas.is_in_initial_list
    assert queue.has_synced


@virtual_time
async def test_a_target_that_fails_to_resume_gets_a_list() -> None:
    class Refusing(StoreTarget[Unstructured]):
        def resume(self, resource_version: str) -> None:
            raise ValueError("not today")

    script = ScriptedSource().watches([STAY]).lists(pod_list(pod("b"), rv="20"))
    store, failures = filled(pod("a")), list[WatchFailure]()
    async with reflecting(
        script, Refusing(store), resume_from="10", on_watch_error=failures.append
    ) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"b": "1"}
        assert reflector.status().mode is SyncMode.LIST
    assert script.trace == ["watch 10", "list 10", "watch 20"]
    assert str(failures[0].error) == "pods: the store failed: not today"


@virtual_time
async def test_a_target_can_end_its_reflector_when_it_resumes() -> None:
    class Broken(StoreTarget[Unstructured]):
        def resume(self, resource_version: str) -> None:
            raise TargetFailedError from ValueError("no more")

    script = ScriptedSource().watches([STAY])
    with pytest.raises(ValueError, match="no more"):
        async with asyncio.timeout(5):
            await Reflector(script.listwatch, Broken(filled()), resume_from="10").run()
    assert script.open == 0


# -- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resume_from": "0"}, "version of the objects in the store"),
        ({"resume_from": "10", "resource_version": "10"}, "not both"),
    ],
)
def test_a_version_that_cannot_be_resumed_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Reflector(ScriptedSource().listwatch, Store(), **options)
