"""The number of Python calls between a socket and a handler, which decides the cost of an event."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from kinform import Client, SharedInformerFactory
from kinform._native import IS_COMPILED
from kinform.models.core.v1 import Pod
from kinform.testing import BlockingApiServer

EVENTS = 8

MOST_CALLS = 51
"""Of Python functions outside of asyncio, for one typed event over TLS, with the handler itself."""


class CallCounter:
    """Names the functions that were called since the loop last read a socket.

    Those of asyncio are left out, because versions of Python differ in them.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []

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
            self.calls.append(frame.f_code.co_qualname)


def _pod(label: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default", "labels": {"label": str(label)}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


@pytest.mark.skipif(not IS_COMPILED, reason="the fallbacks of compiled code are Python calls")
@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer changes what is called")
async def test_calls_from_socket_to_async_handler() -> None:
    counter = CallCounter()
    delivered: list[list[str]] = []
    received = asyncio.Event()

    async def on_update(old: Pod, new: Pod) -> None:
        delivered.append(list(counter.calls))
        received.set()

    # On a thread of its own, whose calls are not counted.
    with BlockingApiServer(tls=True) as server:
        server.create(_pod(0))
        async with Client(server.config) as client:
            factory = SharedInformerFactory(client)
            registration = factory.for_model(Pod).informer.add_event_handler(on_update=on_update)
            async with factory:
                await registration.has_synced
                for label in range(1, EVENTS + 1):
                    received.clear()
                    with counter.active():
                        update = asyncio.ensure_future(
                            asyncio.to_thread(server.update, _pod(label))
                        )
                        await asyncio.wait_for(received.wait(), 10)
                    await update

    # Now and then an event also sets a timer or ends a window of measurement.
    fewest = min(delivered, key=len)
    assert fewest[0] == "TlsLine.get_buffer", "the count does not begin at the socket"
    assert "WatchEventApplier.take" in fewest
    assert len(fewest) <= MOST_CALLS, "\n".join(fewest)
