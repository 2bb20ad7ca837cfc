"""A bounded log of the requests that the server received, and of its responses.

It is written on the server's event loop and can be read from any thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Unpack

from kinform._checks import check_callable
from kinform.client import ResourceLike
from kinform.errors import ConfigError
from kinform.testing.interception import Call, CallCriteria, CallFilter
from kinform.testing.resources import ResourceRegistry


@dataclass(slots=True, eq=False)
class ReceivedRequest:
    """One request that the server received, updated while the response is sent.

    Attributes:
        call: The request as parsed by the server, with a safe subset of the headers, in lower
            case, and without the body.
        time: When the request arrived, in seconds since the epoch.
        user: The authenticated user; empty if unknown.
        status: The HTTP status of the response, once it has started.
        bytes_sent: The number of bytes of the response body sent so far.
        duration: Seconds from the request to the end of the response; ``None`` until then.
        faults: The names of the injected faults that affected the request.
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
        """``list``, ``watch``, …; empty if the path is not that of a resource."""
        return self.call.verb

    @property
    def resource(self) -> str:
        """The plural, such as ``pods``; empty if the path is not that of a resource."""
        return "" if self.call.gvr is None else self.call.gvr.resource

    @property
    def namespace(self) -> str:
        return self.call.namespace

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def is_open(self) -> bool:
        """Whether the response is still being sent, as for a running watch."""
        return self.duration is None

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.query.items())
        target = f"{self.path}?{query}" if query else self.path
        return f"{self.method} {target} -> {'…' if self.status is None else self.status}"


class RequestLog:
    """The requests that the server received, oldest first, as in ``ApiServer.requests``.

    It keeps the latest ``limit`` requests. Methods that take criteria (``CallCriteria``) raise
    ``NoMatchError`` for a resource that is neither served nor in the log, and ``ConfigError`` for
    a verb that does not exist.
    """

    def __init__(self, registry: ResourceRegistry, *, limit: int = 10_000) -> None:
        self._registry = registry
        self._received: deque[ReceivedRequest] = deque(maxlen=limit)
        self._waiting: list[tuple[Callable[[ReceivedRequest], bool], _Found]] = []

    def __len__(self) -> int:
        return len(self._received)

    def __iter__(self) -> Iterator[ReceivedRequest]:
        # A copy, because requests may arrive during the iteration.
        return iter(self._received.copy())

    def __getitem__(self, index: int) -> ReceivedRequest:
        return self._received[index]

    def matching(self, **criteria: Unpack[CallCriteria]) -> list[ReceivedRequest]:
        """Return the requests that match all criteria, which are those of ``Faults.inject``."""
        calls = self._filter(**criteria)
        return [request for request in self if calls.matches(request.call)]

    def count(self, **criteria: Unpack[CallCriteria]) -> int:
        """Return the number of requests that match all criteria."""
        calls = self._filter(**criteria)
        return sum(calls.matches(request.call) for request in self)

    def lists(
        self, resource: ResourceLike | None = None, *, namespace: str | None = None
    ) -> list[ReceivedRequest]:
        return self.matching(verb="list", resource=resource, namespace=namespace)

    def watches(
        self, resource: ResourceLike | None = None, *, namespace: str | None = None
    ) -> list[ReceivedRequest]:
        return self.matching(verb="watch", resource=resource, namespace=namespace)

    def clear(self) -> None:
        """Remove all requests from the log."""
        self._received.clear()

    async def wait_for(
        self,
        predicate: Callable[[ReceivedRequest], bool] | None = None,
        *,
        timeout: float = 10.0,
        **criteria: Unpack[CallCriteria],
    ) -> ReceivedRequest:
        """Return the first request, past or future, that matches the predicate and all criteria.

        The predicate is called when a request arrives, and when its response starts and ends.

        Raises:
            TimeoutError: No request matched; the message lists the requests that arrived instead.
            ConfigError: The predicate is not a function, or it raised an exception.
        """
        if predicate is not None:
            check_callable("the predicate of wait_for", predicate)
        calls = self._filter(**criteria)

        def matches(request: ReceivedRequest) -> bool:
            if not calls.matches(request.call):
                return False
            try:
                return predicate is None or predicate(request)
            except Exception as error:
                raise ConfigError(
                    f"the predicate of wait_for failed on {request}: {error!r}"
                ) from error

        for request in self:
            if matches(request):
                return request
        found: _Found = asyncio.get_running_loop().create_future()
        waiting = (matches, found)
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
        """Notify the waiters that this request changed."""
        for matches, found in self._waiting:
            try:
                if not found.done() and matches(request):
                    found.set_result(request)
            except ConfigError as error:  # for the waiter, not for the server
                found.set_exception(error)

    def _filter(self, **criteria: Unpack[CallCriteria]) -> CallFilter:
        calls = CallFilter.of(**criteria)
        if calls.resource is not None:
            same_resource = CallFilter(resource=calls.resource)
            # A custom resource may no longer be served.
            if not any(same_resource.matches(request.call) for request in self):
                self._registry.check_served(calls.resource)
        return calls


_Found = asyncio.Future[ReceivedRequest]
