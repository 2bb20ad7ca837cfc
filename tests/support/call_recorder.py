"""Records which Python functions run between a socket and a handler."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from kinform import Client, SharedInformerFactory
from kinform.models.core.v1 import Pod
from kinform.testing import BlockingApiServer

EVENTS = 8


class Call(NamedTuple):
    """One call of a Python function."""

    file: str
    function: str


class CallRecorder:
    """Records the functions that were called since the loop last read a socket.

    Those of asyncio are left out, because versions of Python differ in them.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []

    @contextmanager
    def active(self) -> Iterator[None]:
        before = sys.getprofile()
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(before)

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "call":
            return
        if frame.f_code.co_name == "_read_ready":
            self.calls.clear()
        elif not frame.f_globals.get("__name__", "").startswith("asyncio."):
            self.calls.append(Call(frame.f_code.co_filename, frame.f_code.co_qualname))


async def calls_of_an_event() -> list[Call]:
    """Return the calls from a socket to an async handler, for one typed event over TLS.

    Of several events, the one with the fewest: now and then an event also sets a timer.
    """
    recorder = CallRecorder()
    delivered: list[list[Call]] = []
    received = asyncio.Event()

    async def on_update(old: Pod, new: Pod) -> None:
        delivered.append(list(recorder.calls))
        received.set()

    # On a thread of its own, whose calls are not recorded.
    with BlockingApiServer(tls=True) as server:
        server.create(_pod(0))
        async with Client(server.config) as client:
            factory = SharedInformerFactory(client)
            registration = factory.for_model(Pod).informer.add_event_handler(on_update=on_update)
            async with factory:
                await registration.has_synced
                for label in range(1, EVENTS + 1):
                    received.clear()
                    with recorder.active():
                        update = asyncio.ensure_future(
                            asyncio.to_thread(server.update, _pod(label))
                        )
                        await asyncio.wait_for(received.wait(), 10)
                    await update
    return min(delivered, key=len)


def _pod(label: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default", "labels": {"label": str(label)}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
