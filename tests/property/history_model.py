"""The plays of histories on a server without sockets, in virtual time, checked against its log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from kinform.informers import ReflectorOptions
from tests.property.histories import Question, Server, Thing
from tests.property.history_folds import Heard, Known, wait_blocking
from tests.property.history_runs import World


class ModelWorld(World):
    """On a server without sockets, in virtual time: hours pass in no time."""

    def __init__(
        self,
        questions: Sequence[Question],
        *,
        options: ReflectorOptions,
        transforms: bool,
        slow: bool = False,
    ) -> None:
        self.server = Server(slow=slow)
        sources = [self.server.source(question) for question in questions]
        super().__init__(sources, questions, options=options, transforms=transforms)
        self._settled: tuple[int, Mapping[str, int], int] | None = None
        self._rested: dict[str, Known] = {}
        self._starts = 0

    # -- steps -------------------------------------------------------------------------------

    def start(self) -> None:
        if not self.informer.is_running:
            self._starts += 1
        super().start()

    def put(self, namespace: str, name: str, app: str) -> None:
        self.server.put(namespace, name, app)

    def poison(self, namespace: str, name: str, app: str) -> None:
        self.server.put(namespace, name, app, poisoned=True)

    def poisoned_rush(
        self, namespace: str, name: str, writes: Sequence[tuple[str, bool] | None]
    ) -> None:
        """A rush of which some versions cannot be read."""
        for write in writes:
            if write is None:
                self.server.delete(namespace, name)
            else:
                app, poisoned = write
                self.server.put(namespace, name, app, poisoned=poisoned)

    def delete(self, namespace: str, name: str) -> None:
        self.server.delete(namespace, name)

    def compact(self) -> None:
        self.server.compact()

    def fall_behind(self, versions: int) -> None:
        """Answer from an old cache, which may be behind what an informer had before a stop."""
        self.server.lag = versions

    async def restart_behind(self, versions: int) -> None:
        """Stop, and come back where a cache is older than the store."""
        await self.stop()
        self.fall_behind(versions)
        self.start()

    def hide_expiry(self, hide: bool) -> None:
        self.server.hides_expiry = hide

    def trouble_next(self, kind: str, trouble: str, times: int) -> None:
        self.server.trouble_next(kind, trouble, times)

    def trouble_open(self, trouble: str) -> None:
        self.server.trouble_open(trouble)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def await_version(self, namespace: str) -> None:
        """Who waited for a version finds it in the store."""
        question = next((q for q in self.questions if q.namespace in (None, namespace)), None)
        if question is None or not self.informer.is_running:
            return
        version, asked = self.server.version, Question(namespace, question.app)
        latch = self.informer.wait_for_rv(str(version), namespace=question.namespace)
        for _ in range(200):
            if latch:
                break
            self.server.lag = 0
            self.server.trouble_open("bookmark")
            await asyncio.sleep(20)
        assert latch, f"version {version} never came: {self.informer.status()}"
        written = {
            thing.key: thing.version
            for thing in self.server.state(asked, version).values()
            if not thing.poisoned
        }
        later = {thing.key for _, thing in self.server.told_between(asked, version, 1 << 60)}
        have = self.store()
        for key in written.keys() - later:
            assert key in have, f"{key} is not there at version {version}"
            assert have[key].version == written[key]
        for key in have.keys() - written.keys() - later:
            if key.startswith(f"{namespace}/"):
                assert key in self.informer.quarantine, f"{key} is there at version {version}"

    # -- the truth ---------------------------------------------------------------------------

    def truth(self) -> tuple[dict[str, Known], set[str]]:
        things: dict[str, Thing] = {}
        for question in self.questions:
            things |= self.server.state(question)
        known = {key: Known(each.uid, each.version, each.app) for key, each in things.items()}
        return known, {key for key, thing in things.items() if thing.poisoned}

    async def settle(self) -> str:
        # A cache that is behind catches up, but not before somebody has asked it.
        await asyncio.sleep(5)
        self.server.lag = 0
        difference = await _wait_out(lambda: self.difference() or self._behind())
        if not difference:
            wait_blocking(lambda: not self.difference_of_threads())
            difference = self.difference_of_threads()
        if not difference:
            self._check_poisoned()
            self._check_log()
        return difference

    def _behind(self) -> str:
        """An object that came and went leaves no difference, but events that are yet to be told."""
        status = self.informer.status()
        if status.queue_depth:
            return f"{status.queue_depth} entries wait in the queue"
        for question in self.questions:
            told = self.server.told_between(question, 0, self.server.version)
            part = status.sources[question.namespace or ""]
            if not part.synced:
                return f"{question} has no list yet: {part}"
            if told and int(part.resource_version or 0) < told[-1][1].version:
                return f"{question} has come to {part.resource_version} of {told[-1]}: {part}"
        for listener in self.listeners:
            handler = listener.registration
            if handler is not None and not listener.on_thread and handler.stats.depth:
                return f"{listener.fold.name} has not been told everything"
        return ""

    def _check_poisoned(self) -> None:
        """What cannot be read any more is still there, in its last good state."""
        after = self._settled[0] if self._settled is not None else 0
        before, self._rested = self._rested, self.store()
        for question in self.questions:
            told = self.server.told_between(question, after, self.server.version)
            gone = {thing.key for kind, thing in told if kind == "DELETED"}
            for key, thing in self.server.state(question).items():
                if thing.poisoned and key in before and key not in gone:
                    assert key in self._rested, f"{key} looks deleted, and cannot be read"

    def _check_log(self) -> None:
        """Without a list in between, everybody heard exactly what the server's log says."""
        before, now = self._settled, self.server.version
        relists = dict(self.informer.status().relists)
        self._settled = (now, relists, self._starts)
        undisturbed = before is not None and before[1:] == (relists, self._starts)
        for listener in self.listeners:
            heard, since = listener.fold.heard, listener.checked
            listener.checked = len(heard)
            if before is None or not undisturbed or since is None or not listener.hears_everything:
                continue
            for question in self.questions:
                self._check_segment(question, heard[since:], before[0], now)

    def _check_segment(
        self, question: Question, heard: Sequence[Heard], after: int, until: int
    ) -> None:
        told = self.server.told_between(question, after, until)
        was_poisoned = any(thing.poisoned for thing in self.server.state(question, after).values())
        if was_poisoned or any(thing.poisoned for _, thing in told):
            return
        prefix = f"{question.namespace or ''}/"
        mine = [each for each in heard if question.namespace is None or each.key.startswith(prefix)]
        types = {"ADDED": "ADDED", "MODIFIED": "UPDATED", "DELETED": "DELETED"}
        expected = [(types[kind], thing.key, thing.version) for kind, thing in told]
        assert mine == expected, f"heard {mine}, and the log says {expected}"


async def _wait_out(difference: Callable[[], str]) -> str:
    """What still differs after some hours; nothing as soon as nothing does."""
    now = asyncio.get_running_loop().time
    deadline, pause = now() + 20_000, 0.01
    while (left := difference()) and now() < deadline:
        await asyncio.sleep(pause)
        pause = min(pause * 2, 30.0)
    return left
