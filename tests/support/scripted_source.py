"""A source that follows a script, without a socket: what is asked of it, and when, is recorded."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from kinform.api import GVR, ListOptions
from kinform.informers import ListWatch, Reflector, Store
from kinform.objects import Unstructured

Event = tuple[str, Mapping[str, Any]]
Steps = Sequence[object]
"""Of a watch: an event to send, or a list of them at once; seconds to wait; an error to break."""

STAY = float("inf")
"""Of a watch: stay open, and say nothing more."""


@dataclass(frozen=True)
class Asked:
    """One request of a reflector."""

    verb: str
    at: float
    options: ListOptions

    def __str__(self) -> str:
        return f"{self.verb} {self.options.resource_version or 'newest'}"


class ScriptedSource:
    """Each list and each watch takes the next answer of its script.

    An exception refuses. When a script is at its end, lists hang, and watches stay open in silence.
    """

    def __init__(self, *, streaming: bool = False, resource: GVR | None = None) -> None:
        self._lists: deque[Mapping[str, Any] | Exception] = deque()
        self._watches: deque[Steps | Exception] = deque()
        self.asked: list[Asked] = []
        self.open = 0
        self.listwatch: ListWatch[Unstructured] = ListWatch(
            self._list, self._watch, name="pods", supports_streaming=streaming
        )
        self.listwatch.resource = resource

    def lists(self, *answers: Mapping[str, Any] | Exception) -> ScriptedSource:
        self._lists.extend(answers)
        return self

    def watches(self, *answers: Steps | Exception) -> ScriptedSource:
        self._watches.extend(answers)
        return self

    @property
    def trace(self) -> list[str]:
        """What was asked, in short: ``["list 0", "watch 10"]``."""
        return [str(asked) for asked in self.asked]

    def gaps(self, verb: str = "") -> list[float]:
        """The seconds between one request and the next."""
        times = [asked.at for asked in self.asked if asked.verb.startswith(verb)]
        return [after - before for before, after in pairwise(times)]

    async def _list(self, options: ListOptions) -> Mapping[str, Any]:
        self._note("page" if options.continue_token else "list", options)
        if not self._lists:
            await asyncio.sleep(STAY_SECONDS)
        answer = self._lists.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _watch(self, options: ListOptions) -> AsyncIterator[Any]:
        self._note("stream" if options.send_initial_events else "watch", options)
        answer = self._watches.popleft() if self._watches else [STAY]
        if isinstance(answer, Exception):
            raise answer
        return self._play(answer)

    async def _play(self, steps: Steps) -> AsyncIterator[Any]:
        self.open += 1
        try:
            for step in steps:
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, int | float):
                    await asyncio.sleep(min(step, STAY_SECONDS))
                else:
                    yield step
        finally:
            self.open -= 1

    def _note(self, verb: str, options: ListOptions) -> None:
        self.asked.append(Asked(verb, asyncio.get_running_loop().time(), options))


# Virtual time has room for this, and a test that waits so long fails.
STAY_SECONDS = 1e6


def bookmark(rv: str) -> Event:
    return "BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": rv}}


def end_bookmark(rv: str) -> Event:
    """The one that says that a streamed list is complete."""
    annotations = {"k8s.io/initial-events-end": "true"}
    metadata = {"resourceVersion": rv, "annotations": annotations}
    return "BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}


@asynccontextmanager
async def reflecting(
    script: ScriptedSource | ListWatch[Unstructured], store: Any = None, **options: Any
) -> AsyncIterator[Reflector[Unstructured]]:
    """A reflector of the script that runs inside ``async with``."""
    source = script.listwatch if isinstance(script, ScriptedSource) else script
    reflector = Reflector(source, Store() if store is None else store, **options)
    task = asyncio.create_task(reflector.run())
    try:
        yield reflector
        assert not task.done(), "a reflector runs until it is cancelled"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def contents(store: Store[Unstructured]) -> dict[str, str]:
    """Names and versions."""
    return {obj.name: obj.resource_version for obj in store.list()}
