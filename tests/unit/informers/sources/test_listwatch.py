"""Sources: any list and watch callables, of any colour and shape, as pages and frames."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import datetime
from types import MappingProxyType
from typing import Any

import pytest

from kinform.api import GVK, GVR, ApiResource, LabelSelector, ListOptions
from kinform.client import Client, EventType, Frame, ObjectList, WatchEvent
from kinform.errors import (
    ConfigError,
    DecodeError,
    ExpiredError,
    SelectorError,
    SourceError,
    TooManyRequestsError,
    TransportError,
    WatchError,
)
from kinform.informers.sources._listwatch import ListWatch
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.transport import ClusterConfig
from tests.support.answers import (
    event,
    json_answer,
    pod,
    pod_list,
    status,
    text_answer,
    watch_answer,
)
from tests.support.memory_transport import MemoryTransport
from tests.support.objects import record_of
from tests.support.reading import read_all, read_next

PODS = GVR("", "v1", "pods")
PATH = "/api/v1/pods"


@pytest.fixture
def memory() -> MemoryTransport:
    return MemoryTransport()


@pytest.fixture
async def client(memory: MemoryTransport) -> AsyncIterator[Client]:
    config = ClusterConfig(server="https://cluster.test", namespace="home")
    async with Client(config, transport=memory) as client:
        yield client


def listing(answer: Any) -> ListWatch[Unstructured]:
    """A source whose list gives ``answer``."""

    async def list_once(options: ListOptions) -> Any:
        return answer

    return ListWatch(list_once, lambda options: (), name="pods")


def watching(watch: Callable[[ListOptions], Any]) -> ListWatch[Unstructured]:
    return ListWatch(lambda options: (), watch, name="pods")


def sending(*items: Any) -> ListWatch[Unstructured]:
    """A source whose watch sends ``items`` and ends."""

    async def watch(options: ListOptions) -> AsyncIterator[Any]:
        for item in items:
            yield item

    return watching(watch)


async def page_of(source: ListWatch[Unstructured]) -> ObjectList[Unstructured]:
    return await source.page(ListOptions())


async def frames_of(source: ListWatch[Any]) -> list[Frame]:
    async with source.watch(ListOptions()) as batches:
        return [frame for batch in await read_all(batches.read_into) for frame in batch]


def told(frames: list[Frame]) -> list[str]:
    return [f"{frame.type} {frame.record.head.key}" for frame in frames if frame.record]


# -- the source of a client --------------------------------------------------------------------


async def test_a_resource_is_listed_and_watched_with_its_namespace_and_selectors(
    memory: MemoryTransport, client: Client
) -> None:
    path = "/api/v1/namespaces/x/pods"
    memory.on(path, json_answer(pod_list(pod("a"), rv="7", continue_token="more")))
    source = ListWatch.for_resource(
        client, PODS, namespace="x", labels={"app": "web"}, fields="metadata.name=a"
    )
    page = await source.page(ListOptions(limit=5))
    assert [each.name for each in page] == ["a"]
    assert (page.resource_version, page.continue_token) == ("7", "more")
    memory.on(path, watch_answer(event("ADDED", pod("a")), event("DELETED", pod("b"))))
    assert told(await frames_of(source)) == ["ADDED default/a", "DELETED default/b"]
    wanted = {"labelSelector": "app=web", "fieldSelector": "metadata.name=a"}
    listed, watched = memory.requests
    assert listed.query == {**wanted, "limit": "5"}
    assert watched.query == {**wanted, "watch": "true"}
    assert memory.responses[-1].closed


async def test_the_source_of_a_resource_says_what_it_is(client: Client) -> None:
    source = ListWatch.for_resource(client, PODS, namespace="x")
    assert source.form is Unstructured
    assert source.supports_streaming
    assert (source.resource, source.namespace) == (PODS, "x")
    assert source.name == "v1/pods in x"
    assert ListWatch.for_resource(client, ApiResource(PODS, "Pod", True)).resource == PODS
    assert ListWatch.for_resource(client, GVK("", "v1", "Pod")).resource == "v1/Pod"
    metadata = ListWatch.for_resource(client.metadata, PODS)
    assert metadata.form is PartialObjectMetadata
    assert metadata.namespace is None


async def test_a_selector_that_is_not_legal_is_refused_at_once(client: Client) -> None:
    with pytest.raises(SelectorError):
        ListWatch.for_resource(client, PODS, labels="a b")


async def test_a_busy_server_is_left_to_who_asks(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, text_answer("busy", 429, Retry_After="1"))
    source = ListWatch.for_resource(client, PODS)
    with pytest.raises(TooManyRequestsError) as caught:
        await source.page(ListOptions())
    assert caught.value.retry_after == 1.0
    with pytest.raises(TooManyRequestsError):
        await frames_of(source)
    assert len(memory.requests) == 2


async def test_selectors_of_the_source_and_of_the_options_both_hold(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, json_answer(pod_list()))
    source = ListWatch.for_resource(client, PODS, labels=LabelSelector.parse("a=b"))
    await source.page(ListOptions(label_selector="c in (d,e)"))
    assert memory.requests[0].query == {"labelSelector": "a=b,c in (d,e)"}


# -- tweaking ----------------------------------------------------------------------------------


async def test_a_tweak_sees_every_page_and_every_watch_after_the_selectors(
    memory: MemoryTransport, client: Client
) -> None:
    seen: list[ListOptions] = []

    def tweak(options: ListOptions) -> ListOptions:
        seen.append(options)
        return options.replace(label_selector="tweaked=yes", timeout_seconds=9)

    source = ListWatch.for_resource(client, PODS, labels="app=web", tweak_list_options=tweak)
    memory.on(PATH, json_answer(pod_list()), json_answer(pod_list()), watch_answer())
    await source.page(ListOptions(limit=1))
    await source.page(ListOptions(continue_token="x"))
    await frames_of(source)
    assert [str(options.label_selector) for options in seen] == ["app=web"] * 3
    assert [options.continue_token for options in seen] == ["", "x", ""]
    for request in memory.requests:
        assert request.query["labelSelector"] == "tweaked=yes"
        assert request.query["timeoutSeconds"] == "9"


async def test_a_tweak_of_callables_changes_what_they_get() -> None:
    got: list[int | None] = []

    def note(options: ListOptions) -> list[Any]:
        got.append(options.limit)
        return []

    source = ListWatch(note, note, tweak_list_options=lambda options: options.replace(limit=3))
    await source.page(ListOptions())
    await frames_of(source)
    assert got == [3, 3]


async def test_a_tweak_that_returns_nothing_is_told_what_to_return() -> None:
    source = ListWatch(
        lambda options: [],
        lambda options: [],
        name="pods",
        tweak_list_options=lambda options: None,  # type: ignore[arg-type, return-value]  # the mistake
    )
    with pytest.raises(ConfigError, match=r"pods returned a NoneType.*return options\.replace\("):
        await source.page(ListOptions())
    with pytest.raises(ConfigError, match=r"return options\.replace\("):
        await frames_of(source)


async def test_a_tweak_that_fails_is_named() -> None:
    def tweak(options: ListOptions) -> ListOptions:
        raise KeyError("x")

    source = ListWatch(lambda options: [], lambda options: [], tweak_list_options=tweak)
    with pytest.raises(ConfigError, match="tweak_list_options.*KeyError") as caught:  # noqa: RUF043
        await source.page(ListOptions())
    assert isinstance(caught.value.__cause__, KeyError)


# -- shapes of a list --------------------------------------------------------------------------


async def test_a_list_may_be_an_object_list() -> None:
    made = ObjectList(Unstructured, [record_of(pod("a"))], resource_version="5")
    assert await page_of(listing(made)) is made


async def test_a_list_may_be_a_dict_as_servers_send_it() -> None:
    page = await page_of(
        listing(pod_list(pod("a"), pod("b"), rv="5", continue_token="c", remainingItemCount=3))
    )
    assert [each.key for each in page] == ["default/a", "default/b"]
    assert page[0].gvk == GVK("", "v1", "Pod")  # said by the list alone
    assert (page.resource_version, page.continue_token, page.remaining_item_count) == ("5", "c", 3)


async def test_a_dict_of_no_items_is_an_empty_list() -> None:
    page = await page_of(listing({"metadata": {"resourceVersion": "5"}, "items": None}))
    assert len(page) == 0
    assert page.resource_version == "5"


@pytest.mark.parametrize(
    "one",
    [
        pod("a"),
        MappingProxyType(pod("a")),
        Unstructured(pod("a")),
        Unstructured.over(record_of(pod("a"))),
        record_of(pod("a")),
    ],
    ids=["dict", "mapping", "editable", "read-only", "record"],
)
async def test_a_list_may_be_an_iterable_of_whatever_holds_an_object(one: Any) -> None:
    page = await page_of(listing([one]))
    assert [each.key for each in page] == ["default/a"]
    assert (page.resource_version, page.continue_token) == ("", "")
    page = await page_of(listing({"items": (one,)}))
    assert page[0] == pod("a")


async def test_a_record_is_kept_as_it_is() -> None:
    record = record_of(pod("a"))
    page = await page_of(listing([Unstructured.over(record)]))
    assert page.records[0] is record


async def test_a_list_may_be_an_async_generator() -> None:
    async def list_all(options: ListOptions) -> AsyncIterator[Any]:
        for name in "ab":
            yield pod(name)

    page = await page_of(ListWatch(list_all, lambda options: ()))
    assert [each.name for each in page] == ["a", "b"]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"metadata": {"name": "x"}}, "kind"),
        (17, "int"),
        (None, "NoneType"),
        (pod("x", spec={"at": datetime(2026, 1, 1)}), "datetime"),
    ],
    ids=["no kind", "a number", "nothing", "not JSON"],
)
async def test_an_item_that_cannot_be_read_is_put_aside(bad: Any, why: str) -> None:
    page = await page_of(listing([pod("a"), bad, pod("b")]))
    assert [each.name for each in page] == ["a", "b"]
    (aside,) = page.undecodable
    assert isinstance(aside.error, DecodeError)
    assert why in str(aside.error)


async def test_an_item_that_is_not_json_is_put_aside_with_its_key() -> None:
    page = await page_of(listing([pod("x", spec={"at": datetime(2026, 1, 1)})]))
    assert page.undecodable[0].error.key == "default/x"


@pytest.mark.parametrize(
    "answer", [None, 5, "text", {"kind": "Pod"}, {"items": 5}, {"items": [], "metadata": 5}]
)
async def test_what_is_no_list_is_named_beside_what_is(answer: Any) -> None:
    with pytest.raises(DecodeError, match=r"list of pods (must return|returned a dict) "):
        await page_of(listing(answer))


# -- shapes of a watch -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "one",
    [
        {"type": "ADDED", "object": pod("a")},
        {"type": "ADDED", "object": object(), "raw_object": pod("a")},
        ("ADDED", pod("a")),
        ("ADDED", Unstructured(pod("a"))),
        (EventType.ADDED, record_of(pod("a"))),
        WatchEvent(EventType.ADDED, Unstructured.over(record_of(pod("a")))),
        Frame(EventType.ADDED, record_of(pod("a"))),
        [[], [("ADDED", pod("a"))]],
    ],
    ids=["dict", "official", "pair", "editable", "record", "event", "frame", "batches"],
)
async def test_an_event_may_have_any_of_these_shapes(one: Any) -> None:
    assert told(await frames_of(sending(one))) == ["ADDED default/a"]


async def test_a_batch_stays_together_and_an_empty_one_is_none() -> None:
    source = sending([("ADDED", pod("a")), ("MODIFIED", pod("b"))], [], ("DELETED", pod("c")))
    async with source.watch(ListOptions()) as batches:
        found = [told(batch) for batch in await read_all(batches.read_into)]
    assert found == [["ADDED default/a", "MODIFIED default/b"], ["DELETED default/c"]]


@pytest.mark.parametrize(
    "refusal",
    [
        {"type": "ERROR", "object": status(410, "Expired", "too old")},
        ("ERROR", Unstructured(status(410, "Expired", "too old"))),
        ("ERROR", ExpiredError("too old", code=410, reason="Expired")),
    ],
    ids=["dict", "handle", "exception"],
)
async def test_a_refusal_is_the_error_that_a_client_would_give(refusal: Any) -> None:
    (frame,) = await frames_of(sending(refusal))
    assert frame.type is EventType.ERROR
    assert isinstance(frame.error, ExpiredError)
    assert str(frame.error) == "too old (410 Expired)"


@pytest.mark.parametrize(
    ("bad", "type", "why"),
    [
        (("ADDED", {"metadata": {"name": "x"}}), EventType.ADDED, "kind"),
        (("MODIFIED", None), EventType.MODIFIED, "NoneType"),
        (("EXPLODED", pod("x")), EventType.ERROR, "EXPLODED"),
        (("ERROR", 17), EventType.ERROR, "int"),
        (("ERROR", {"code": "x"}), EventType.ERROR, "Status"),
        ({"kind": "Pod"}, EventType.ERROR, "an event must be a WatchEvent"),
        (17, EventType.ERROR, "int"),
    ],
)
async def test_an_event_that_cannot_be_read_does_not_end_the_watch(
    bad: Any, type: EventType, why: str
) -> None:
    before, frame, after = await frames_of(sending(("ADDED", pod("a")), bad, ("ADDED", pod("b"))))
    assert told([before, after]) == ["ADDED default/a", "ADDED default/b"]
    assert frame.type is type
    assert isinstance(frame.error, DecodeError)
    assert why in str(frame.error)


async def test_a_watch_may_be_the_watch_of_a_client(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a"))))
    assert told(await frames_of(watching(lambda options: client.watch(PODS, options)))) == [
        "ADDED default/a"
    ]
    assert memory.responses[-1].closed


async def test_a_watch_may_be_an_async_context_manager_which_is_left() -> None:
    steps: list[str] = []

    @asynccontextmanager
    async def watch(options: ListOptions) -> AsyncIterator[Iterator[Any]]:
        steps.append("enter")
        try:
            yield iter([("ADDED", pod("a"))])
        finally:
            steps.append("leave")

    assert told(await frames_of(watching(watch))) == ["ADDED default/a"]
    assert steps == ["enter", "leave"]


async def test_leaving_closes_an_async_generator() -> None:
    steps: list[str] = []

    async def watch(options: ListOptions) -> AsyncIterator[Any]:
        try:
            while True:
                yield "ADDED", pod("a")
        finally:
            steps.append("closed")

    async with watching(watch).watch(ListOptions()) as batches:
        await read_next(batches.read_into)
    assert steps == ["closed"]


async def test_leaving_closes_what_nobody_read_from() -> None:
    class Stream:
        closed = False

        def __aiter__(self) -> Stream:
            return self

        async def __anext__(self) -> Any:
            raise StopAsyncIteration

        async def aclose(self) -> None:
            self.closed = True

    stream = Stream()
    async with watching(lambda options: stream).watch(ListOptions()):
        pass
    assert stream.closed


@pytest.mark.parametrize("answer", [None, 5, "text", {"type": "ADDED"}])
async def test_what_is_no_watch_is_named_beside_what_is(answer: Any) -> None:
    with pytest.raises(WatchError, match=r"watch of pods must return a Watch, .*, not \w+"):
        await frames_of(watching(lambda options: answer))


# -- colours -----------------------------------------------------------------------------------


async def test_a_list_that_blocks_does_not_block_the_loop() -> None:
    go_on = threading.Event()

    def list_slowly(options: ListOptions) -> Iterator[Any]:
        assert go_on.wait(10)
        yield pod(threading.current_thread().name)

    source = ListWatch(list_slowly, lambda options: (), name="pods")
    asking = asyncio.ensure_future(source.page(ListOptions()))
    await asyncio.sleep(0)
    go_on.set()
    assert [each.name for each in await asking] == ["list of pods"]


async def test_a_plain_function_may_return_a_coroutine_and_sees_the_context() -> None:
    variable: ContextVar[str] = ContextVar("variable")
    variable.set("seen")

    async def later() -> list[Any]:
        return [pod("a")]

    got: list[str] = []

    def list_later(options: ListOptions) -> Any:
        got.append(variable.get())
        return later()

    page = await ListWatch(list_later, list_later).page(ListOptions())
    assert [each.name for each in page] == ["a"]
    assert got == ["seen"]


async def test_a_callable_object_may_be_async() -> None:
    class Lister:
        async def __call__(self, options: ListOptions) -> list[Any]:
            return [pod(str(options.limit), spec={"on": threading.current_thread().name})]

    page = await ListWatch(Lister(), Lister()).page(ListOptions(limit=7))
    assert page[0].name == "7"
    assert page[0].get_path("spec.on") == threading.current_thread().name


async def test_a_watch_that_blocks_is_read_in_a_thread() -> None:
    coming: queue.Queue[Any] = queue.Queue()

    def watch(options: ListOptions) -> Iterator[Any]:
        return iter(lambda: coming.get(timeout=10), None)

    found: list[str] = []
    async with watching(watch).watch(ListOptions()) as batches:
        for name in "abc":
            waiting = asyncio.ensure_future(read_next(batches.read_into))
            await asyncio.sleep(0)
            coming.put(("ADDED", pod(name)))
            found += told(await waiting or [])
        coming.put(None)
        assert await read_all(batches.read_into) == []
    assert found == ["ADDED default/a", "ADDED default/b", "ADDED default/c"]


async def test_many_events_of_a_blocking_iterator_all_arrive_in_order() -> None:
    def watch(options: ListOptions) -> Iterator[Any]:
        for number in range(3000):  # more than a thread may read ahead
            yield "ADDED", pod(f"p{number}")

    frames = await frames_of(watching(watch))
    assert told(frames) == [f"ADDED default/p{number}" for number in range(3000)]


async def test_leaving_closes_a_generator_in_its_thread() -> None:
    closed = threading.Event()

    def watch(options: ListOptions) -> Iterator[Any]:
        try:
            while True:
                yield "ADDED", pod("a")
        finally:
            closed.set()

    async with watching(watch).watch(ListOptions()) as batches:
        await read_next(batches.read_into)
    assert closed.is_set()
    assert "watch of pods" not in {thread.name for thread in threading.enumerate()}


async def test_leaving_closes_an_iterator_that_waits() -> None:
    class Stream:
        """Blocks until it is closed, as a socket does."""

        def __init__(self) -> None:
            self.closing = threading.Event()
            self.reading = asyncio.Event()
            self.loop = asyncio.get_running_loop()

        def __iter__(self) -> Stream:
            return self

        def __next__(self) -> Any:
            self.loop.call_soon_threadsafe(self.reading.set)
            self.closing.wait()
            raise OSError("closed while being read")

        def close(self) -> None:
            self.closing.set()

    stream = Stream()
    reading = asyncio.ensure_future(frames_of(watching(lambda options: stream)))
    await stream.reading.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert stream.closing.is_set()
    assert "watch of pods" not in {thread.name for thread in threading.enumerate()}


async def test_an_iterator_that_cannot_be_stopped_is_left_behind_with_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on = threading.Event()

    def watch(options: ListOptions) -> Iterator[Any]:
        yield "ADDED", pod("a")
        go_on.wait()

    async with watching(watch).watch(ListOptions()) as batches:
        await read_next(batches.read_into)
    assert "watch of pods" in caplog.text
    (thread,) = [each for each in threading.enumerate() if each.name == "watch of pods"]
    assert thread.daemon
    go_on.set()
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()


# -- failures of the callables -----------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError("boom"), StopIteration("boom"), SystemExit("boom")])
async def test_what_a_plain_callable_raises_is_no_answer(error: BaseException) -> None:
    def fail(options: ListOptions) -> Any:
        raise error

    source = ListWatch(fail, fail, name="pods")
    with pytest.raises(TransportError, match=r"list of pods: .*boom"):
        await source.page(ListOptions())
    with pytest.raises(TransportError, match=r"watch of pods: .*boom"):
        await frames_of(source)


async def test_what_an_async_callable_raises_is_no_answer() -> None:
    async def fail(options: ListOptions) -> Any:
        raise ConnectionResetError("boom")

    source = ListWatch(fail, fail)
    with pytest.raises(TransportError, match="the list callable: ConnectionResetError: boom"):
        await source.page(ListOptions())
    with pytest.raises(TransportError, match="the watch callable: ConnectionResetError: boom"):
        await frames_of(source)


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_watch_that_breaks_gives_what_came_before(colour: str) -> None:
    def sync_watch(options: ListOptions) -> Iterator[Any]:
        yield "ADDED", pod("a")
        raise ConnectionResetError("boom")

    async def async_watch(options: ListOptions) -> AsyncIterator[Any]:
        for each in sync_watch(options):
            yield each

    source = watching(sync_watch if colour == "sync" else async_watch)
    async with source.watch(ListOptions()) as batches:
        assert told(await read_next(batches.read_into) or []) == ["ADDED default/a"]
        with pytest.raises(TransportError, match="boom") as caught:
            await read_next(batches.read_into)
    assert isinstance(caught.value.__cause__, ConnectionResetError)


@pytest.mark.parametrize(
    ("error", "is_lost_connection"),
    [
        (ConnectionRefusedError("boom"), True),
        (TimeoutError("boom"), True),
        (OSError("boom"), True),
        (ValueError("boom"), False),
        (RuntimeError("boom"), False),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_only_an_oserror_of_a_callable_is_a_lost_connection(
    error: Exception, is_lost_connection: bool
) -> None:
    async def fail(options: ListOptions) -> Any:
        raise error

    async def break_off(options: ListOptions) -> AsyncIterator[Any]:
        yield "ADDED", pod("a")
        raise error

    caught: list[TransportError] = []
    for source in (ListWatch(fail, fail), ListWatch(fail, break_off)):
        for ask in (source.page(ListOptions()), frames_of(source)):
            with pytest.raises(TransportError) as raised:
                await ask
            caught.append(raised.value)
    expected = TransportError if is_lost_connection else SourceError
    assert [type(each) for each in caught] == [expected] * 4
    assert {each.__cause__ for each in caught} == {error}


async def test_errors_of_kinform_pass_as_they_are() -> None:
    gone = ExpiredError("too old", code=410)

    async def fail(options: ListOptions) -> Any:
        raise gone

    with pytest.raises(ExpiredError) as caught:
        await ListWatch(fail, fail).page(ListOptions())
    assert caught.value is gone
