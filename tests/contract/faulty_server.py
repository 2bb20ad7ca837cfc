"""A server in memory whose every answer fails as told, with what it brought and when it ended.

It keeps its objects and a log of their changes, so a reflector can be checked against it:

    server = FaultyServer([REFUSED, Reset(events=2), Busy(5.0)])
    async with running(Reflector(server.source, store)):
        await server.is_calm()
    assert server.delays == [...]
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

from kinform.api import ListOptions
from kinform.errors import (
    ExpiredError,
    TooManyRequestsError,
    TransportError,
    TruncatedResponseError,
)
from kinform.informers import ListWatch
from kinform.objects import Unstructured
from tests.contract.played_source import Event, list_ends
from tests.support.answers import pod, pod_list

_OBJECTS = 3


@dataclass(frozen=True)
class Fault:
    """What becomes of one attempt.

    Attributes:
        events: How many changes happen while a watch is open, before it ends; for a list,
            whether a page comes before it fails.
        idle: Seconds that a watch is open and quiet at first.
    """

    events: int = 0
    idle: float = 0.0


class Refused(Fault):
    """No connection. Something changes meanwhile."""


class Reset(Fault):
    """The connection is lost: of a stream after its objects, if ``events``."""


class Truncated(Fault):
    """The same; an answer to a list breaks off in its middle."""


class Close(Fault):
    """A clean end; a list succeeds."""


class Gone(Fault):
    """A 410."""


@dataclass(frozen=True)
class Busy(Fault):
    """A 429."""

    retry_after: float | None = None


@dataclass
class Attempt:
    """One attempt of the reflector, the pages of a list together.

    Attributes:
        verb: ``list``, ``stream`` or ``watch``.
        fault: How it was to end; ``None`` if nothing was wrong.
        progressed: Whether it brought something new.
        completed_list: Whether a whole list came of it.
        began: When it was asked for.
        ended: When it ended; ``None`` while it has not.
    """

    verb: str
    fault: Fault | None
    began: float
    progressed: bool = False
    completed_list: bool = False
    ended: float | None = None


class FaultyServer:
    """Each attempt takes the next fault; when there are no more, all is well.

    Attributes:
        attempts: What was asked, in its order.
    """

    def __init__(self, faults: Iterable[Fault], *, streaming: bool = False) -> None:
        self._faults = deque(faults)
        self._version = 10
        self._objects = {f"o{number}": pod(f"o{number}") for number in range(_OBJECTS)}
        self._log: list[tuple[int, Event]] = []
        self._list: Attempt | None = None
        self._pages = 0
        self._calm = asyncio.Event()
        self.attempts: list[Attempt] = []
        self.source: ListWatch[Unstructured] = ListWatch(
            self._page, self._watch, name="pods", supports_streaming=streaming
        )

    @property
    def contents(self) -> dict[str, str]:
        """Names and versions."""
        found = (each["metadata"] for each in self._objects.values())
        return {metadata["name"]: metadata["resourceVersion"] for metadata in found}

    @property
    def delays(self) -> list[float]:
        """Seconds from the end of each attempt to the next one."""
        pairs = zip(self.attempts, self.attempts[1:], strict=False)
        return [
            later.began - earlier.ended for earlier, later in pairs if earlier.ended is not None
        ]

    async def is_calm(self) -> None:
        """Return when no more faults are left and a watch is open."""
        await self._calm.wait()

    def change(self) -> None:
        self._version += 1
        name = f"o{self._version % _OBJECTS}"
        self._objects[name] = pod(name, rv=str(self._version))
        self._log.append((self._version, ("MODIFIED", self._objects[name])))

    async def _page(self, options: ListOptions) -> dict[str, Any]:
        attempt = self._list
        if attempt is None or attempt.ended is not None:
            attempt = self._list = self._begin("list")
            fault = attempt.fault
            if isinstance(fault, Reset | Truncated) and fault.events:
                attempt.progressed = True
                self._pages += 1
                first = next(iter(self._objects.values()))
                version = _listed_version(options) or self._version
                token = f"{version}-{self._pages}"
                return pod_list(first, rv=str(version), continue_token=token)
        if attempt.fault is None or isinstance(attempt.fault, Close):
            return self._complete(attempt, _listed_version(options))
        self._end(attempt)
        raise self._refusal(attempt.fault)

    def _complete(self, attempt: Attempt, version: int | None) -> dict[str, Any]:
        attempt.progressed = attempt.completed_list = True
        self._end(attempt)
        return pod_list(*self._objects.values(), rv=str(version or self._version))

    async def _watch(self, options: ListOptions) -> AsyncIterator[Any]:
        attempt = self._begin("stream" if options.send_initial_events else "watch")
        if isinstance(attempt.fault, Refused) or (
            isinstance(attempt.fault, Busy | Gone) and not attempt.fault.events
        ):
            self._end(attempt)
            raise self._refusal(attempt.fault)
        return self._play(attempt, options)

    async def _play(self, attempt: Attempt, options: ListOptions) -> AsyncIterator[Any]:
        fault = attempt.fault or Close()
        try:
            if fault.idle:
                try:
                    await asyncio.sleep(fault.idle)
                finally:  # the reflector may end a silent watch before that
                    lasted = asyncio.get_running_loop().time() - attempt.began
                    attempt.progressed = attempt.verb == "watch" and lasted >= 1
            if attempt.verb == "stream":
                if attempt.fault is None or fault.events:
                    attempt.progressed = True
                    yield [("ADDED", each) for each in self._objects.values()]
                if attempt.fault is None:
                    yield list_ends(str(self._version))
            else:
                for _ in range(fault.events):
                    self.change()
                known = int(options.resource_version)
                missed = [event for version, event in self._log if version > known]
                if missed:
                    attempt.progressed = True
                    yield missed
            if attempt.fault is None:
                self._calm.set()
                await asyncio.Event().wait()
            if not isinstance(fault, Close):
                raise self._refusal(fault)
        finally:
            self._end(attempt)

    def _refusal(self, fault: Fault) -> Exception:
        if isinstance(fault, Busy):
            return TooManyRequestsError("busy", code=429, retry_after=fault.retry_after)
        if isinstance(fault, Gone):
            return ExpiredError("too old", code=410, reason="Expired")
        if isinstance(fault, Refused):
            self.change()
            return TransportError("connection refused")
        if isinstance(fault, Truncated):
            return TruncatedResponseError("the answer broke off")
        return TransportError("reset by peer")

    def _begin(self, verb: str) -> Attempt:
        fault = self._faults.popleft() if self._faults else None
        attempt = Attempt(verb, fault, asyncio.get_running_loop().time())
        self.attempts.append(attempt)
        return attempt

    def _end(self, attempt: Attempt) -> None:
        if attempt.ended is None:
            attempt.ended = asyncio.get_running_loop().time()


def _listed_version(options: ListOptions) -> int | None:
    """The version that the pages of a list share; their token holds it."""
    token = options.continue_token
    return int(token.partition("-")[0]) if token else None
