"""A server without sockets: writes and troubles in; lists, watches and a log of the truth out.

It keeps every change it ever made, so that what an informer should have heard can be worked out
afterwards, and forgets on request what it tells its clients. Lists come in pages with a token that
expires, watches resume from a version, streamed lists end with their bookmark, and whatever can go
wrong with each of them goes wrong when a script says so.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kinform.api import ListOptions
from kinform.errors import (
    ApiError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    MethodNotAllowedError,
    NotFoundError,
    ResourceVersionTooLargeError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    TransportError,
    UnauthorizedError,
)
from kinform.informers import ListWatch
from kinform.objects import Unstructured

Event = dict[str, Any]

REFUSALS: Mapping[str, ApiError] = {
    "401": UnauthorizedError("who?", code=401, reason="Unauthorized"),
    "403": ForbiddenError("no", code=403, reason="Forbidden"),
    "404": NotFoundError("gone", code=404, reason="NotFound"),
    "405": MethodNotAllowedError("no watch", code=405, reason="MethodNotAllowed"),
    "410": ExpiredError("too old", code=410, reason="Expired"),
    "422": InvalidError("no streams", code=422, reason="Invalid"),
    "429": TooManyRequestsError("later", code=429, retry_after=3.0),
    "500": ServerError("oops", code=500, reason="InternalError"),
    "503": ServiceUnavailableError("later", code=503, reason="ServiceUnavailable"),
    "504": ResourceVersionTooLargeError("too large", code=504, reason="Timeout"),
}
ERROR_EVENTS: Mapping[str, tuple[int, str]] = {
    "410 event": (410, "Expired"),
    "410 event by its other name": (410, "Gone"),
    "500 event": (500, "InternalError"),
    "storage read error": (500, "StorageReadError"),
}

# What may happen to the next request of each kind, and to the watches that are open.
LIST_TROUBLES = (
    "401",
    "403",
    "404",
    "410",
    "429",
    "500",
    "503",
    "504",
    "broken",
    "slow",
    "no list",
)
WATCH_TROUBLES = (
    *("401", "403", "404", "405", "410", "429", "500", "503", "504", "broken"),
    *(*ERROR_EVENTS, "closed at once", "replayed"),
)
STREAM_TROUBLES = (
    *("401", "403", "404", "410", "422", "429", "500", "503", "504", "broken"),
    *("410 event", "500 event", "closed early", "broken early", "endless", "late end"),
)
OPEN_TROUBLES = ("broken", "foreign", "closed", *ERROR_EVENTS, "garbage", "silent", "bookmark")


@dataclass(frozen=True)
class Thing:
    """One version of an object. A poisoned one cannot be read by anybody."""

    namespace: str
    name: str
    uid: str
    version: int
    app: str
    written: int
    poisoned: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def wire(self) -> dict[str, Any]:
        metadata = {
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "resourceVersion": str(self.version),
            "labels": [self.app] if self.poisoned else {"app": self.app},
        }
        data = {"written": str(self.written)}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@dataclass(frozen=True)
class Question:
    """What a source asks for."""

    namespace: str | None = None
    app: str | None = None

    def matches(self, thing: Thing | None) -> bool:
        if thing is None:
            return False
        return self.namespace in (None, thing.namespace) and self.app in (None, thing.app)


@dataclass(frozen=True)
class LogEntry:
    """One write: what there was before, and what there is after it."""

    version: int
    old: Thing | None
    new: Thing | None

    def as_told(self, question: Question) -> tuple[str, Thing] | None:
        """What a watch says of it to one who asks for some objects only."""
        was, new = question.matches(self.old), self.new
        if new is not None and question.matches(new):
            return ("MODIFIED" if was else "ADDED"), new
        if was and self.old is not None:
            return "DELETED", replace(self.old, version=self.version)
        return None


class Server:
    """The truth, and how it is told. On one loop.

    Args:
        slow: Its lists take so long that the world has changed when they are complete.

    Attributes:
        lag: How many versions its cache may be behind; what is asked for is always honoured.
        hides_expiry: It closes a watch from a forgotten version instead of saying 410.
    """

    def __init__(self, *, slow: bool = False) -> None:
        self._usual = {"list": "slow", "stream": "late end"} if slow else {}
        self.version = 100
        self.oldest = 0
        self.log: list[LogEntry] = []
        self.things: dict[str, Thing] = {}
        self.lag = 0
        self.hides_expiry = False
        self._uids = 0
        self._troubles: dict[str, deque[str]] = {
            "list": deque(),
            "watch": deque(),
            "stream": deque(),
        }
        self._watches: list[_OpenWatch] = []

    # -- the truth ---------------------------------------------------------------------------

    def put(self, namespace: str, name: str, app: str, *, poisoned: bool = False) -> None:
        """Create it, or update it if it is there."""
        old = self.things.get(f"{namespace}/{name}")
        uid = old.uid if old is not None else self._new_uid()
        version = self.version + 1
        self._write(old, Thing(namespace, name, uid, version, app, version, poisoned))

    def delete(self, namespace: str, name: str) -> None:
        """Delete it, if it is there."""
        old = self.things.get(f"{namespace}/{name}")
        if old is not None:
            self._write(old, None)

    def compact(self) -> None:
        """Forget all history."""
        self.oldest = self.version

    def state(self, question: Question, version: int | None = None) -> dict[str, Thing]:
        """What there is, or was at some version; poisoned things too."""
        things = self.things
        if version is not None and version < self.version:
            things = {}
            for entry in self.log:
                if entry.version > version:
                    break
                if entry.new is not None:
                    things[entry.new.key] = entry.new
                elif entry.old is not None:
                    things.pop(entry.old.key, None)
        return {key: thing for key, thing in sorted(things.items()) if question.matches(thing)}

    def told_between(self, question: Question, after: int, until: int) -> list[tuple[str, Thing]]:
        """What a perfect watch would have said."""
        entries = (each for each in self.log if after < each.version <= until)
        told = (entry.as_told(question) for entry in entries)
        return [each for each in told if each is not None]

    def _new_uid(self) -> str:
        self._uids += 1
        return f"uid-{self._uids}"

    def _write(self, old: Thing | None, new: Thing | None) -> None:
        self.version += 1
        self.log.append(LogEntry(self.version, old, new))
        if new is not None:
            self.things[new.key] = new
        elif old is not None:
            del self.things[old.key]
        self._wake()

    # -- troubles ----------------------------------------------------------------------------

    def trouble_next(self, kind: str, trouble: str, times: int) -> None:
        """Hit the next requests: of ``list``, ``watch`` or ``stream`` (a watch that lists)."""
        self._troubles[kind].extend([trouble] * times)

    def trouble_open(self, trouble: str) -> None:
        """Hit the watches that are open."""
        for watch in self._watches:
            watch.troubles.append(trouble)
        self._wake()

    def _next_trouble(self, kind: str) -> str:
        waiting = self._troubles[kind]
        trouble = waiting.popleft() if waiting else self._usual.get(kind, "")
        if trouble in REFUSALS:
            raise REFUSALS[trouble]
        if trouble == "broken":
            raise TransportError("connection reset")
        return trouble

    def _wake(self) -> None:
        for watch in self._watches:
            watch.news.set()

    # -- what clients see --------------------------------------------------------------------

    def source(self, question: Question) -> ListWatch[Unstructured]:
        async def list_page(options: ListOptions) -> dict[str, Any]:
            return await self._page(question, options)

        async def open_watch(options: ListOptions) -> AsyncIterator[Event | list[Event]]:
            streams = bool(options.send_initial_events)
            trouble = self._next_trouble("stream" if streams else "watch")
            watch = _OpenWatch(self, question, options, trouble)
            return watch.streamed() if streams else watch.resumed()

        source = ListWatch(
            list_page, open_watch, name=question.namespace or "things", supports_streaming=True
        )
        source.namespace = question.namespace
        return source

    async def _page(self, question: Question, options: ListOptions) -> dict[str, Any]:
        trouble = self._next_trouble("list")
        if trouble == "slow":
            await asyncio.sleep(2.5)
        if trouble == "no list":
            return {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}}
        if options.continue_token:
            asked, _, after = options.continue_token.partition(" ")
            version = int(asked)
            if version < self.oldest:
                raise REFUSALS["410"]
        else:
            version, after = self.version_for(options.resource_version), ""
        things = [each for key, each in self.state(question, version).items() if key > after]
        page = things[: options.limit or None]
        token = f"{version} {page[-1].key}" if len(page) < len(things) else ""
        # A page takes a while to travel, and the world goes on meanwhile.
        await asyncio.sleep(0.01)
        metadata = {"resourceVersion": str(version), "continue": token}
        items = [thing.wire() for thing in page]
        return {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items}

    def version_for(self, asked: str) -> int:
        """The version at which a read is answered: the newest, or what the cache has."""
        if asked == "":
            return self.version
        if int(asked) > self.version:
            raise REFUSALS["504"]
        return max(int(asked), self.version - self.lag)

    def enter(self, watch: _OpenWatch) -> None:
        self._watches.append(watch)

    def leave(self, watch: _OpenWatch) -> None:
        self._watches.remove(watch)


class _OpenWatch:
    """One connection."""

    def __init__(
        self, server: Server, question: Question, options: ListOptions, trouble: str
    ) -> None:
        self._server = server
        self._question = question
        self._asked = options.resource_version
        self._lifetime = float(options.timeout_seconds or 300)
        self._trouble = trouble
        self._position = 0
        self.troubles: deque[str] = deque()
        self.news = asyncio.Event()

    async def streamed(self) -> AsyncIterator[Event | list[Event]]:
        """All there is, the end of it, and then what happens."""
        server = self._server
        self._position = server.version_for(self._asked)
        things = list(server.state(self._question, self._position).values())
        early = self._trouble in ("closed early", "broken early", "410 event", "500 event")
        for thing in things[: len(things) // 2] if early else things:
            yield _event("ADDED", thing)
        if self._trouble == "closed early":
            return
        if self._trouble == "broken early":
            raise TransportError("connection reset")
        if self._trouble in ERROR_EVENTS:
            yield _error_event(self._trouble)
            return
        if self._trouble == "endless":
            await asyncio.sleep(self._lifetime)
            return
        if self._trouble == "late end":
            await asyncio.sleep(1.5)
            for entry in self._unsent():
                yield entry
        yield _bookmark(self._position, ends_initial_events=True)
        async for event in self._follow():
            yield event

    async def resumed(self) -> AsyncIterator[Event | list[Event]]:
        """What happened since a version, and what happens."""
        server = self._server
        self._position = int(self._asked)
        if self._position < server.oldest:
            if not server.hides_expiry:
                yield _error_event("410 event")
            return
        if self._position > server.version:
            raise REFUSALS["504"]
        if self._trouble == "closed at once":
            return
        if self._trouble in ERROR_EVENTS:
            yield _error_event(self._trouble)
            return
        if self._trouble == "replayed":
            for thing in server.state(self._question, self._position).values():
                yield _event("ADDED", thing)
        async for event in self._follow():
            yield event

    async def _follow(self) -> AsyncIterator[Event | list[Event]]:
        ends_at = asyncio.get_running_loop().time() + self._lifetime
        self._server.enter(self)
        try:
            while True:
                while self.troubles:
                    trouble = self.troubles.popleft()
                    if trouble == "closed":
                        return
                    if trouble == "silent":
                        await asyncio.sleep(3600)
                    async for event in self._troubled(trouble):
                        yield event
                    if trouble in ERROR_EVENTS:
                        return
                if unsent := self._unsent():
                    yield unsent
                self.news.clear()
                async with asyncio.timeout_at(ends_at):
                    await self.news.wait()
        except TimeoutError:
            return
        finally:
            self._server.leave(self)

    async def _troubled(self, trouble: str) -> AsyncIterator[Event | list[Event]]:
        if trouble == "broken":
            raise TransportError("connection reset")
        if trouble == "foreign":
            raise ConnectionResetError("connection reset")
        if trouble in ERROR_EVENTS:
            yield _error_event(trouble)
        elif trouble == "garbage":
            yield {"type": "NONSENSE", "object": {}}
        elif trouble == "bookmark":
            # A bookmark promises that everything before it was sent, so that comes first.
            yield [*self._unsent(), _bookmark(self._position)]

    def _unsent(self) -> list[Event]:
        """Everything up to now, as one batch of bytes would bring it."""
        server = self._server
        told = server.told_between(self._question, self._position, server.version)
        self._position = server.version
        return [_event(kind, thing) for kind, thing in told]


def _event(kind: str, thing: Thing) -> Event:
    return {"type": kind, "object": thing.wire()}


def _bookmark(version: int, *, ends_initial_events: bool = False) -> Event:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if ends_initial_events:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return {"type": "BOOKMARK", "object": obj}


def _error_event(trouble: str) -> Event:
    code, reason = ERROR_EVENTS[trouble]
    status = {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure"}
    return {"type": "ERROR", "object": {**status, "code": code, "reason": reason, "message": "no"}}
