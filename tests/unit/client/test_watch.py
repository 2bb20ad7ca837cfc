"""One open watch: what comes out of it, and every way in which it ends."""

from __future__ import annotations

import asyncio
import gc
import gzip
import weakref

import pytest

from kinform._runtime import Demand, ReadOutcome
from kinform.api import GVK, GVR, ListOptions
from kinform.client import Client, EventType, Frame, Watch
from kinform.errors import (
    ConfigError,
    DecodeError,
    ExpiredError,
    KinformError,
    NotFoundError,
    StateError,
    TransportError,
    WatchError,
)
from kinform.objects import Unstructured
from tests.support.answers import event, json_answer, pod, status, text_answer, watch_answer
from tests.support.memory_transport import MemoryTransport
from tests.support.reading import read_all, read_next
from tests.support.scripted_server import (
    LAST_CHUNK,
    WATCH_HEAD,
    Close,
    Hold,
    Reset,
    ScriptedServer,
    Step,
)
from tests.support.wire import chunk, stream_head

PODS = GVR("", "v1", "pods")
PATH = "/api/v1/pods"


async def names(watch: Watch[Unstructured]) -> list[str]:
    return [found.object.name async for found in watch]


async def test_events_come_out_with_their_type_and_object(
    memory: MemoryTransport, client: Client
) -> None:
    bookmark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}}
    kinds = ["ADDED", "MODIFIED", "DELETED"]
    lines = [event(kind, pod("a", rv=str(at))) for at, kind in enumerate(kinds)]
    memory.on(PATH, watch_answer(*lines, event("BOOKMARK", bookmark)))
    async with client.watch(PODS) as watch:
        found = [event async for event in watch]
    assert [event.type for event in found] == [*map(EventType, kinds), EventType.BOOKMARK]
    assert [event.object.resource_version for event in found] == ["0", "1", "2", "9"]
    assert found[-1].object.name == ""
    assert found[0].object.gvk == GVK("", "v1", "Pod")


async def test_the_request_of_a_watch_says_what_is_wanted(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/api/v1/namespaces/x/pods", watch_answer())
    async with client.watch(
        PODS,
        namespace="x",
        labels={"app": "web"},
        fields="metadata.name=a",
        resource_version="7",
        bookmarks=True,
        timeout_seconds=300,
    ):
        pass
    (request,) = memory.requests
    assert request.method == "GET"
    assert request.headers == {"Accept": "application/json"}
    assert request.total_timeout is None
    assert request.query == {
        "watch": "true",
        "labelSelector": "app=web",
        "fieldSelector": "metadata.name=a",
        "resourceVersion": "7",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
    }


async def test_options_say_it_all_at_once(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, watch_answer())
    options = ListOptions(
        resource_version_match="NotOlderThan", send_initial_events=True, allow_watch_bookmarks=True
    )
    async with client.watch(PODS, options):
        pass
    assert memory.requests[0].query == {
        "watch": "true",
        "resourceVersionMatch": "NotOlderThan",
        "sendInitialEvents": "true",
        "allowWatchBookmarks": "true",
    }


async def test_a_kind_is_watched_where_discovery_says(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/apis/apps/v1/deployments", watch_answer())
    async with client.watch(GVK("apps", "v1", "Deployment")) as watch:
        assert await names(watch) == []


async def test_blank_lines_are_no_events(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, watch_answer(b"\n\n", event("ADDED", pod("a")), b"\r\n  \n", b"\n"))
    async with client.watch(PODS) as watch:
        assert await names(watch) == ["a"]


async def test_a_last_line_without_its_end_counts_if_it_is_whole(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a")), event("ADDED", pod("b")).rstrip()))
    async with client.watch(PODS) as watch:
        assert await names(watch) == ["a", "b"]


async def test_an_end_inside_a_line_is_no_clean_end(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a")), event("ADDED", pod("b"))[:-10]))
    async with client.watch(PODS) as watch:
        assert (await anext(watch)).object.name == "a"
        with pytest.raises(WatchError, match="ended inside an event"):
            await anext(watch)
        with pytest.raises(WatchError, match="is over"):
            await anext(watch)


@pytest.mark.parametrize(
    "line",
    [
        b"rubbish\n",
        b'{"type":"EXPLODED","object":{}}\n',
        b'{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"labels":5}}}\n',
        b'{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":'
        + b"[" * 100_000
        + b"\n",
    ],
    ids=["no JSON", "an unknown type", "an odd object", "a deep one"],
)
async def test_a_bad_event_does_not_end_the_watch(
    memory: MemoryTransport, client: Client, line: bytes
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a")) + line + event("ADDED", pod("b"))))
    async with client.watch(PODS) as watch:
        assert (await anext(watch)).object.name == "a"
        with pytest.raises(DecodeError):
            await anext(watch)
        assert await names(watch) == ["b"]


async def test_batches_give_errors_as_data(memory: MemoryTransport, client: Client) -> None:
    lines = event("ADDED", pod("a")) + b"rubbish\n" + event("ERROR", status(410, "Expired"))
    memory.on(PATH, watch_answer(lines))
    async with client.watch(PODS) as watch:
        (batch,) = await read_all(watch.read_into)
    assert [frame.type for frame in batch] == ["ADDED", "ERROR", "ERROR"]
    assert [type(frame.error) for frame in batch] == [type(None), DecodeError, ExpiredError]
    assert batch[1].payload == b"rubbish"


async def test_a_raised_error_is_not_kept_alive_by_the_watch(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, watch_answer(event("ERROR", status(410, "Expired"))))
    async with client.watch(PODS) as watch:
        try:
            await anext(watch)
        except ExpiredError as error:
            gone = weakref.ref(error)
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("entered", [False, True])
async def test_a_watch_outside_async_with_says_how_to_use_it(
    memory: MemoryTransport, client: Client, entered: bool
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a"))))
    watch = client.watch(PODS)
    if entered:
        async with watch:
            pass
    with pytest.raises(StateError, match="async with"):
        await anext(watch)
    with pytest.raises(StateError, match="async with"):
        await watch.read_into(lambda frames: Demand.STOP)


async def test_trying_too_early_does_not_spoil_the_watch(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a"))))
    watch = client.watch(PODS)
    with pytest.raises(StateError):
        await anext(watch)
    async with watch:
        assert await names(watch) == ["a"]


async def test_a_watch_is_opened_once(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, watch_answer())
    async with client.watch(PODS) as watch:
        with pytest.raises(StateError, match="another watch"):
            await watch.__aenter__()


async def test_an_answer_that_is_no_json_is_no_watch(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, text_answer("<html>log in</html>", content_type="text/html"))
    with pytest.raises(DecodeError, match=r"text/html.*proxy or a login page"):
        async with client.watch(PODS):
            pass
    assert all(response.closed for response in memory.responses)


@pytest.mark.parametrize(
    ("code", "reason", "kind"), [(410, "Expired", ExpiredError), (404, "NotFound", NotFoundError)]
)
async def test_a_refused_watch_raises_before_it_is_entered(
    memory: MemoryTransport, client: Client, code: int, reason: str, kind: type[KinformError]
) -> None:
    memory.on(PATH, json_answer(status(code, reason, details={"name": "x"}), code))
    with pytest.raises(kind):
        async with client.watch(PODS, resource_version="1"):
            pytest.fail("it was refused")


# -- read_into -------------------------------------------------------------------------------


def names_in(frames: list[Frame] | None) -> list[str]:
    return [frame.record.head.name for frame in frames or () if frame.record]


async def test_read_into_delivers_each_chunk_and_continues_after_stop(
    memory: MemoryTransport, client: Client
) -> None:
    lines = {name: event("ADDED", pod(name)) for name in "abc"}
    memory.on(PATH, watch_answer(lines["a"] + lines["b"], lines["c"][:20], lines["c"][20:]))
    async with client.watch(PODS) as watch:
        assert names_in(await read_next(watch.read_into)) == ["a", "b"]
        assert [names_in(frames) for frames in await read_all(watch.read_into)] == [["c"]]
        assert await read_all(watch.read_into) == []


@pytest.mark.parametrize(
    ("demand", "outcome"),
    [(Demand.MORE, ReadOutcome.ENDED), (Demand.STOP, ReadOutcome.STOPPED)],
)
async def test_last_line_without_line_end_is_delivered_once(
    memory: MemoryTransport, client: Client, demand: Demand, outcome: ReadOutcome
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a")), event("ADDED", pod("b")).rstrip()))
    async with client.watch(PODS) as watch:
        assert names_in(await read_next(watch.read_into)) == ["a"]
        got: list[str] = []

        def take(frames: list[Frame]) -> Demand:
            got.extend(names_in(frames))
            return demand

        assert await watch.read_into(take) is outcome
        assert got == ["b"]
        assert await read_all(watch.read_into) == []
        assert await names(watch) == []


async def test_read_into_raises_at_an_end_inside_a_line(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a")), event("ADDED", pod("b"))[:-10]))
    got: list[str] = []

    def take(frames: list[Frame]) -> Demand:
        got.extend(names_in(frames))
        return Demand.MORE

    async with client.watch(PODS) as watch:
        with pytest.raises(WatchError, match="ended inside an event"):
            await watch.read_into(take)
    assert got == ["a"]


@pytest.mark.parametrize("rest", [b"", b"\n"])
async def test_metadata_watch_delivers_metadata_of_whole_objects(
    memory: MemoryTransport, client: Client, rest: bytes
) -> None:
    whole = [event("ADDED", pod(name, spec={"nodeName": "n"})) for name in "ab"]
    memory.on(PATH, watch_answer(whole[0], whole[1].rstrip() + rest))
    async with client.metadata.watch(PODS) as watch:
        batches = await read_all(watch.read_into)
    records = [frame.record for frames in batches for frame in frames]
    assert [record.head.name for record in records if record] == ["a", "b"]
    assert [record.gvk.kind for record in records if record] == ["PartialObjectMetadata"] * 2
    assert not any(b"nodeName" in record.payload for record in records if record)


async def test_what_who_takes_the_frames_raises_is_raised(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a"))))

    def refuse(frames: list[Frame]) -> Demand:
        raise LookupError("not this one")

    async with client.watch(PODS) as watch:
        with pytest.raises(LookupError, match="not this one"):
            await watch.read_into(refuse)


async def test_iteration_continues_after_read_into(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, watch_answer(*[event("ADDED", pod(name)) for name in "abcd"]))
    async with client.watch(PODS) as watch:
        assert names_in(await read_next(watch.read_into)) == ["a"]
        assert (await anext(watch)).object.name == "b"
        assert names_in(await read_next(watch.read_into)) == ["c"]
        assert await names(watch) == ["d"]
        assert await names(watch) == []


async def test_frames_reach_the_consumer_in_the_callback(
    server: ScriptedServer, http_client: Client
) -> None:
    """Each is sent when the one before was consumed, and no task was woken in between."""
    told = [asyncio.Event() for _ in range(3)]
    lines = [chunk(event("ADDED", pod(name))) for name in "abc"]
    server.script(WATCH_HEAD, told[0], lines[0], told[1], lines[1], told[2], lines[2], LAST_CHUNK)
    got: list[str] = []
    tasks: list[object] = []

    def take(frames: list[Frame]) -> Demand:
        got.extend(names_in(frames))
        tasks.append(asyncio.current_task())
        if len(got) < 3:
            told[len(got)].set()
        return Demand.MORE

    async with http_client.watch(PODS) as watch:
        task = asyncio.create_task(watch.read_into(take))
        await asyncio.sleep(0)
        told[0].set()
        assert await asyncio.wait_for(task, 5) is ReadOutcome.ENDED
    assert got == ["a", "b", "c"]
    assert tasks == [None] * 3


async def test_line_over_the_limit_raises_and_closes_the_connection(
    server: ScriptedServer,
) -> None:
    server.script(WATCH_HEAD, *[chunk(b"x" * 1000)] * 20, Hold())
    async with Client(server.config, max_body_size=10_000) as client, client.watch(PODS) as watch:
        with pytest.raises(WatchError, match="longer than 10000 bytes"):
            await read_all(watch.read_into)
        await asyncio.wait_for(server.received[0].dropped.wait(), 5)


# -- over real sockets -----------------------------------------------------------------------


async def test_pieces_cut_anywhere_make_the_same_events(
    server: ScriptedServer, http_client: Client
) -> None:
    note = {"annotations": {"note": "é\u0085🐳"}}
    body = b"".join(event("ADDED", pod(name, spec=note)) for name in "abc")
    server.script(WATCH_HEAD, *[chunk(body[at : at + 7]) for at in range(0, len(body), 7)])
    server.script(WATCH_HEAD + chunk(body) + LAST_CHUNK)
    async with http_client.watch(PODS) as watch:
        for name in "abc":
            assert (await anext(watch)).object.name == name
    async with http_client.watch(PODS) as watch:
        assert await names(watch) == ["a", "b", "c"]


async def test_one_gzip_member_a_flush_is_undone_on_the_fly(
    server: ScriptedServer, http_client: Client
) -> None:
    members = [gzip.compress(event("ADDED", pod(name))) for name in "abc"]
    go_on = asyncio.Event()
    head = stream_head(Content_Type="application/json", Content_Encoding="gzip")
    server.script(head, chunk(members[0]), go_on, *map(chunk, members[1:]), LAST_CHUNK)
    async with http_client.watch(PODS) as watch:
        assert (await anext(watch)).object.name == "a"
        go_on.set()
        assert await names(watch) == ["b", "c"]


async def test_cancelling_wakes_a_blocked_read_at_once(
    server: ScriptedServer, http_client: Client
) -> None:
    server.script(WATCH_HEAD, chunk(event("ADDED", pod("a"))), Hold())
    first = asyncio.Event()

    async def follow() -> None:
        async with http_client.watch(PODS) as watch:
            async for _ in watch:
                first.set()

    task = asyncio.ensure_future(follow())
    await first.wait()
    task.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.received[0].dropped.wait()


async def test_a_read_given_up_is_not_mistaken_for_a_clean_end(
    server: ScriptedServer, http_client: Client
) -> None:
    server.script(WATCH_HEAD, chunk(event("ADDED", pod("a"))), Hold())
    async with http_client.watch(PODS) as watch:
        await anext(watch)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await anext(watch)
        with pytest.raises(WatchError, match="cancelled"):
            await anext(watch)


async def test_a_watch_that_was_left_gives_nothing_any_more(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a")), event("ADDED", pod("b"))))
    async with client.watch(PODS) as watch:
        assert (await anext(watch)).object.name == "a"
    with pytest.raises(StateError, match="is not open"):
        await anext(watch)


async def test_options_and_keywords_for_the_same_thing_are_refused(client: Client) -> None:
    with pytest.raises(
        ConfigError, match="pass labelSelector, timeoutSeconds in options, not beside"
    ):
        client.watch(PODS, ListOptions(resource_version="7"), labels="app=web", timeout_seconds=5)


async def test_leaving_drops_the_connection(server: ScriptedServer, http_client: Client) -> None:
    server.script(WATCH_HEAD, chunk(event("ADDED", pod("a"))), Hold())
    async with http_client.watch(PODS) as watch:
        await anext(watch)
        assert not server.received[0].dropped.is_set()
    await asyncio.wait_for(server.received[0].dropped.wait(), 5)


async def test_leaving_without_reading_drops_it_too(
    server: ScriptedServer, http_client: Client
) -> None:
    server.script(WATCH_HEAD, Hold())
    async with http_client.watch(PODS):
        pass
    await asyncio.wait_for(server.received[0].dropped.wait(), 5)


async def test_an_error_in_the_body_drops_it_too(
    server: ScriptedServer, http_client: Client
) -> None:
    server.script(WATCH_HEAD, chunk(event("ADDED", pod("a"))), Hold())

    async def follow() -> None:
        async with http_client.watch(PODS) as watch:
            async for _ in watch:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await follow()
    await asyncio.wait_for(server.received[0].dropped.wait(), 5)


async def test_two_tasks_cannot_read_one_watch(server: ScriptedServer, http_client: Client) -> None:
    server.script(WATCH_HEAD, Hold())
    async with http_client.watch(PODS) as watch:
        reading = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        with pytest.raises(StateError, match="another task"):
            await anext(watch)
    with pytest.raises(KinformError):
        await asyncio.wait_for(reading, 5)


async def test_leaving_in_one_task_wakes_the_reader_in_another(
    server: ScriptedServer, http_client: Client
) -> None:
    server.script(WATCH_HEAD, Hold())
    async with http_client.watch(PODS) as watch:
        reading = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
    with pytest.raises(TransportError, match="closed"):
        await asyncio.wait_for(reading, 5)


async def test_closing_the_client_ends_its_watches(server: ScriptedServer) -> None:
    server.script(WATCH_HEAD, Hold())
    client = Client(server.config)
    async with client.watch(PODS) as watch:
        reading = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(TransportError):
            await asyncio.wait_for(reading, 5)
        await client.close()


@pytest.mark.parametrize(
    "end",
    [
        (Close(),),
        (Reset(),),
        (b"5\r\n{", Close()),
    ],
    ids=["cut", "reset", "cut inside a chunk"],
)
async def test_a_broken_connection_is_a_transport_error(
    server: ScriptedServer, http_client: Client, end: tuple[Step, ...]
) -> None:
    server.script(WATCH_HEAD, chunk(event("ADDED", pod("a"))), *end)
    async with http_client.watch(PODS) as watch:
        with pytest.raises(TransportError):
            await names(watch)


async def test_a_line_without_an_end_is_refused_at_the_limit(server: ScriptedServer) -> None:
    server.script(WATCH_HEAD, *[chunk(b"x" * 1000)] * 20, Hold())
    async with Client(server.config, max_body_size=10_000) as client:
        async with client.watch(PODS) as watch:
            with pytest.raises(WatchError, match="longer than 10000 bytes"):
                await anext(watch)
        await asyncio.wait_for(server.received[0].dropped.wait(), 5)


async def test_failing_requests_leave_a_parallel_watch_alone(
    server: ScriptedServer, http_client: Client
) -> None:
    go_on = asyncio.Event()
    line = chunk(event("ADDED", pod("a")))
    server.always(PATH, WATCH_HEAD, line, go_on, line, LAST_CHUNK)
    forbidden = json_answer(status(403, "Forbidden"), 403).raw()
    failing = [(forbidden,), (b"rubbish\r\n\r\n", Close()), (Reset(),), (Close(),)]
    for steps in failing:
        server.script(*steps)
    async with http_client.watch(PODS) as watch:
        await anext(watch)
        for _ in failing:
            with pytest.raises(KinformError):
                await http_client.get(PODS, "x", namespace="n")
        go_on.set()
        assert await names(watch) == ["a"]


async def test_open_and_close_without_a_block(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, watch_answer(event("ADDED", pod("a"))))
    watch = await client.watch(PODS).open()
    assert await names(watch) == ["a"]
    with pytest.raises(StateError, match="opened before"):
        await watch.open()
    await watch.close()
    await watch.close()
    assert memory.responses[-1].closed
    with pytest.raises(StateError, match="is not open"):
        await anext(watch)
