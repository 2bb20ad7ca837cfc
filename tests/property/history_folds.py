"""What a handler is told in; what it must believe to be there, and every broken promise, out."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kinform.informers import DeletedObject, EventStream
from kinform.objects import Unstructured


class Known(NamedTuple):
    """An object, as far as these tests care."""

    uid: str
    version: int
    app: str

    @classmethod
    def of(cls, obj: Unstructured) -> Known:
        return cls(obj.uid, int(obj.resource_version), obj.labels.get("app", ""))


class Heard(NamedTuple):
    type: str
    key: str
    version: int


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a handler listens.

    Attributes:
        app: It only lets objects with this label through.
        resyncs: It may be told of what it knows.
        pace: Seconds it takes for each event.
    """

    app: str | None = None
    resyncs: bool = False
    pace: float = 0.0


class Fold:
    """Believes what it is told, and notes what could not be true.

    Additions are of unknown keys, updates and deletions of known ones; an update starts from what
    was told last; the versions of one object never go back, and none is told twice.

    Attributes:
        is_closed: Nobody may tell it anything now.
    """

    def __init__(self, name: str, manner: Manner) -> None:
        self.name = name
        self.manner = manner
        self.believed: dict[str, Known] = {}
        self.heard: list[Heard] = []
        self.broken_promises: list[str] = []
        self.is_closed = False
        self._newest: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, obj: Unstructured) -> None:
        with self._lock:
            new = Known.of(obj)
            if obj.key in self.believed:
                self._complain(f"ADDED {obj.key} {new}, which is known: {self.believed[obj.key]}")
            if new.version <= self._newest.get(new.uid, -1):
                self._complain(f"ADDED {obj.key} {new}, after {self._newest[new.uid]}")
            self._believe("ADDED", obj.key, new)

    def update(self, old: Unstructured, new: Unstructured) -> None:
        with self._lock:
            before, after = Known.of(old), Known.of(new)
            told = self.believed.get(new.key)
            if told != before:
                self._complain(f"UPDATED {new.key} from {before}, and told was {told}")
            if before.uid != after.uid:
                self._complain(f"UPDATED {new.key} from {before} to {after}, another object")
            if after.version < before.version:
                self._complain(f"UPDATED {new.key} back from {before} to {after}")
            if after.version == before.version:
                if not self.manner.resyncs:
                    self._complain(f"UPDATED {new.key} to the same {after}")
                return
            self._believe("UPDATED", new.key, after)

    def delete(self, gone: DeletedObject[Unstructured]) -> None:
        with self._lock:
            told = self.believed.pop(gone.key, None)
            last = None if gone.object is None else Known.of(gone.object)
            if told is None:
                self._complain(f"DELETED {gone.key} {last}, which is not known")
            elif last is None or last.uid != told.uid or last.version < told.version:
                self._complain(f"DELETED {gone.key} {last}, and told was {told}")
            elif gone.final_state_unknown and last != told and not self.manner.pace:
                self._complain(f"DELETED {gone.key} unseen with {last}, and told was {told}")
            version = last.version if last else 0
            if last is not None:
                self._newest[last.uid] = max(version, self._newest.get(last.uid, 0))
            self.heard.append(Heard("DELETED", gone.key, version))

    def has_come_to(self, store: Mapping[str, Known]) -> bool:
        """Whether it believes what it should believe if the store has this."""
        app = self.manner.app
        return self.believed == {k: known for k, known in store.items() if app in (None, known.app)}

    def _believe(self, kind: str, key: str, known: Known) -> None:
        self.believed[key] = known
        self._newest[known.uid] = max(known.version, self._newest.get(known.uid, 0))
        self.heard.append(Heard(kind, key, known.version))

    def _complain(self, complaint: str) -> None:
        self.broken_promises.append(f"{self.name}: {complaint}")

    def note_call(self) -> None:
        if self.is_closed:
            self._complain("was called after it was gone, or while the informer was stopped")


class OnThread:
    """A handler of ``def`` methods."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold

    def on_add(self, obj: Unstructured, is_in_initial_list: bool) -> None:
        self._fold.note_call()
        self._fold.add(obj)

    def on_update(self, old: Unstructured, new: Unstructured) -> None:
        self._fold.note_call()
        self._fold.update(old, new)

    def on_delete(self, gone: DeletedObject[Unstructured]) -> None:
        self._fold.note_call()
        self._fold.delete(gone)


class InTask:
    """A handler of ``async def`` methods, which takes its time."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold

    async def on_add(self, obj: Unstructured, is_in_initial_list: bool) -> None:
        self._fold.note_call()
        self._fold.add(obj)
        await self._rest()

    async def on_update(self, old: Unstructured, new: Unstructured) -> None:
        self._fold.note_call()
        self._fold.update(old, new)
        await self._rest()

    async def on_delete(self, gone: DeletedObject[Unstructured]) -> None:
        self._fold.note_call()
        self._fold.delete(gone)
        await self._rest()

    async def _rest(self) -> None:
        if self._fold.manner.pace:
            await asyncio.sleep(self._fold.manner.pace)


async def fold_events(stream: EventStream[Unstructured], fold: Fold) -> None:
    """Until the stream ends."""
    async for event in stream:
        fold.note_call()
        if event.deleted is not None:
            fold.delete(event.deleted)
        elif event.old is not None and event.object is not None:
            fold.update(event.old, event.object)
        elif event.object is not None:
            fold.add(event.object)


def wait_blocking(condition: Callable[[], bool], *, timeout: float = 10.0) -> bool:
    """Whether it came true, as another thread has it; the loop and its clock stand still."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0002)
    return True
