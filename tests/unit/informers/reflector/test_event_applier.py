"""Events of a watch, applied: servers that replay, unreadable objects, stores that fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from kinform._runtime import Demand
from kinform.client import EventType, Frame
from kinform.client._frames import FrameDecoder
from kinform.errors import ExpiredError, TransportError
from kinform.informers import DeletedObject, Delta, Phase, Reflector, Store, StoreTarget
from kinform.informers.reflector._admission import Admission
from kinform.informers.reflector._target import TargetFailedError
from kinform.objects import JSON, Unstructured
from kinform.testing import virtual_time
from tests.support.answers import pod, pod_list, status
from tests.support.held_source import HeldSource, added
from tests.support.scripted_source import STAY, ScriptedSource, bookmark, contents, reflecting


def listed(*items: Any, rv: str = "10") -> ScriptedSource:
    return ScriptedSource().lists(pod_list(*items, rv=rv))


def poison(name: str, rv: str = "11") -> dict[str, Any]:
    bad = pod(name, rv=rv)
    bad["metadata"]["labels"] = ["no", "labels"]
    return bad


class Told(Store[Unstructured]):
    """A store that remembers what it was told, in order."""

    def __init__(self) -> None:
        super().__init__(Unstructured)
        self.calls: list[str] = []

    def add(self, obj: Unstructured) -> None:
        self.calls.append(f"put {obj.name} {obj.resource_version}")
        super().add(obj)

    def delete(self, obj: Any) -> None:
        self.calls.append(f"delete {obj.name}")
        super().delete(obj)


# -- servers that replay ---------------------------------------------------------------------------


@virtual_time
async def test_a_server_that_replays_all_objects_is_listed_instead() -> None:
    script = listed(pod("a", rv="3"), pod("b", rv="10")).watches(
        [10.0, bookmark("12")],
        [[("ADDED", pod("a", rv="3")), ("ADDED", pod("c", rv="12"))], STAY],
        [STAY],
    )
    script.lists(pod_list(pod("a", rv="3"), pod("c", rv="12"), rv="12"))
    store = Told()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(20)
        assert contents(store) == {"a": "3", "c": "12"}  # and b, which was deleted, is gone
        assert store.calls == []
        assert reflector.status().relists == {"replayed": 1}
    assert script.trace == ["list 0", "watch 10", "watch 12", "list 12", "watch 12"]


@virtual_time
async def test_versions_beyond_any_integer_are_compared_as_well() -> None:
    big = 10**30
    script = listed(rv=str(big)).watches(
        [("ADDED", pod("new", rv=str(big + 1))), ("ADDED", pod("old", rv="999")), STAY], [STAY]
    )
    script.lists(pod_list(rv=str(big + 2)))
    async with reflecting(script) as reflector:
        await asyncio.sleep(20)
        assert reflector.status().relists == {"replayed": 1}


@virtual_time
async def test_without_ordered_versions_a_known_uid_shows_a_replay() -> None:
    script = listed(pod("a", rv="x-a"), rv="x-1").watches(
        [("ADDED", pod("b", rv="x-b")), 10.0], [("ADDED", pod("a", rv="x-a")), STAY], [STAY]
    )
    script.lists(pod_list(pod("a", rv="x-a"), rv="x-2"))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"a": "x-a", "b": "x-b"}
        await asyncio.sleep(20)
        assert contents(store) == {"a": "x-a"}
        assert reflector.status().relists == {"replayed": 1}


@virtual_time
async def test_without_ordered_versions_a_new_uid_is_not_a_replay() -> None:
    """A queue may not have told the store of the death yet when the birth arrives."""
    reborn = pod("a", rv="x-3")
    reborn["metadata"]["uid"] = "another"
    script = listed(pod("a", rv="x-1"), rv="x-1").watches([("ADDED", reborn), STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"a": "x-3"}
        assert reflector.status().relists == {}


# -- poison ----------------------------------------------------------------------------------------


@virtual_time
async def test_an_unreadable_event_does_not_stop_the_watch_and_is_not_asked_for_again() -> None:
    script = listed(pod("a")).watches(
        [("MODIFIED", poison("a", "11")), ("ADDED", pod("b", rv="12")), 10.0],
        [("MODIFIED", poison("a", "13")), TransportError("cut")],
        [STAY],
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"a": "1", "b": "12"}
        assert reflector.quarantine["default/a"].resource_version == "11"
        await asyncio.sleep(15)
        assert reflector.status().relists == {}
        assert reflector.status().errors["DecodeError"] == 2
    assert script.trace == ["list 0", "watch 10", "watch 12", "watch 13"]


@virtual_time
async def test_an_unreadable_object_leaves_quarantine_when_it_is_well_again() -> None:
    script = listed(pod("a")).watches(
        [("MODIFIED", poison("a", "11")), 5.0, ("MODIFIED", pod("a", rv="12")), STAY]
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert list(reflector.quarantine) == ["default/a"]
        await asyncio.sleep(5)
        assert not reflector.quarantine
        assert contents(store) == {"a": "12"}


@pytest.mark.parametrize("last_words", [pod("a", rv="12"), poison("a", "12")])
@virtual_time
async def test_an_unreadable_object_leaves_quarantine_and_store_when_it_is_deleted(
    last_words: dict[str, Any],
) -> None:
    script = listed(pod("a")).watches(
        [("MODIFIED", poison("a", "11")), 5.0, ("DELETED", last_words), STAY]
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "1"}
        await asyncio.sleep(5)
        assert not reflector.quarantine
        assert contents(store) == {}


@virtual_time
@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
async def test_an_event_without_a_name_is_quarantined_and_the_watch_goes_on(kind: str) -> None:
    """18.9: one such event must not lead to a new list."""
    script = listed().watches([(kind, pod("", rv="11")), ("ADDED", pod("a", rv="12")), STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"a": "12"}
        assert list(reflector.quarantine) == ["?1"]
        assert reflector.status().errors == {"DecodeError": 1}
        assert script.trace == ["list 0", "watch 10"]


@virtual_time
async def test_a_line_that_is_not_an_event_is_quarantined_without_a_name() -> None:
    script = listed().watches(["nonsense", ("ADDED", pod("a", rv="11")), STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "11"}
        assert list(reflector.quarantine) == ["?1"]


@virtual_time
async def test_a_watch_with_only_undecodable_events_is_not_very_short() -> None:
    script = listed().watches(*[[("ADDED", poison("a", str(11 + n)))] for n in range(5)])
    async with reflecting(script) as reflector:
        await asyncio.sleep(60)
        assert reflector.status().relists == {}


@virtual_time
async def test_a_transform_that_fails_puts_one_object_away_and_its_deletion_ends_that() -> None:
    def picky(obj: Unstructured) -> None:
        if obj.name == "a":
            raise ValueError("not this one")

    script = listed(pod("a"), pod("b")).watches(
        [1.0, ("MODIFIED", pod("a", rv="11")), 1.0, ("DELETED", pod("a", rv="12")), STAY]
    )
    store = Store()
    admission = Admission(Unstructured, transform=picky, known=store.table)
    async with reflecting(script, store, admission=admission) as reflector:
        await asyncio.sleep(0.5)
        assert list(contents(store)) == ["b"]
        assert list(reflector.quarantine) == ["default/a"]
        await asyncio.sleep(1)
        assert reflector.quarantine["default/a"].resource_version == "11"
        await asyncio.sleep(1)
        assert not reflector.quarantine
        assert reflector.last_sync_resource_version == "12"


# -- stores that are anybody's ---------------------------------------------------------------------


def raising(method: str) -> Callable[..., None]:
    def fail(self: Any, *args: Any) -> None:
        raise ValueError(f"{method} is not for me")

    return fail


@pytest.mark.parametrize(
    ("method", "event"),
    [
        ("add", ("ADDED", pod("b", rv="11"))),
        ("update", ("MODIFIED", pod("a", rv="11"))),
        ("delete", ("DELETED", pod("a", rv="11"))),
        ("delete", ("DELETED", poison("a", "11"))),
    ],
    ids=["add", "update", "delete", "delete what cannot be read"],
)
@virtual_time
async def test_a_store_that_fails_on_an_event_is_given_everything_anew(
    method: str, event: Any
) -> None:
    picky = type("Picky", (Store,), {method: raising(method)})
    script = listed(pod("a")).watches([event, STAY], [STAY]).lists(pod_list(pod("z"), rv="20"))
    store = picky(Unstructured)
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert contents(store) == {"z": "1"}
        assert reflector.status().relists == {"store failed": 1}
        assert reflector.status().errors["CacheError"] == 1


def filling() -> StoreTarget[Unstructured]:
    return StoreTarget(Store(Unstructured))


class Heap(StoreTarget[Unstructured]):
    """Takes batches whole, and looks at nothing."""

    def put(self, deltas: list[Delta[Unstructured]]) -> Demand:
        return Demand.MORE


@pytest.mark.parametrize("target", [filling(), Heap(Store(Unstructured))])
@virtual_time
async def test_an_object_without_a_name_is_quarantined_whatever_the_target(
    target: StoreTarget[Unstructured],
) -> None:
    """18.9: it is not passed to the target, and nothing is listed again."""
    nameless = ("MODIFIED", pod("", rv="12"))
    script = listed(pod("a")).watches([("ADDED", pod("b", rv="11")), nameless, STAY], [STAY])
    async with reflecting(script.lists(pod_list(pod("z"), rv="20")), target) as reflector:
        await asyncio.sleep(10)
        assert reflector.status().relists == {}
        assert reflector.last_sync_resource_version == "12"
        assert list(reflector.quarantine) == ["?1"]


@virtual_time
async def test_a_bare_target_will_do() -> None:
    """Five methods, and none of what a store has beside them."""
    told: list[str] = []

    class Bare:
        def add(self, obj: Unstructured) -> None:
            told.append(f"add {obj.name}")

        def update(self, obj: Unstructured) -> None:
            told.append(f"update {obj.name}")

        def delete(self, obj: Unstructured | DeletedObject[Unstructured]) -> None:
            told.append(f"delete {obj.name}")

        def replace(self, objects: Any, resource_version: str) -> None:
            told.append(f"replace {[obj.name for obj in objects]} at {resource_version}")

        def resync(self) -> None:
            told.append("resync")

    script = listed(pod("a")).watches(
        [
            ("ADDED", pod("b", rv="11")),
            ("MODIFIED", pod("b", rv="12")),
            bookmark("13"),
            ("DELETED", poison("a", "14")),
            STAY,
        ]
    )
    async with reflecting(script, Bare(), resync_period=60):
        await asyncio.sleep(61)
    assert told == ["replace ['a'] at 10", "add b", "update b", "delete a", "resync"]


@virtual_time
async def test_the_reflector_waits_for_room_before_it_reads_on() -> None:
    gates = [asyncio.Event() for _ in range(3)]
    passing = iter(gates)

    class Full(StoreTarget[Unstructured]):
        def put(self, deltas: list[Delta[Unstructured]]) -> Demand:
            super().put(deltas)
            return Demand.STOP

        async def wait_for_capacity(self) -> None:
            await next(passing).wait()

    events = [("ADDED", pod("a", rv="11")), 0.0, ("ADDED", pod("b", rv="12")), STAY]
    script = listed(pod("first")).watches(events)
    store = Store(Unstructured)
    async with reflecting(script, Full(store)):
        for gate, held in zip(gates, (["first"], ["first", "a"], ["first", "a", "b"]), strict=True):
            await asyncio.sleep(5)
            assert list(contents(store)) == held
            gate.set()


class Roomy(StoreTarget[Unstructured]):
    """Writes down what it gets and when it is asked for capacity, which is after each batch."""

    def __init__(self) -> None:
        super().__init__(Store(Unstructured))
        self.steps: list[str] = []

    def put(self, deltas: list[Delta[Unstructured]]) -> Demand:
        self.steps.extend(f"add {delta.object.name}" for delta in deltas)
        super().put(deltas)
        return Demand.STOP

    async def wait_for_capacity(self) -> None:
        await asyncio.sleep(0)
        self.steps.append("wait_for_capacity")


class Settling(Roomy):
    """Takes batches whole, and has settled then, or not, as the test says."""

    def __init__(self, *answers: Demand) -> None:
        super().__init__()
        self._answers = iter(answers)

    def put(self, deltas: list[Delta[Unstructured]]) -> Demand:
        self.steps.append(" ".join(f"{delta.type} {delta.key}" for delta in deltas))
        return next(self._answers)


@virtual_time
async def test_a_target_that_has_not_settled_is_waited_for_after_each_batch() -> None:
    source, store = HeldSource("first"), Roomy()
    async with reflecting(source, store):
        for rv, name in enumerate("ab", start=11):
            stream = await source.awaited()
            assert stream.give(added(name, str(rv))) is Demand.STOP
        await source.awaited()
    assert store.steps == [
        "wait_for_capacity",
        "add a",
        "wait_for_capacity",
        "add b",
        "wait_for_capacity",
    ]


@virtual_time
async def test_a_target_that_has_settled_is_not_waited_for() -> None:
    source, store = HeldSource("first"), Settling(Demand.MORE, Demand.STOP, Demand.MORE)
    async with reflecting(source, store):
        stream = await source.awaited()
        assert stream.give(added("a", "11")) is Demand.MORE
        assert stream.give(added("b", "12")) is Demand.STOP
        await source.awaited()
        assert stream.give(added("c", "13")) is Demand.MORE
    assert store.steps == [
        "wait_for_capacity",
        "ADDED default/a",
        *("ADDED default/b", "wait_for_capacity"),
        "ADDED default/c",
    ]


@virtual_time
async def test_a_batch_goes_to_the_target_in_one_go_and_what_is_before_a_bookmark_before_it() -> (
    None
):
    told: list[str] = []

    class Whole(StoreTarget[Unstructured]):
        def put(self, deltas: list[Delta[Unstructured]]) -> Demand:
            told.append(", ".join(f"{delta.type} {delta.key}" for delta in deltas))
            return Demand.MORE

        def bookmark(self, resource_version: str) -> None:
            told.append(f"bookmark {resource_version}")

    def frame(type: str, obj: dict[str, Any]) -> Frame:
        return FrameDecoder(JSON).decode(msgspec.json.encode({"type": type, "object": obj}))

    source = HeldSource("first")
    async with reflecting(source, Whole(Store(Unstructured))):
        stream = await source.awaited()
        stream.give(
            frame("ADDED", pod("a", rv="11")),
            frame("MODIFIED", pod("first", rv="12")),
            frame("DELETED", pod("a", rv="13")),
            frame("BOOKMARK", pod("", rv="14")),
            frame("DELETED", poison("first", "15")),
            frame("ADDED", pod("b", rv="16")),
        )
        await asyncio.sleep(1)
    assert told[0] == "ADDED default/a, UPDATED default/first, DELETED default/a"
    assert told[1:] == [
        "bookmark 14",
        "DELETED default/first",
        "bookmark 15",
        "ADDED default/b",
    ]


@virtual_time
async def test_a_target_that_never_wants_to_hold_it_back_is_never_waited_for() -> None:
    source, store = HeldSource("first"), Store(Unstructured)
    async with reflecting(source, store):
        stream = await source.awaited()
        for rv, name in enumerate("abc", start=11):
            assert stream.give(added(name, str(rv))) is Demand.MORE
            assert contents(store)[name] == str(rv)


@pytest.mark.parametrize(
    ("store", "told"),
    [(Roomy(), "add a"), (Settling(Demand.MORE), "ADDED default/a")],
    ids=["one by one", "in one go"],
)
@virtual_time
async def test_what_came_before_a_refusal_in_one_batch_is_made_room_for(
    store: Roomy, told: str
) -> None:
    source = HeldSource("first")
    gone = Frame(EventType.ERROR, error=ExpiredError("too old", code=410, reason="Expired"))
    async with reflecting(source, store) as reflector:
        stream = await source.awaited()
        source.version = "12"
        stream.give(added("a", "11"), gone)
        await source.awaited()
        assert source.opened == 2
        assert reflector.status().relists == {"expired": 1}
    assert store.steps == ["wait_for_capacity", told, "wait_for_capacity", "wait_for_capacity"]


@virtual_time
async def test_a_target_can_end_its_reflector_where_a_batch_arrives() -> None:
    class Broken(Roomy):
        def put(self, deltas: list[Delta[Unstructured]]) -> Demand:
            raise TargetFailedError from ValueError("no more")

    source, store = HeldSource("first"), Broken()
    task = asyncio.create_task(Reflector(source, store).run())
    stream = await source.awaited()
    stream.give(added("a", "11"))
    with pytest.raises(ValueError, match="no more"):
        await task
    assert source.opened == 1
    assert store.steps == ["wait_for_capacity"]


@virtual_time
async def test_a_target_can_end_its_reflector() -> None:
    class Broken(StoreTarget[Unstructured]):
        async def wait_for_capacity(self) -> None:
            raise TargetFailedError from ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        async with asyncio.timeout(5):
            await Reflector(listed(pod("a")).listwatch, Broken(Store(Unstructured))).run()


@virtual_time
async def test_a_target_can_end_its_reflector_in_a_resync_too() -> None:
    class Weary(StoreTarget[Unstructured]):
        resyncs = 0

        def resync(self) -> None:
            self.resyncs += 1

        async def wait_for_capacity(self) -> None:
            if self.resyncs:
                raise TargetFailedError from ValueError("no more")

    script, weary = listed(pod("a")).watches([STAY]), Weary(Store(Unstructured))
    with pytest.raises(ValueError, match="no more"):
        async with asyncio.timeout(90):
            await Reflector(script.listwatch, weary, resync_period=60).run()


@virtual_time
async def test_everything_queued_is_applied_before_everything_is_fetched_again() -> None:
    gate = asyncio.Event()

    class Queue(StoreTarget[Unstructured]):
        async def wait_until_empty(self) -> None:
            await gate.wait()

    script = listed()
    async with reflecting(script, Queue(Store(Unstructured))) as reflector:
        await asyncio.sleep(5)
        assert script.trace == []
        assert reflector.status().phase is Phase.NEW
        gate.set()
        await asyncio.sleep(1)
        assert script.trace == ["list 0", "watch 10"]


# -- the end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["watching", "waiting", "listing", "streaming"])
@virtual_time
async def test_it_stops_at_once_wherever_it_is_and_leaves_nothing_open(moment: str) -> None:
    script = ScriptedSource(streaming=moment == "streaming")
    if moment == "watching":
        script.lists(pod_list())
    elif moment == "waiting":
        script.lists(TransportError("refused"))
    reflector: Reflector[Unstructured] = Reflector(script.listwatch, Store())
    task = asyncio.create_task(reflector.run())
    await asyncio.sleep(0.1)
    assert reflector.status().phase == moment
    before = asyncio.get_running_loop().time()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert asyncio.get_running_loop().time() == before
    assert task.cancelled()
    assert script.open == 0
    assert reflector.status().phase is Phase.STOPPED
    assert reflector.status().retry_in is None


class Stubborn(ScriptedSource):
    """Its watches make an error of being closed, and of being cancelled."""

    async def _play(self, steps: Any) -> AsyncIterator[Any]:
        try:
            async for event in super()._play(steps):
                yield event
        finally:
            raise RuntimeError("I do not close")


@virtual_time
async def test_a_source_that_cannot_even_be_closed_does_not_end_the_reflector() -> None:
    script = Stubborn().lists(pod_list()).watches([10.0, ("ERROR", status(503))], [STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(20)
        assert reflector.status().phase is Phase.WATCHING
    assert script.trace == ["list 0", "watch 10", "watch 10"]


@virtual_time
async def test_a_source_that_makes_an_error_of_cancellation_cannot_keep_it_alive() -> None:
    script = Stubborn().lists(pod_list()).watches([STAY])
    reflector: Reflector[Unstructured] = Reflector(script.listwatch, Store())
    task = asyncio.create_task(reflector.run())
    await asyncio.sleep(1)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=5)
    task.cancel()
    assert done
    assert task.cancelled()
    assert reflector.status().phase is Phase.STOPPED
