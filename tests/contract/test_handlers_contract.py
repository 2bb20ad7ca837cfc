"""What client-go promises of handlers: coming, going, failing, deletions, filters (C-54 … C-61)."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from kinform.informers import (
    DeletedObject,
    HandlerFailure,
    Latch,
    deletion_handling_key,
    deletion_handling_object_name,
)
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.informer_sources import (
    AsyncRecorder,
    LoggedSource,
    Notes,
    Recorder,
    at,
    informer_of,
)


class Held(Notes):
    """A handler on a thread that stops in its first call until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def on_add(self, obj: Unstructured, is_in_initial_list: bool, /) -> None:
        self.write(f"begin {at(obj)}")
        assert self.go_on.wait(20)
        self.write(f"end {at(obj)}")


# -- registrations ---------------------------------------------------------------------------


async def test_one_handler_registered_twice_is_told_twice() -> None:
    """C-54: each registration is its own, and removing one leaves the other."""
    source = LoggedSource("a")
    recorder = AsyncRecorder()
    informer = informer_of(source)
    first = informer.add_event_handler(recorder)
    second = informer.add_event_handler(recorder)
    assert first != second
    async with informer:
        await recorder.count(2)
        first.remove()
        source.add("b")
        await recorder.until("add b@2")
        source.add("c")
        told = await recorder.until("add c@3")

        assert told == ["add a@1 initial", "add a@1 initial", "add b@2", "add c@3"]
        assert informer.registrations == (second,)
        assert (first.is_removed, second.is_removed) == (True, False)


async def test_removing_a_handler_again_changes_nothing() -> None:
    """C-54: also from several threads at once."""
    source = LoggedSource("a")
    recorder = AsyncRecorder()
    informer = informer_of(source)
    removed = informer.add_event_handler(Recorder())
    informer.add_event_handler(recorder)
    async with informer:
        await removed.has_synced
        await asyncio.gather(*(asyncio.to_thread(removed.remove) for _ in range(5)))
        await removed.stopped
        removed.remove()
        source.add("b")
        await recorder.until("add b@2")

    assert len(informer.registrations) == 1


async def test_a_registration_is_of_its_own_informer_alone() -> None:
    """C-54: a foreign one cannot be passed in; removing it touches no other informer."""
    sources = LoggedSource("a"), LoggedSource("a")
    recorder = AsyncRecorder()
    ours, theirs = (informer_of(source) for source in sources)
    kept = ours.add_event_handler(recorder)
    foreign = theirs.add_event_handler(recorder)
    foreign.remove()
    async with ours, theirs:
        await kept.has_synced
        await theirs.has_synced
        sources[0].add("b")
        await recorder.until("add b@2")

    assert recorder.lines == ["add a@1 initial", "add b@2"]
    assert ours.registrations == (kept,)
    assert theirs.registrations == ()


# -- coming late -----------------------------------------------------------------------------


async def test_a_late_handler_is_told_of_the_store_first_and_then_of_changes() -> None:
    """C-55: what there is counts as initial, what comes does not; no gap, nothing twice."""
    source = LoggedSource("a", "b")
    early, late = Recorder(), Recorder()
    informer = informer_of(source)
    informer.add_event_handler(early)
    async with informer:
        await informer.has_synced
        source.update("a")
        await early.until("update a@1 a@3")
        informer.add_event_handler(late)
        source.update("b")
        source.delete("a")
        source.add("c")
        told = await late.until("add c@6")

    assert sorted(told[:2]) == ["add a@3 initial", "add b@2 initial"]
    assert told[2:] == ["update b@2 b@4", "delete a@5", "add c@6"]


async def test_a_late_handler_has_synced_when_it_returned_from_what_there_was() -> None:
    """C-55: the informer had synced long before, and other handlers are not held up."""
    source = LoggedSource("a", "b")
    early, held = Recorder(), Held()
    informer = informer_of(source)
    before = informer.add_event_handler(early)
    async with informer:
        await before.has_synced
        registration = informer.add_event_handler(held, run_on="thread")
        await held.count(1)
        source.add("c")
        await early.until("add c@3")
        assert not registration.has_synced

        held.go_on.set()
        await registration.has_synced
        ended = [line for line in held.lines if line.startswith("end")]
        assert sorted(ended)[:2] == ["end a@1", "end b@2"]


async def test_a_handler_has_not_synced_before_its_informer() -> None:
    """C-55: an empty store that nobody has listed yet is not everything there is."""
    source = LoggedSource()
    source.list_error = ConnectionRefusedError("not yet")
    failed = asyncio.Event()
    informer = informer_of(source, on_watch_error=lambda failure: failed.set())
    early = informer.add_event_handler(AsyncRecorder())
    async with informer:
        await failed.wait()
        late = informer.add_event_handler(AsyncRecorder())
        assert not early.has_synced
        assert not late.has_synced

        source.list_error = None
        async with asyncio.timeout(20):
            await early.has_synced
            await late.has_synced


# -- going -----------------------------------------------------------------------------------


async def test_removing_discards_what_waits_and_lets_the_running_callback_finish() -> None:
    """C-57: removing returns at once; only ``stopped`` waits for the callback."""
    source = LoggedSource("a", "b", "c")
    held = Held()
    informer = informer_of(source)
    registration = informer.add_event_handler(held, run_on="thread")
    async with informer:
        await held.count(1)
        registration.remove()
        assert registration.is_removed
        assert not registration.stopped
        assert registration.stats.depth == 0

        held.go_on.set()
        await registration.stopped
        assert held.lines == ["begin a@1", "end a@1"]

        source.add("d")
        await informer.wait_for_rv(source.version)
    assert held.lines == ["begin a@1", "end a@1"]


async def test_other_handlers_are_told_while_one_is_being_removed() -> None:
    """C-57: removal is asynchronous; the informer goes on meanwhile."""
    source = LoggedSource("a")
    held, recorder = Held(), Recorder()
    informer = informer_of(source)
    registration = informer.add_event_handler(held, run_on="thread")
    informer.add_event_handler(recorder)
    async with informer:
        await held.count(1)
        registration.remove()
        source.add("b")
        await recorder.until("add b@2")
        assert not registration.stopped
        held.go_on.set()
        await registration.stopped


async def test_a_callback_that_fails_after_its_removal_harms_nobody() -> None:
    """C-57: its error is counted and told like any other."""
    source = LoggedSource("a")
    began, go_on = Latch(), threading.Event()
    failures: list[HandlerFailure] = []
    recorder = Recorder()

    def fail_late(obj: Unstructured) -> None:
        began.set()
        assert go_on.wait(20)
        raise ValueError("too late")

    informer = informer_of(source, on_handler_error=failures.append)
    registration = informer.add_event_handler(run_on="thread", on_add=fail_late)
    informer.add_event_handler(recorder)
    async with informer:
        await began
        registration.remove()
        go_on.set()
        await registration.stopped
        source.add("b")
        await recorder.until("add b@2")

    assert [str(failure.error) for failure in failures] == ["too late"]
    assert registration.stats.failed == 1


@pytest.mark.parametrize("is_running", [False, True], ids=["never started", "running"])
async def test_a_removal_can_be_waited_for_before_and_after_the_start(is_running: bool) -> None:
    """C-57: a handler that nobody calls has stopped when it is removed."""
    informer = informer_of(LoggedSource("a"))
    recorder = Recorder()
    registration = informer.add_event_handler(recorder)
    if is_running:
        informer.start()
        await registration.has_synced
    registration.remove()
    async with asyncio.timeout(10):
        await registration.stopped
    if not is_running:
        informer.start()
        await informer.has_synced
        assert recorder.lines == []
    informer.stop()
    await informer.stopped


async def test_a_handler_may_remove_itself() -> None:
    """C-57: it is told nothing more after the call that did it, be it a thread's or a task's."""
    source = LoggedSource("a", "b")
    notes = Notes()
    removed: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def once(obj: Unstructured) -> None:
        notes.write(f"thread {at(obj)}")
        on_thread.remove()
        loop.call_soon_threadsafe(removed.put_nowait, "thread")

    async def once_in_task(obj: Unstructured) -> None:
        notes.write(f"task {at(obj)}")
        in_task.remove()
        removed.put_nowait("task")

    informer = informer_of(source)
    on_thread = informer.add_event_handler(on_add=once)
    in_task = informer.add_event_handler(on_add=once_in_task)
    async with informer, asyncio.timeout(20):
        assert {await removed.get(), await removed.get()} == {"thread", "task"}
        await on_thread.stopped
        await in_task.stopped
        source.add("c")
        await informer.wait_for_rv(source.version)

    assert sorted(notes.lines) == ["task a@1", "thread a@1"]


# -- failing ---------------------------------------------------------------------------------


class Failing:
    """Fails on every addition."""

    def on_add(self, obj: Unstructured, is_in_initial_list: bool, /) -> None:
        raise ValueError(f"cannot bear {obj.name}")


async def test_a_handler_that_fails_is_reported_counted_and_told_the_next_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-59: its own name is in the report; it has synced all the same, and so has the informer."""
    source = LoggedSource("a", "b")
    recorder, failures = Recorder(), Notes()
    informer = informer_of(
        source, on_handler_error=lambda failure: failures.write(f"{failure.handler} {failure.key}")
    )
    failing = informer.add_event_handler(Failing(), name="moody")
    informer.add_event_handler(recorder)
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        await failing.has_synced
        assert (failing.stats.processed, failing.stats.failed) == (2, 2)
        source.add("c")
        await recorder.until("add c@3")
        reported = await failures.until("pods/moody default/c")
        late = informer.add_event_handler(Failing())
        await late.has_synced

    assert reported == [f"pods/moody default/{name}" for name in "abc"]
    assert str(failing.stats.last_error) == "cannot bear c"
    reports = [record for record in caplog.records if "moody" in record.getMessage()]
    assert [(record.name, record.levelno) for record in reports] == [
        ("kinform.dispatch", logging.ERROR)
    ] * 3


@virtual_time
async def test_a_failure_is_followed_by_no_pause() -> None:
    """C-59: client-go waits a second after each one; a hundred of them take no time here."""
    source = LoggedSource(*(f"p{number}" for number in range(100)))
    notes = Notes()

    async def fail(obj: Unstructured) -> None:
        notes.write(at(obj))
        raise ValueError("again")

    informer = informer_of(source)
    registration = informer.add_event_handler(on_add=fail)
    async with informer:
        await registration.has_synced
        took = asyncio.get_running_loop().time()

    assert len(notes.lines) == 100
    assert took < 1


# -- deletions -------------------------------------------------------------------------------


def refuse_bad_ones(obj: Unstructured) -> None:
    """A transform."""
    if obj.get("bad"):
        raise ValueError("cannot make sense of it")


async def test_every_deletion_comes_as_one_type_that_knows_its_key() -> None:
    """C-61: seen by a watch, found by a list, or told in words that nobody could read."""
    source = LoggedSource("a", "b", "c")
    deleted: asyncio.Queue[DeletedObject[Unstructured]] = asyncio.Queue()
    informer = informer_of(source, transform=refuse_bad_ones)

    async def on_delete(gone: DeletedObject[Unstructured]) -> None:
        deleted.put_nowait(gone)

    informer.add_event_handler(on_delete=on_delete)
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        source.delete("a")
        seen = await deleted.get()
        source.update("b", bad=True)
        source.delete("b")
        unreadable = await deleted.get()
        source.delete("c", missed=True)
        source.forget_history()
        found = await deleted.get()

    gone = seen, unreadable, found
    assert [each.key for each in gone] == ["default/a", "default/b", "default/c"]
    assert [each.namespace for each in gone] == ["default"] * 3
    assert [each.name for each in gone] == ["a", "b", "c"]
    assert [each.final_state_unknown for each in gone] == [False, True, True]
    assert [each.object and at(each.object) for each in gone] == ["a@4", "b@2", "c@3"]
    assert [deletion_handling_key(each) for each in gone] == [each.key for each in gone]


def test_a_deletion_without_any_state_still_has_a_name() -> None:
    """C-61: where a key is all that is left of an object."""
    gone: DeletedObject[Unstructured] = DeletedObject("default/a", None, final_state_unknown=True)

    assert (gone.namespace, gone.name) == ("default", "a")
    assert deletion_handling_key(gone) == "default/a"
    assert str(deletion_handling_object_name(gone)) == "default/a"


async def test_the_end_of_what_nobody_could_ever_read_is_told_to_nobody() -> None:
    """C-61: so a handler need not ask whether a deletion has an object."""
    source = LoggedSource()
    source.add("x", bad=True)
    recorder = Recorder()
    informer = informer_of(source, transform=refuse_bad_ones)
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        assert [*informer.quarantine] == ["default/x"]
        source.delete("x")
        source.add("end")
        assert await recorder.count(1) == ["add end@3"]
        assert [*informer.quarantine] == []


# -- filters ---------------------------------------------------------------------------------


def is_wanted(obj: Unstructured) -> bool:
    return bool(obj.get("wanted"))


async def test_crossing_a_filter_is_an_addition_or_a_deletion() -> None:
    """C-61: the addition is no initial one, the deletion has the last state that passed."""
    source = LoggedSource()
    source.add("a", wanted=True)
    source.add("b")
    recorder = Recorder()
    informer = informer_of(source)
    informer.add_event_handler(recorder, filter=is_wanted)
    async with informer:
        await informer.has_synced
        source.update("a", wanted=True)
        source.update("a")
        source.update("a")
        source.update("a", wanted=True)
        source.delete("a")
        source.delete("b")
        source.add("end", wanted=True)
        told = await recorder.until("add end@9")

    assert told == [
        "add a@1 initial",
        "update a@1 a@3",
        "delete a@3",
        "add a@6",
        "delete a@7",
        "add end@9",
    ]


async def test_a_filter_sees_deletions_that_a_list_found() -> None:
    """C-61: by the last state that is known, which is the one that was told or hidden."""
    source = LoggedSource()
    source.add("a", wanted=True)
    source.add("b")
    recorder = Recorder()
    informer = informer_of(source)
    informer.add_event_handler(recorder, filter=is_wanted)
    async with informer:
        await informer.has_synced
        source.delete("a", missed=True)
        source.delete("b", missed=True)
        source.forget_history()
        await recorder.until("delete a@1?")
        source.add("end", wanted=True)
        told = await recorder.until("add end@6")

    assert told == ["add a@1 initial", "delete a@1?", "add end@6"]
