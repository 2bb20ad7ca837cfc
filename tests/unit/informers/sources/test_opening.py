"""Opening a watch: the direct path of a client, and the adapter for callables."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinform.api import GVR, ListOptions
from kinform.client import Client, Watch
from kinform.errors import SourceError, StateError, TransportError, WatchError
from kinform.informers import ListWatch, Reflector, Store
from kinform.informers.sources import Source
from kinform.objects import Unstructured
from kinform.transport import ClusterConfig, Request
from tests.support.answers import event, json_answer, pod, pod_list, watch_answer
from tests.support.memory_transport import MemoryResponse, MemoryTransport
from tests.support.reading import read_all, read_next
from tests.support.waiting import wait_until

PODS = GVR("", "v1", "pods")
PATH = "/api/v1/pods"


class StackTransport(MemoryTransport):
    """Remembers which functions led to the last watch request, the innermost first."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []

    async def send(self, request: Request) -> MemoryResponse:
        if "watch" in request.query:
            frame = sys._getframe(1)
            self.stack = []
            while frame.f_back is not None:
                self.stack.append(frame.f_code.co_qualname)
                frame = frame.f_back
        return await super().send(request)


@pytest.fixture
def memory() -> StackTransport:
    return StackTransport()


@pytest.fixture
async def client(memory: MemoryTransport) -> AsyncIterator[Client]:
    async with Client(ClusterConfig(server="https://cluster.test"), transport=memory) as client:
        yield client


async def open_watch(source: Source[Any]) -> Any:
    return await source.open_watch(ListOptions())


# -- a resource of a client --------------------------------------------------------------------


async def test_reflector_and_client_are_two_calls_apart(
    memory: StackTransport, client: Client
) -> None:
    memory.on(PATH, json_answer(pod_list(pod("a"))))
    source = ListWatch.for_resource(client, PODS)
    source.supports_streaming = False
    task = asyncio.create_task(Reflector(source, Store(Unstructured)).run())
    await wait_until(lambda: bool(memory.stack))
    task.cancel()
    await asyncio.wait((task,))
    opening = memory.stack[: memory.stack.index("ReflectorContext.open_watch")]
    client_side = opening.index("Watch.open")
    assert opening[client_side:] == ["Watch.open", "ClientSource.open_watch", "OpenWatch.open"]


async def test_stream_of_a_client_is_its_watch(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a"))))
    stream = await open_watch(ListWatch.for_resource(client, PODS))
    assert isinstance(stream, Watch)
    (batch,) = await read_all(stream.read_into)
    assert [frame.record.head.name for frame in batch if frame.record] == ["a"]
    await stream.close()
    await stream.close()
    assert memory.responses[-1].closed


@pytest.mark.parametrize(
    ("raised", "expected"), [(OSError("no"), TransportError), (ValueError("no"), SourceError)]
)
async def test_foreign_error_of_a_transport_is_converted(
    memory: MemoryTransport, client: Client, raised: Exception, expected: type[Exception]
) -> None:
    memory.on(PATH, raised)
    source = ListWatch.for_resource(client, PODS)
    for call, verb in ((source.page, "list"), (source.open_watch, "watch")):
        with pytest.raises(expected, match=f"^{verb} of v1/pods: {type(raised).__name__}: no") as e:
            await call(ListOptions())
        assert e.value.__cause__ is raised


# -- callables ---------------------------------------------------------------------------------


async def test_watch_of_a_client_returned_by_a_callable_is_closed_with_the_stream(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a"))))

    async def watch(options: ListOptions) -> Watch[Unstructured]:
        return client.watch(PODS, options)

    stream = await open_watch(ListWatch(lambda options: (), watch))
    assert len(await read_all(stream.read_into)) == 1
    assert not memory.responses[-1].closed
    await stream.close()
    assert memory.responses[-1].closed


async def test_context_manager_around_an_iterator_is_left_once() -> None:
    steps: list[str] = []

    @asynccontextmanager
    async def watch(options: ListOptions) -> AsyncIterator[Any]:
        steps.append("enter")
        yield [("ADDED", pod("a")), ("ADDED", pod("b"))]
        steps.append("leave")

    stream = await open_watch(ListWatch(lambda options: (), watch))
    assert await read_next(stream.read_into) is not None
    assert steps == ["enter"]
    await stream.close()
    await stream.close()
    assert steps == ["enter", "leave"]


async def test_context_manager_without_events_is_left_before_the_error() -> None:
    steps: list[str] = []

    @asynccontextmanager
    async def watch(options: ListOptions) -> AsyncIterator[Any]:
        try:
            yield 5
        finally:
            steps.append("leave")

    with pytest.raises(WatchError, match=r"must return .*, not int"):
        await open_watch(ListWatch(lambda options: (), watch))
    assert steps == ["leave"]


# -- watch() of a source -----------------------------------------------------------------------


async def test_batches_are_opened_once_and_only_read_while_open() -> None:
    batches = ListWatch(lambda options: (), lambda options: [("ADDED", pod("a"))]).watch(
        ListOptions()
    )
    with pytest.raises(StateError, match="is not open"):
        await anext(batches)
    async with batches:
        assert [len(batch) async for batch in batches] == [1]
        with pytest.raises(StateError, match="already opened"):
            await batches.__aenter__()
