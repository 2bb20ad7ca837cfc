"""A source whose watch is in the test's hand: a batch arrives where and when the test says so."""

from __future__ import annotations

import asyncio
from typing import Any

from kinform._runtime import Demand, ReadOutcome
from kinform.api import ListOptions
from kinform.client import BatchConsumer, EventType, Frame
from kinform.informers import ListWatch
from kinform.objects import Unstructured
from tests.support.answers import pod, pod_list
from tests.support.objects import record_of
from tests.support.waiting import wait_until


class HeldStream:
    """An open stream. ``give`` calls the waiting consumer at once, as a connection does."""

    def __init__(self) -> None:
        self._consumer: BatchConsumer | None = None
        self._over: asyncio.Future[ReadOutcome] | None = None

    @property
    def is_awaited(self) -> bool:
        return self._consumer is not None

    async def read_into(self, consumer: BatchConsumer) -> ReadOutcome:
        self._consumer = consumer
        self._over = asyncio.get_running_loop().create_future()
        try:
            return await self._over
        finally:
            self._consumer = self._over = None

    async def close(self) -> None:
        pass

    def give(self, *frames: Frame) -> Demand:
        """Pass these frames as one batch, and return the answer of the consumer."""
        assert self._consumer is not None, "there is no reader"
        assert self._over is not None
        consumer = self._consumer
        try:
            demand = consumer(list(frames))
        except Exception as error:
            self._consumer = None
            self._over.set_exception(error)
            return Demand.STOP
        if demand is Demand.STOP:
            self._consumer = None
            self._over.set_result(ReadOutcome.STOPPED)
        return demand

    def end(self) -> None:
        assert self._over is not None, "there is no reader"
        self._over.set_result(ReadOutcome.ENDED)


class HeldSource(ListWatch[Unstructured]):
    """Lists pods of these names at ``version``; all its watches are ``stream``."""

    def __init__(self, *names: str) -> None:
        async def list_once(options: ListOptions) -> dict[str, Any]:
            return pod_list(*map(pod, names), rv=self.version)

        super().__init__(list_once, lambda options: (), name="pods")
        self.stream = HeldStream()
        self.version = "10"
        self.opened = 0

    async def open_watch(self, options: ListOptions) -> HeldStream:
        self.opened += 1
        return self.stream

    async def awaited(self) -> HeldStream:
        """Return the open watch as soon as a reader waits for its data."""
        await wait_until(lambda: self.stream.is_awaited)
        return self.stream


def added(name: str, rv: str) -> Frame:
    return Frame(EventType.ADDED, record_of(pod(name, rv=rv)))


def modified(name: str, rv: str) -> Frame:
    return Frame(EventType.MODIFIED, record_of(pod(name, rv=rv)))


def deleted(name: str, rv: str) -> Frame:
    return Frame(EventType.DELETED, record_of(pod(name, rv=rv)))
