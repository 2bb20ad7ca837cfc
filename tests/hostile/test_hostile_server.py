"""Every answer of the table, over TCP and TLS, to a client and to the stages of an informer.

Only our errors, a live loop, bounded memory, a fast stop, recovery, no secrets in logs or errors.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from kinform import Client, DynamicSharedInformerFactory
from kinform._runtime import Backoff
from kinform.api import GVR, ListOptions
from kinform.errors import KinformError
from kinform.informers import ReflectorOptions, ResourceInformer
from kinform.objects import Unstructured
from kinform.transport import ClusterConfig, StaticToken
from tests.hostile.heartbeat import Heartbeat
from tests.hostile.hostile_answers import ANSWERS, TLS_ANSWERS, Answer, TlsAnswer
from tests.hostile.peak_memory import PeakMemory
from tests.hostile.raw_server import RawServer, certificates
from tests.hostile.turncoat import STAGES, Turncoat
from tests.support.waiting import wait_until

PODS = GVR("", "v1", "pods")
SECRET = "s3cr3t-t0ken"
MEGABYTE = 1 << 20
LARGEST_BODY = 16 * MEGABYTE
# For five requests at once; a gzip bomb of 8 MB takes 60 MB.
MOST_MEMORY = 160 * MEGABYTE
# Seconds; verbs with an endless answer are cancelled then.
PATIENCE = 0.1
# Seconds within which a verb ends by itself if the answer does.
LONGEST = 20.0

CASES = {
    **{f"tcp {name}": (False, answer) for name, answer in ANSWERS.items()},
    **{f"tls {name}": (True, answer) for name, answer in {**ANSWERS, **TLS_ANSWERS}.items()},
}


def is_endless(answer: Answer) -> bool:
    return bool(answer.then or (isinstance(answer, TlsAnswer) and answer.bare_then))


class Visit:
    """A client at a hostile server, and what is measured meanwhile."""

    def __init__(self, server: RawServer, script: Turncoat, client: Client) -> None:
        self.server = server
        self.script = script
        self.client = client
        self.errors: list[KinformError] = []


@asynccontextmanager
async def visit(name: str, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Visit]:
    """Connect to a hostile server; at the end, check the loop, the memory and the secrets."""
    caplog.set_level(logging.DEBUG)
    tls, answer = CASES[name]
    script = Turncoat(answer)
    memory = PeakMemory()
    async with RawServer(script, tls=tls, greeting=script.greeting) as server:
        config = ClusterConfig(
            server=server.url,
            certificate_authority=certificates().ca_pem if tls else None,
            credentials=StaticToken(SECRET),
        )
        with memory:
            async with (
                Client(config, max_retries=0, max_body_size=LARGEST_BODY) as client,
                Heartbeat() as beat,
            ):
                here = Visit(server, script, client)
                yield here
    assert beat.longest < 0.5
    assert memory.growth < MOST_MEMORY
    assert SECRET not in caplog.text
    for error in {str(each): each for each in here.errors}.values():
        assert SECRET not in "".join(traceback.format_exception(error))
        assert SECRET not in repr(error) + repr(error.__cause__)


def verbs(client: Client) -> dict[str, Callable[[], Awaitable[object]]]:
    async def page_through() -> None:
        async for _ in client.pages(PODS, ListOptions(limit=2)):
            pass

    async def watch(options: ListOptions) -> None:
        async with client.watch(PODS, options) as events:
            async for _ in events:
                pass

    streamed = ListOptions(
        send_initial_events=True,
        allow_watch_bookmarks=True,
        resource_version_match="NotOlderThan",
    )
    return {
        "get": lambda: client.get(PODS, "a", namespace="b"),
        "list": lambda: client.list(PODS),
        "pages": page_through,
        "streamed list": lambda: watch(streamed),
        "watch": lambda: watch(ListOptions(resource_version="1")),
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


def test_there_are_at_least_150_answers_over_tcp_and_over_tls() -> None:
    """18: different ones."""
    for names in ([f"tcp {name}" for name in ANSWERS], [f"tls {name}" for name in ANSWERS]):
        assert len({CASES[name] for name in names}) >= 150


@pytest.mark.parametrize("name", CASES)
async def test_a_client_raises_only_its_own_errors(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """18: get, list, pages, streamed list and watch."""
    async with visit(name, caplog) as here:
        ends = await asyncio.gather(
            *(
                end_of(verb, each, asked=here.server.asked, endless=is_endless(CASES[name][1]))
                for each, verb in verbs(here.client).items()
            )
        )
        here.errors += [each for each in ends if each is not None]


def names_of(pods: ResourceInformer[Unstructured]) -> list[str]:
    return [pod.name for pod in pods.lister.list()] if pods.informer.has_synced else []


def quick() -> Backoff:
    return Backoff(0.01, factor=1, cap=0.01)


@pytest.mark.parametrize("name", CASES)
async def test_an_informer_recovers(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """18: from a hostile streamed list, paged list and watch, once the server is good."""
    async with visit(name, caplog) as here:
        script = here.script
        # Factories of their own: the informers of one share what they learn about the server.
        factories = [
            DynamicSharedInformerFactory(
                here.client,
                namespace=stage,
                options=ReflectorOptions(backoff=quick, reconnect_backoff=quick),
                on_watch_error=lambda failure: here.errors.append(failure.error),
            )
            for stage in STAGES
        ]
        pods = [factory.for_resource(PODS) for factory in factories]
        for factory in factories:
            factory.start()
        await wait_until(lambda: script.hostile >= set(STAGES))
        await asyncio.sleep(PATIENCE / 4)
        script.is_good.set()
        if not CASES[name][1].delays:
            await wait_until(lambda: all("late" in names_of(each) for each in pods))
        async with asyncio.timeout(1):
            await asyncio.gather(*(factory.shutdown() for factory in factories))


@pytest.mark.parametrize("name", [each for each, (_, an) in CASES.items() if is_endless(an)])
async def test_an_informer_stops_while_data_arrives(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """18: within a second, whatever the server sends."""
    async with visit(name, caplog) as here:
        factory = DynamicSharedInformerFactory(here.client)
        factory.for_resource(PODS)
        factory.start()
        await here.server.asked.wait()
        await asyncio.sleep(PATIENCE)
        async with asyncio.timeout(1):
            await factory.shutdown()
