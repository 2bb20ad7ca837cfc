"""Leases in memory, and clients of them that record, delay and fail: elections in virtual time."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from typing import Any

from kinform.controllers import LeaderElector, LeaseRecord
from kinform.errors import ApiError, ConflictError, ServerError, TransportError
from kinform.models.coordination.v1 import Lease
from kinform.testing import ApiServer

NAME = "web"
NAMESPACE = "default"


class Hang:
    """The request gets no response. ``carried_out``: the server has done it nevertheless."""

    def __init__(self, *, carried_out: bool = False) -> None:
        self.carried_out = carried_out


Trouble = Exception | Hang


class LeaseServer:
    """Stores Leases as an API server does; several clients share it."""

    def __init__(self) -> None:
        self.api = ApiServer()

    def client(self) -> LeaseRequests:
        return LeaseRequests(self.api)

    def lease(self) -> Lease:
        return self.api.get(Lease, NAME, NAMESPACE)

    def record(self) -> LeaseRecord:
        return LeaseRecord.of(self.lease())

    def write(self, record: LeaseRecord) -> None:
        """Write the record as somebody else."""
        self.api.update(record.written_to(self.lease(), {}))

    def create(self, record: LeaseRecord) -> None:
        self.api.create(record.new_lease(NAME, NAMESPACE, {}))

    def delete(self) -> None:
        self.api.delete(Lease, NAME, NAMESPACE)


class LeaseRequests:
    """A client of a LeaseServer.

    Attributes:
        calls: The verbs of all requests, in order.
        is_cut: Whether every request fails at once, as without a network.
        latency: Seconds before the server handles a request, and again before the response.
    """

    namespace = NAMESPACE

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._troubles: defaultdict[str, deque[Trouble]] = defaultdict(deque)
        self.calls: list[str] = []
        self.is_cut = False
        self.latency = 0.0

    def trouble(self, verb: str, *troubles: Trouble) -> None:
        """Let the next requests of a verb fail."""
        self._troubles[verb].extend(troubles)

    async def get(self, resource: Any, name: str, *, namespace: str | None = None) -> Any:
        return await self._handle("get", lambda: self._api.get(resource, name, namespace or ""))

    async def create(self, obj: Any, **options: Any) -> Any:
        return await self._handle("create", lambda: self._api.create(obj))

    async def update(self, obj: Any, **options: Any) -> Any:
        return await self._handle("update", lambda: self._api.update(obj))

    async def _handle(self, verb: str, request: Any) -> Any:
        self.calls.append(verb)
        if self.is_cut:
            raise TransportError(f"{verb}: connection refused")
        await asyncio.sleep(self.latency)
        trouble = self._troubles[verb].popleft() if self._troubles[verb] else None
        if isinstance(trouble, Exception):
            raise trouble
        if trouble is not None and not trouble.carried_out:
            await asyncio.Event().wait()
        answer = request()
        if trouble is not None:
            await asyncio.Event().wait()
        await asyncio.sleep(self.latency)
        return answer

    async def _not_needed(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("an election does not need this verb")

    list = apply = patch = delete = delete_collection = _not_needed


def conflict() -> ApiError:
    return ConflictError("the object has been modified", code=409, reason="Conflict")


def server_error() -> ApiError:
    return ServerError("etcd has no leader", code=500, reason="InternalError")


def elector_of(client: Any, identity: str = "a", **options: Any) -> LeaderElector:
    """An elector by the clock of the running loop."""
    clock = asyncio.get_running_loop().time
    return LeaderElector(client, NAME, identity=identity, clock=clock, **options)
