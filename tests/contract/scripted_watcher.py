"""A client whose watches are played from a script, for the contract of the resuming watch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from kinform.client import EventType, WatchEvent
from kinform.objects import Unstructured

Step = WatchEvent[Unstructured] | Exception | float
"""An event, an error, or a pause in seconds."""


def event(type: EventType, version: int | str, name: str = "a") -> WatchEvent[Unstructured]:
    metadata = {"name": name, "namespace": "default", "resourceVersion": str(version)}
    return WatchEvent(type, Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}))


def added(*versions: int) -> list[Step]:
    return [event(EventType.ADDED, version) for version in versions]


def bookmark(version: int) -> WatchEvent[Unstructured]:
    return event(EventType.BOOKMARK, version)


class ScriptedWatcher:
    """Plays one entry of the script for each watch; the last one stays open.

    An entry that is an error is raised when the watch is opened. Otherwise it is a list of steps,
    after which the server closes the watch.

    Attributes:
        opened: The version and the time of each watch.
        closed: The number of watches that were closed.
    """

    reachability = None

    def __init__(self, *script: Sequence[Step] | Exception) -> None:
        self._script = list(script)
        self.opened: list[tuple[str, float]] = []
        self.options: list[dict[str, Any]] = []
        self.closed = 0

    def watch(self, resource: Any, options: Any = None, **more: Any) -> _PlayedWatch:
        self.opened.append((more["resource_version"], asyncio.get_running_loop().time()))
        self.options.append(more)
        entry = self._script.pop(0) if self._script else None
        return _PlayedWatch(self, entry)

    def view(self, form: Any) -> Any:
        raise NotImplementedError

    async def page(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    @property
    def versions(self) -> list[str]:
        return [version for version, _ in self.opened]

    @property
    def gaps(self) -> list[float]:
        times = [at for _, at in self.opened]
        return [after - before for before, after in pairwise(times)]


class _PlayedWatch:
    def __init__(self, watcher: ScriptedWatcher, entry: Sequence[Step] | Exception | None) -> None:
        self._watcher = watcher
        self._error = entry if isinstance(entry, Exception) else None
        self._stays_open = entry is None
        self._steps = [] if entry is None or isinstance(entry, Exception) else list(entry)

    async def open(self) -> _PlayedWatch:
        await asyncio.sleep(0)
        if self._error is not None:
            raise self._error
        return self

    def __aiter__(self) -> _PlayedWatch:
        return self

    async def __anext__(self) -> WatchEvent[Unstructured]:
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, float):
                await asyncio.sleep(step)
            elif isinstance(step, Exception):
                raise step
            else:
                return step
        if self._stays_open:
            await asyncio.Event().wait()
        raise StopAsyncIteration

    async def close(self) -> None:
        self._watcher.closed += 1
