"""Requests in, a bounded log of what was asked and how it was answered out.

Runs on the server's loop; may be read from any thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kinform.api import GVR
from kinform.testing._calls import CallFilter
from kinform.testing._interception import Call


@dataclass(slots=True, eq=False)
class ReceivedRequest:
    """One request that the server received. It is live: the answer is filled in as it goes out.

    Attributes:
        call: What was asked, as the server understood it; its headers are those fit to keep,
            in lower case, and its body is left out.
        time: When it came, in seconds since the epoch.
        user: Who asked; empty if the server did not find out.
        status: The answer's HTTP status, once it began.
        bytes_sent: How much of the answer's body went out so far.
        duration: Seconds from the request to the answer's end; ``None`` while it is open.
        faults: The names of the injected faults that hit it.
    """

    call: Call
    time: float
    user: str = ""
    status: int | None = None
    bytes_sent: int = 0
    duration: float | None = None
    faults: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        return self.call.method

    @property
    def path(self) -> str:
        return self.call.path

    @property
    def query(self) -> Mapping[str, str]:
        return self.call.query

    @property
    def headers(self) -> Mapping[str, str]:
        return self.call.headers

    @property
    def verb(self) -> str:
        """``list``, ``watch``, …; empty for a path that is no resource."""
        return self.call.verb

    @property
    def resource(self) -> str:
        """The plural, ``pods``; empty for a path that is no resource."""
        return "" if self.call.gvr is None else self.call.gvr.resource

    @property
    def namespace(self) -> str:
        return self.call.namespace

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def is_open(self) -> bool:
        """Whether the answer is still going out, as it is for a running watch."""
        return self.duration is None

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.query.items())
        target = f"{self.path}?{query}" if query else self.path
        return f"{self.method} {target} -> {'…' if self.status is None else self.status}"


class RequestLog:
    """What the server received, oldest first. ``ApiServer.requests`` is one of these.

    It keeps the newest ``limit`` requests.
    """

    def __init__(self, *, limit: int = 10_000) -> None:
        self._received: deque[ReceivedRequest] = deque(maxlen=limit)
        self._waiting: list[tuple[Callable[[ReceivedRequest], bool], _Found]] = []

    def __len__(self) -> int:
        return len(self._received)

    def __iter__(self) -> Iterator[ReceivedRequest]:
        # Over a copy: requests may come while somebody iterates.
        return iter(self._received.copy())

    def __getitem__(self, index: int) -> ReceivedRequest:
        return self._received[index]

    def matching(
        self,
        *,
        verb: str | None = None,
        resource: str | GVR | None = None,
        namespace: str | None = None,
        name: str | None = None,
        path: str | None = None,
        when: Callable[[Call], bool] | None = None,
    ) -> list[ReceivedRequest]:
        """Those that match all criteria; the same criteria as those of ``Faults.inject``."""
        calls = CallFilter(verb, resource, namespace, name, path, when)
        return [request for request in self if calls.matches(request.call)]

    def count(
        self,
        *,
        verb: str | None = None,
        resource: str | GVR | None = None,
        namespace: str | None = None,
        name: str | None = None,
        path: str | None = None,
        when: Callable[[Call], bool] | None = None,
    ) -> int:
        """How many match all criteria."""
        calls = CallFilter(verb, resource, namespace, name, path, when)
        return sum(calls.matches(request.call) for request in self)

    def lists(
        self, resource: str | GVR | None = None, *, namespace: str | None = None
    ) -> list[ReceivedRequest]:
        return self.matching(verb="list", resource=resource, namespace=namespace)

    def watches(
        self, resource: str | GVR | None = None, *, namespace: str | None = None
    ) -> list[ReceivedRequest]:
        return self.matching(verb="watch", resource=resource, namespace=namespace)

    def clear(self) -> None:
        """Forget what was received so far."""
        self._received.clear()

    async def wait_for(
        self, predicate: Callable[[ReceivedRequest], bool], *, timeout: float = 10.0
    ) -> ReceivedRequest:
        """The first request in the log, or to come, for which ``predicate`` is true.

        It is asked when a request comes, when its answer begins, and when it ends.

        Raises:
            TimeoutError: There was none; the message says what came instead.
        """
        for request in self:
            if predicate(request):
                return request
        found: _Found = asyncio.get_running_loop().create_future()
        waiting = (predicate, found)
        self._waiting.append(waiting)
        try:
            return await asyncio.wait_for(found, timeout)
        except TimeoutError:
            newest = "; ".join(str(request) for request in list(self)[-5:]) or "nothing"
            raise TimeoutError(
                f"no request matched within {timeout:g} s; received last: {newest}"
            ) from None
        finally:
            self._waiting.remove(waiting)

    def add(self, request: ReceivedRequest) -> None:
        self._received.append(request)
        self.changed(request)

    def changed(self, request: ReceivedRequest) -> None:
        """Tell those who wait that there is news of this request."""
        for predicate, found in self._waiting:
            if not found.done() and predicate(request):
                found.set_result(request)


_Found = asyncio.Future[ReceivedRequest]
