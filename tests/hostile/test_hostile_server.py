"""Every answer of the table: our errors only, a live loop, a fast stop, recovery, no secrets."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable

import pytest

from kinform import Client, DynamicSharedInformerFactory
from kinform._runtime import Backoff
from kinform.api import GVR, ListOptions
from kinform.errors import KinformError
from kinform.informers import ReflectorOptions
from kinform.transport import ClusterConfig, StaticToken
from tests.hostile.heartbeat import Heartbeat
from tests.hostile.hostile_answers import ANSWERS, POD, Answer
from tests.hostile.raw_server import RawServer
from tests.support.waiting import wait_until

PODS = GVR("", "v1", "pods")
SECRET = "s3cr3t-t0ken"
# Seconds; verbs with an endless answer are cancelled then.
PATIENCE = 0.12
# Seconds within which a verb ends by itself if the answer does.
LONGEST = 5.0

GOOD_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
GOOD_LIST = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[%b]}'


class Turncoat:
    """A script that sends the hostile answer to everything until ``is_good`` is set."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.is_good = asyncio.Event()

    async def __call__(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        if self.is_good.is_set():
            await self._answer_well(head, writer)
            return
        writer.write(self._answer.first)
        while self._answer.then and not self.is_good.is_set():
            writer.write(self._answer.then)
            await writer.drain()
            await asyncio.sleep(0.001)

    async def _answer_well(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        if b"sendInitialEvents" in head:
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            return
        writer.write(GOOD_HEAD)
        if b"watch=true" in head:
            await asyncio.sleep(60)
        else:
            writer.write(GOOD_LIST % POD)


def quick() -> Backoff:
    return Backoff(0.01, factor=1, cap=0.01)


def client_of(server: RawServer, **options: float) -> Client:
    config = ClusterConfig(server=server.url, credentials=StaticToken(SECRET))
    return Client(config, max_retries=0, max_body_size=16 << 20, **options)  # type: ignore[arg-type]


def verbs(client: Client) -> dict[str, Callable[[], Awaitable[object]]]:
    async def page_through() -> None:
        async for _ in client.pages(PODS, ListOptions(limit=2)):
            pass

    async def watch() -> None:
        async with client.watch(PODS, ListOptions(resource_version="1")) as events:
            async for _ in events:
                pass

    return {
        "get": lambda: client.get(PODS, "a", namespace="b"),
        "list": lambda: client.list(PODS),
        "pages": page_through,
        "watch": watch,
    }


async def end_of(
    verb: Callable[[], Awaitable[object]], name: str, *, asked: asyncio.Event, endless: bool
) -> KinformError | None:
    """Run a verb, and cancel it if the answer is endless. Raises foreign exceptions."""
    task = asyncio.ensure_future(verb())
    await asked.wait()
    await asyncio.wait([task], timeout=PATIENCE if endless else LONGEST)
    assert endless or task.done(), f"{name} does not end"
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=1)
    assert done, f"{name} takes more than a second to stop"
    if task.cancelled():
        return None
    error = task.exception()
    if error is not None and not isinstance(error, KinformError):
        raise error
    return error


def check_secrets(caplog: pytest.LogCaptureFixture, errors: list[KinformError]) -> None:
    assert SECRET not in caplog.text
    for error in errors:
        assert SECRET not in "".join(traceback.format_exception(error))
        assert SECRET not in repr(error) + repr(error.__cause__)


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_client_raises_only_its_own_errors(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """18: get, list, pages and watch."""
    caplog.set_level(logging.DEBUG)
    answer = ANSWERS[name]
    async with (
        RawServer(Turncoat(answer)) as server,
        client_of(server) as client,
        Heartbeat() as beat,
    ):
        ends = await asyncio.gather(
            *(
                end_of(verb, each, asked=server.asked, endless=bool(answer.then))
                for each, verb in verbs(client).items()
            )
        )
    errors = [each for each in ends if each is not None]
    assert server.requests
    assert beat.longest < 0.5
    check_secrets(caplog, errors)


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_informer_recovers(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """18: a streamed list, a paged list and a watch, until the server becomes good."""
    caplog.set_level(logging.DEBUG)
    script = Turncoat(ANSWERS[name])
    errors: list[KinformError] = []
    async with RawServer(script) as server, client_of(server) as client, Heartbeat() as beat:
        factory = DynamicSharedInformerFactory(
            client,
            options=ReflectorOptions(backoff=quick, reconnect_backoff=quick),
            on_watch_error=lambda failure: errors.append(failure.error),
        )
        pods = factory.for_resource(PODS)
        factory.start()
        await server.asked.wait()
        await asyncio.sleep(PATIENCE / 3)
        script.is_good.set()
        await factory.wait_for_cache_sync(timeout=5)
        await wait_until(lambda: [pod.name for pod in pods.lister.list()] == ["a"])
        async with asyncio.timeout(1):
            await factory.shutdown()
    assert beat.longest < 0.5
    check_secrets(caplog, errors)


@pytest.mark.parametrize("name", [each for each in ANSWERS if each.startswith("endless")])
async def test_an_informer_stops_while_data_arrives(name: str) -> None:
    """18: within a second, whatever the server sends."""
    async with RawServer(Turncoat(ANSWERS[name])) as server, client_of(server) as client:
        factory = DynamicSharedInformerFactory(client)
        factory.for_resource(PODS)
        factory.start()
        await server.asked.wait()
        await asyncio.sleep(PATIENCE)
        async with asyncio.timeout(1):
            await factory.shutdown()
