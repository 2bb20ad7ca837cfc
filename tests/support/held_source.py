"""A source whose watch is in the test's hand: a batch arrives where and when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from kinform.api import ListOptions
from kinform.client import EventType, Frame
from kinform.informers import ListWatch
from kinform.informers.sources._watch_shapes import Batches
from kinform.objects import Unstructured
from tests.support.answers import pod, pod_list
from tests.support.objects import record_of
from tests.support.waiting import wait_until

Into = Callable[[list[Frame]], bool]


class HeldBatches(Batches):
    """An open stream. ``give`` calls who waits for it at once, as a connection does."""

    def __init__(self) -> None:
        self._into: Into | None = None
        self._over: asyncio.Future[bool] | None = None

    @property
    def is_awaited(self) -> bool:
        return self._into is not None

    async def read_into(self, into: Into) -> bool:
        self._into = into
        self._over = asyncio.get_running_loop().create_future()
        try:
            return await self._over
        finally:
            self._into = self._over = None

    def give(self, *frames: Frame) -> bool:
        """Hand these over as one batch; whether that was enough for now."""
        assert self._into is not None, "nobody waits for it"
        assert self._over is not None
        into = self._into
        try:
            enough = into(list(frames))
        except Exception as error:
            self._into = None
            self._over.set_exception(error)
            return True
        if enough:
            self._into = None
            self._over.set_result(True)
        return enough

    def end(self) -> None:
        assert self._over is not None, "nobody waits for it"
        self._over.set_result(False)


class HeldSource(ListWatch[Unstructured]):
    """Lists pods of these names at version 10; all its watches are ``batches``."""

    def __init__(self, *names: str) -> None:
        async def list_once(options: ListOptions) -> dict[str, Any]:
            return pod_list(*map(pod, names), rv="10")

        super().__init__(list_once, lambda options: (), name="pods")
        self.batches = HeldBatches()
        self.opened = 0

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[Batches]:
        return self._hold()

    @asynccontextmanager
    async def _hold(self) -> AsyncIterator[Batches]:
        self.opened += 1
        yield self.batches

    async def awaited(self) -> HeldBatches:
        """Its open watch, as soon as somebody waits for what it brings."""
        await wait_until(lambda: self.batches.is_awaited)
        return self.batches


def added(name: str, rv: str) -> Frame:
    return Frame(EventType.ADDED, record_of(pod(name, rv=rv)))


def modified(name: str, rv: str) -> Frame:
    return Frame(EventType.MODIFIED, record_of(pod(name, rv=rv)))


def deleted(name: str, rv: str) -> Frame:
    return Frame(EventType.DELETED, record_of(pod(name, rv=rv)))
