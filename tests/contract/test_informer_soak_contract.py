"""What client-go promises of informers that everybody pulls at (C-49): a few seconds of abuse."""

from __future__ import annotations

import asyncio
import random
import threading

from kinform.informers import SharedIndexInformer
from kinform.objects import Unstructured
from tests.support.informer_sources import AsyncRecorder, LoggedSource, Recorder, informer_of

NAMES = [f"p{number}" for number in range(20)]


def churn(source: LoggedSource, dice: random.Random, there: set[str]) -> None:
    """One change, now and then one that only a list will show, or an end of all watches."""
    missed = dice.random() < 0.05
    name = dice.choice(NAMES)
    if name not in there:
        there.add(name)
        source.add(name, missed=missed)
    elif dice.random() < 0.3:
        there.remove(name)
        source.delete(name, missed=missed)
    else:
        source.update(name, missed=missed)
    if dice.random() < 0.01:
        source.forget_history()


def folded(lines: list[str]) -> dict[str, str]:
    """What is there after all that was told; fails where that makes no sense."""
    states: dict[str, str] = {}
    for line in lines:
        what, first, *more = line.split()
        name, _, version = first.rstrip("?").partition("@")
        if what == "add":
            assert name not in states, f"{line}: it was told before"
            states[name] = version
        elif what == "update":
            assert states[name] == version, f"{line}: {states[name]} was told before"
            states[name] = more[0].partition("@")[2]
            assert int(states[name]) > int(version)
        else:
            # A deletion is told, also that of an object whose addition no watch had.
            assert int(states.pop(name, "0")) <= int(version)
    return states


class Visitors(threading.Thread):
    """Comes, listens for a while and goes, over and over."""

    def __init__(
        self,
        informer: SharedIndexInformer[Unstructured],
        finished: threading.Event,
        dice: random.Random,
    ) -> None:
        super().__init__()
        self.histories: list[list[str]] = []
        self.errors: list[BaseException] = []
        self._informer = informer
        self._finished = finished
        self._dice = dice

    def run(self) -> None:
        try:
            while not self._finished.is_set():
                self._visit()
        except BaseException as error:
            self.errors.append(error)

    def _visit(self) -> None:
        recorder = Recorder() if self._dice.random() < 0.5 else AsyncRecorder()
        registration = self._informer.add_event_handler(
            recorder, resync_period=self._dice.choice([None, 1.0])
        )
        self._finished.wait(self._dice.random() * 0.02)
        if self._dice.random() < 0.8:
            assert registration.has_synced.wait(20)
        registration.remove()
        assert registration.stopped.wait(20)
        told = len(recorder.lines)
        self.histories.append(list(recorder.lines))
        self._finished.wait(self._dice.random() * 0.01)
        assert len(recorder.lines) == told, "told something after it had stopped"


async def test_handlers_come_and_go_on_many_threads_while_everything_changes() -> None:
    """C-49: every handler's story makes sense, who stays hears all of it, and nothing is left."""
    threads = set(threading.enumerate())
    dice = random.Random(49)
    source, there = LoggedSource(), set[str]()
    informer = informer_of(source)
    staying: list[Recorder | AsyncRecorder] = [Recorder(), AsyncRecorder()]
    for recorder in staying:
        informer.add_event_handler(recorder)
    finished = threading.Event()
    visitors = [Visitors(informer, finished, random.Random(number)) for number in range(8)]
    async with informer:
        await informer.has_synced
        for visitor in visitors:
            visitor.start()
        for step in range(3000):
            churn(source, dice, there)
            if step % 5 == 0:
                await asyncio.sleep(0.001)
        finished.set()
        for visitor in visitors:
            await asyncio.to_thread(visitor.join, 20)
        source.forget_history()
        source.add("end")
        for recorder in staying:
            # By a watch, or by the list after the watch was lost.
            await recorder.until(f"add end@{source.version}")
        stored = {obj.name: obj.resource_version for obj in informer.indexer.list()}

    assert [visitor.errors for visitor in visitors] == [[]] * len(visitors)
    assert stored.keys() == there | {"end"}
    assert [folded(recorder.lines) for recorder in staying] == [stored, stored]
    assert sum(len(visitor.histories) for visitor in visitors) > 50
    for visitor in visitors:
        for history in visitor.histories:
            folded([line for line in history if not is_reminder(line)])
    alive = {each for each in threading.enumerate() if "pods/" in each.name}
    assert alive - threads == set()


def is_reminder(line: str) -> bool:
    what, first, *more = line.split()
    return what == "update" and first == more[0]


async def test_objects_come_and_go_by_many_hands_until_none_is_left() -> None:
    """C-49: after all of it the store is empty, and so is what each handler was told."""
    source = LoggedSource()
    informer = informer_of(source)
    recorders: list[Recorder | AsyncRecorder] = [Recorder(), AsyncRecorder()]
    for recorder in recorders:
        informer.add_event_handler(recorder)

    async def hammer(worker: int) -> None:
        dice, mine = random.Random(worker), set[str]()
        for _ in range(200):
            name = f"w{worker}-{dice.randrange(10)}"
            if name in mine:
                mine.remove(name)
                source.delete(name, missed=dice.random() < 0.1)
            else:
                mine.add(name)
                source.add(name, missed=dice.random() < 0.1)
            if dice.random() < 0.02:
                source.forget_history()
            await asyncio.sleep(0)
        for name in mine:
            source.delete(name)

    async with informer:
        await informer.has_synced
        await asyncio.gather(*map(hammer, range(10)))
        source.forget_history()
        await informer.wait_for_rv(source.version)
        assert informer.indexer.list_keys() == []
        source.add("end")
        for recorder in recorders:
            await recorder.until(f"add end@{source.version}")

    assert [folded(recorder.lines) for recorder in recorders] == [{"end": source.version}] * 2
