"""A server for events in memory, which can refuse requests, and a recorder on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kinform.controllers.recorder import EventRecorder
from kinform.errors import AlreadyExistsError, NotFoundError
from kinform.testing.patches import apply_merge_patch

OBJECT = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "namespace": "shop", "uid": "u1", "resourceVersion": "5"},
}


def pod(name: str) -> dict[str, Any]:
    return {**OBJECT, "metadata": {"name": name, "namespace": "shop", "uid": name}}


class EventServer:
    """Keeps events by name.

    Attributes:
        events: The events.
        requests: The requests: verb, API and the time.
        answer: Called before each request, with the verb and the API; may raise.
        after: Called after each request that was carried out; may raise, as if the response were
            lost.
        gate: If it is not set, requests wait for it.
    """

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str, float]] = []
        self.answer: Callable[[str, str], None] = lambda verb, api: None
        self.after: Callable[[str], None] = lambda verb: None
        self.gate = asyncio.Event()
        self.gate.set()

    async def create(self, obj: Any, **options: Any) -> Any:
        await self._receive("create", obj["apiVersion"])
        assert options["namespace"] == obj["metadata"]["namespace"]
        name = obj["metadata"]["name"]
        if name in self.events:
            raise AlreadyExistsError("exists", code=409)
        self.events[name] = dict(obj)
        self.after("create")
        return obj

    async def patch(self, resource: Any, name: str, patch: Any, **options: Any) -> Any:
        await self._receive("patch", resource.gvr.api_version)
        if name not in self.events:
            raise NotFoundError("gone", code=404)
        self.events[name] = apply_merge_patch(self.events[name], patch)
        self.after("patch")
        return self.events[name]

    async def _receive(self, verb: str, api: str) -> None:
        self.requests.append((verb, api, asyncio.get_running_loop().time()))
        await self.gate.wait()
        await asyncio.sleep(0.001)
        self.answer(verb, api)

    async def _unused(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    update = apply = delete = delete_collection = _unused

    @property
    def counts(self) -> list[int]:
        """How often each event has occurred, by the order of their creation."""
        return [count_of(event) for event in self.events.values()]

    def verbs(self) -> list[str]:
        return [verb for verb, _, _ in self.requests]


def count_of(event: dict[str, Any]) -> int:
    count: int = event.get("count") or (event.get("series") or {"count": 1})["count"]
    return count


def recorder_for(server: EventServer, **options: Any) -> EventRecorder:
    loop = asyncio.get_running_loop()
    return EventRecorder(server, "web", clock=loop.time, **options)
