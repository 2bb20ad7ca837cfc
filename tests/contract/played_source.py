"""A script of pages and events in; a source that plays it, and what it was asked and when, out.

Nothing here touches a socket or a thread, so it runs in virtual time:

    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")],
        watches=[sends_and_ends(modified("a", "11"), After(60)), sends(added("b", "12"))],
    )
    async with running(Reflector(script.source, store)):
        await script.played()
    assert script.lists == [ListOptions(resource_version="0", limit=500)]
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from kinform.api import ListOptions
from kinform.informers import Backoff, ListWatch
from kinform.objects import Unstructured
from tests.support.answers import pod, status
from tests.support.running import Runs

Event = tuple[str, dict[str, Any]]

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_FOR_EVER = 7 * 86_400.0


@dataclass(frozen=True)
class After:
    """So many seconds of the loop's time pass before what follows."""

    seconds: float


@dataclass(frozen=True)
class Stream:
    """One watch: events, pauses, and errors to raise, in their order."""

    items: Sequence[Event | list[Event] | After | Exception]
    stays_open: bool


def sends(*items: Event | list[Event] | After | Exception) -> Stream:
    """A watch that sends this and then says nothing more."""
    return Stream(items, stays_open=True)


def sends_and_ends(*items: Event | list[Event] | After | Exception) -> Stream:
    """A watch that sends this and is then ended by the server."""
    return Stream(items, stays_open=False)


def added(name: str, rv: str, **more: Any) -> Event:
    return "ADDED", pod(name, rv=rv, **more)


def modified(name: str, rv: str, **more: Any) -> Event:
    return "MODIFIED", pod(name, rv=rv, **more)


def deleted(name: str, rv: str, **more: Any) -> Event:
    return "DELETED", pod(name, rv=rv, **more)


def bookmark(rv: str, *, initial_events_end: str | None = None) -> Event:
    """As servers send it: a kind, a version, and perhaps the annotation that ends a list."""
    metadata: dict[str, Any] = {"resourceVersion": rv, "creationTimestamp": None}
    if initial_events_end is not None:
        metadata["annotations"] = {INITIAL_EVENTS_END: initial_events_end}
    return "BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}


def list_ends(rv: str) -> Event:
    """The bookmark that completes a streamed list."""
    return bookmark(rv, initial_events_end="true")


def error(code: int, reason: str = "", message: str = "", **more: Any) -> Event:
    """A refusal inside a stream."""
    return "ERROR", status(code, reason, message, **more)


class ExactBackoff(Backoff):
    """Delays without jitter: ``base``, twice that, and so on up to ``cap``; and a record of them.

    Attributes:
        delays: The delays that were asked for.
    """

    def __init__(self, base: float, *, cap: float) -> None:
        super().__init__(base, cap=cap)
        self._exact = self._first = base
        self._last = cap
        self.delays: list[float] = []

    def next(self, *, patience: float = 1.0, at_least: float | None = None) -> float:
        delay = max(self._exact * patience, at_least or 0.0)
        self._exact = min(self._exact * 2, self._last)
        self.delays.append(delay)
        return delay

    def reset(self) -> None:
        self._exact = self._first


@dataclass(frozen=True)
class Call:
    """What was asked, and when by the loop's clock."""

    verb: str
    options: ListOptions
    at: float


class PlayedSource:
    """Each list and each watch takes the next entry of its script.

    An entry may be an exception, which is raised instead of an answer. When a script is over, a
    list is never answered, and a watch stays open and silent.

    Attributes:
        source: To give to a reflector or an informer.
        calls: Everything that was asked, in its order.
        closed: For each watch that was opened, how many times it was closed.
    """

    def __init__(
        self,
        *,
        lists: Sequence[dict[str, Any] | Exception] = (),
        watches: Sequence[Stream | Exception] = (),
        streaming: bool = False,
        name: str = "pods",
    ) -> None:
        self._lists = list(lists)
        self._watches = list(watches)
        self._played = asyncio.Event()
        self._called = asyncio.Condition()
        self.calls: list[Call] = []
        self.closed: list[int] = []
        self.source: ListWatch[Unstructured] = ListWatch(
            self._list, self._watch, name=name, supports_streaming=streaming
        )

    @property
    def lists(self) -> list[ListOptions]:
        return [call.options for call in self.calls if call.verb == "list"]

    @property
    def watches(self) -> list[ListOptions]:
        return [call.options for call in self.calls if call.verb == "watch"]

    @property
    def verbs(self) -> list[str]:
        return [call.verb for call in self.calls]

    @property
    def gaps(self) -> list[float]:
        """Seconds from each call to the next."""
        return [later - earlier for earlier, later in pairwise(call.at for call in self.calls)]

    async def played(self) -> None:
        """Return when both scripts are over, and whoever reads has taken in all of it."""
        await self._played.wait()

    async def called(self, verb: str, times: int) -> None:
        """Return when there were so many calls of a verb."""
        async with self._called:
            await self._called.wait_for(lambda: self.verbs.count(verb) >= times)

    async def _note(self, verb: str, options: ListOptions) -> None:
        self.calls.append(Call(verb, options, asyncio.get_running_loop().time()))
        async with self._called:
            self._called.notify_all()

    async def _list(self, options: ListOptions) -> object:
        await self._note("list", options)
        if not self._lists:
            await self._rest()
        answer = self._lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _watch(self, options: ListOptions) -> object:
        await self._note("watch", options)
        answer = self._watches.pop(0) if self._watches else sends()
        if isinstance(answer, Exception):
            raise answer
        return self._open(answer)

    @asynccontextmanager
    async def _open(self, stream: Stream) -> AsyncIterator[AsyncIterator[object]]:
        number = len(self.closed)
        self.closed.append(0)
        try:
            yield self._play(stream)
        finally:
            self.closed[number] += 1

    async def _play(self, stream: Stream) -> AsyncIterator[object]:
        for item in stream.items:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, After):
                await asyncio.sleep(item.seconds)
            else:
                yield item
        if stream.stays_open:
            await self._rest()

    async def _rest(self) -> None:
        """Nothing more comes. Who asks for more has taken in what came before."""
        if not self._lists and not self._watches:
            self._played.set()
        await asyncio.Event().wait()


def untimed(options: Sequence[ListOptions]) -> list[ListOptions]:
    """Without the one option that is drawn by lot; it has to be there, though."""
    assert None not in [asked.timeout_seconds for asked in options]
    return [asked.replace(timeout_seconds=None) for asked in options]


@asynccontextmanager
async def running(what: Runs, *, patience: float = _FOR_EVER) -> AsyncIterator[asyncio.Task[None]]:
    """Run it inside ``async with``, and cancel it then.

    Raises:
        TimeoutError: The body took longer than ``patience`` seconds of the loop's time.
        BaseException: What it raised, if it ended by itself.
    """
    task = asyncio.create_task(what.run())
    try:
        async with asyncio.timeout(patience):
            yield task
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()
