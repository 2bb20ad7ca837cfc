"""A server in memory for informers, and handlers that write down what they are told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from kinform.api import ListOptions
from kinform.informers import (
    Backoff,
    DeletedObject,
    Latch,
    ListWatch,
    ReflectorOptions,
    SharedIndexInformer,
)
from kinform.objects import Unstructured
from tests.support.answers import pod, pod_list, status

QUICK = ReflectorOptions(
    backoff=lambda: Backoff(0.01, cap=0.05), reconnect_backoff=lambda: Backoff(0.01, cap=0.05)
)


class LoggedSource:
    """Objects, and a log of what happened to them; lists read the one, watches the other.

    Each change has the next version. All of it belongs to one event loop.

    Attributes:
        versions: The resource version that each list and each watch asked for.
        list_error: What lists raise, while it is set.
    """

    def __init__(self, *names: str) -> None:
        self.versions: list[str] = []
        self.list_error: Exception | None = None
        self._objects: dict[str, dict[str, Any]] = {}
        self._log: list[tuple[int, str, dict[str, Any]]] = []
        self._version = 0
        self._forgotten = 0
        self._watching: set[asyncio.Event] = set()
        for name in names:
            self.add(name)

    @property
    def version(self) -> str:
        return str(self._version)

    def list_watch(self, name: str = "pods") -> ListWatch[Unstructured]:
        return ListWatch(self._list, self._watch, name=name)

    # -- what happens ------------------------------------------------------------------------

    def add(self, name: str, *, missed: bool = False, uid: str = "", **more: Any) -> None:
        """A new object. A change that is ``missed`` is in no watch: only a list shows it."""
        self._put("ADDED", name, missed, uid, more)

    def update(self, name: str, *, missed: bool = False, uid: str = "", **more: Any) -> None:
        """The object with other content, or none; with another uid it is another object."""
        self._put("MODIFIED", name, missed, uid, more)

    def delete(self, name: str, *, missed: bool = False) -> None:
        self._version += 1
        gone = self._objects.pop(name)
        gone = {**gone, "metadata": {**gone["metadata"], "resourceVersion": self.version}}
        self._note("DELETED", gone, missed)

    def bookmark(self) -> None:
        """Other resources have changed: a version without an event of ours."""
        self._version += 1
        self._note("BOOKMARK", pod("", rv=self.version), False)

    def forget_history(self) -> None:
        """End all watches with 410, and refuse those that would go on from before this."""
        self._version += 1
        self._forgotten = self._version
        self._wake()

    def _put(self, kind: str, name: str, missed: bool, uid: str, more: dict[str, Any]) -> None:
        self._version += 1
        obj = pod(name, rv=self.version, **more)
        if uid:
            obj["metadata"]["uid"] = uid
        self._objects[name] = obj
        self._note(kind, obj, missed)

    def _note(self, kind: str, obj: dict[str, Any], missed: bool) -> None:
        if not missed:
            self._log.append((self._version, kind, obj))
            self._wake()

    def _wake(self) -> None:
        for watching in self._watching:
            watching.set()

    # -- what is asked -----------------------------------------------------------------------

    async def _list(self, options: ListOptions) -> dict[str, Any]:
        self.versions.append(options.resource_version)
        if self.list_error is not None:
            raise self.list_error
        return pod_list(*self._objects.values(), rv=self.version)

    async def _watch(self, options: ListOptions) -> AsyncIterator[list[dict[str, Any]]]:
        self.versions.append(options.resource_version)
        at = int(options.resource_version)
        news = asyncio.Event()
        self._watching.add(news)
        try:
            while at >= self._forgotten:
                news.clear()
                events = [(kind, obj) for version, kind, obj in self._log if version > at]
                at = self._version
                if events:
                    yield [{"type": kind, "object": obj} for kind, obj in events]
                await news.wait()
            yield [{"type": "ERROR", "object": status(410, "Expired")}]
        finally:
            self._watching.discard(news)


def informer_of(source: LoggedSource, **options: Any) -> SharedIndexInformer[Unstructured]:
    return SharedIndexInformer(source.list_watch(), **{"options": QUICK, **options})


class Notes:
    """Lines in the order they were written, from any thread, to be waited for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._lock = threading.Lock()
        self._awaited: list[tuple[Callable[[Sequence[str]], bool], Latch]] = []

    def write(self, line: str) -> None:
        with self._lock:
            self.lines.append(line)
            for condition, latch in self._awaited:
                if condition(self.lines):
                    latch.set()

    async def until(self, line: str) -> list[str]:
        """Everything, as soon as this line is there."""
        return await self._when(lambda lines: line in lines, f"{line!r}")

    async def count(self, lines: int) -> list[str]:
        """Everything, as soon as there are so many lines."""
        return await self._when(lambda written: len(written) >= lines, f"{lines} lines")

    async def _when(self, condition: Callable[[Sequence[str]], bool], what: str) -> list[str]:
        latch = Latch(what)
        with self._lock:
            self._awaited.append((condition, latch))
            if condition(self.lines):
                latch.set()
        try:
            async with asyncio.timeout(20):
                await latch
        except TimeoutError:
            raise AssertionError(f"waited for {what}, and there is {self.lines}") from None
        return list(self.lines)


class Recorder(Notes):
    """A handler on a thread: ``add a@1 initial``, ``update a@1 a@2``, ``delete a@3``.

    A deletion whose last state is unknown ends in ``?``.
    """

    def on_add(self, obj: Unstructured, is_in_initial_list: bool, /) -> None:
        self.write(f"add {at(obj)}{' initial' if is_in_initial_list else ''}")

    def on_update(self, old: Unstructured, new: Unstructured, /) -> None:
        self.write(f"update {at(old)} {at(new)}")

    def on_delete(self, deleted: DeletedObject[Unstructured], /) -> None:
        self.write(f"delete {gone(deleted)}")


class AsyncRecorder(Notes):
    """The same in a task."""

    async def on_add(self, obj: Unstructured, is_in_initial_list: bool, /) -> None:
        self.write(f"add {at(obj)}{' initial' if is_in_initial_list else ''}")

    async def on_update(self, old: Unstructured, new: Unstructured, /) -> None:
        self.write(f"update {at(old)} {at(new)}")

    async def on_delete(self, deleted: DeletedObject[Unstructured], /) -> None:
        self.write(f"delete {gone(deleted)}")


def at(obj: Unstructured) -> str:
    return f"{obj.name}@{obj.resource_version}"


def gone(deleted: DeletedObject[Unstructured]) -> str:
    state = deleted.name if deleted.object is None else at(deleted.object)
    return f"{state}?" if deleted.final_state_unknown else state
