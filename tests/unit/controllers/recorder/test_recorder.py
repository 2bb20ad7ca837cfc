"""The recorder writes events in the background, within bounds."""

from __future__ import annotations

import asyncio
import logging
import threading
from itertools import pairwise
from typing import Any

import pytest

from kinform.controllers.recorder import EventRecorder
from kinform.errors import (
    AlreadyExistsError,
    ConfigError,
    ForbiddenError,
    InvalidNameError,
    NoMatchError,
    NotFoundError,
    TransportError,
)
from kinform.metrics import NoMetrics
from kinform.models.core.v1 import ObjectReference, Pod
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.waiting import wait_until
from tests.unit.controllers.recorder.event_server import (
    OBJECT,
    EventServer,
    pod,
    recorder_for,
)


async def settled(recorder: EventRecorder) -> None:
    """Return when no event waits to be written at once, on virtual time."""
    await wait_until(lambda: not recorder.status().queued, timeout=3000)
    await asyncio.sleep(0.1)


@virtual_time
async def test_event_has_what_the_new_api_demands() -> None:
    """20: all required fields, and no version of the object."""
    server = EventServer()
    async with recorder_for(server, instance="web-7") as recorder:
        assert recorder.event(
            OBJECT, "Warning", "Failed", "it failed", action="Pull", annotations={"a": "b"}
        )
    (event,) = server.events.values()
    assert event.pop("eventTime").endswith("Z")
    assert event["metadata"].pop("name").startswith("web-0.")
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "shop", "annotations": {"a": "b"}},
        "type": "Warning",
        "reason": "Failed",
        "reportingController": "web",
        "reportingInstance": "web-7",
        "action": "Pull",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "shop",
            "name": "web-0",
            "uid": "u1",
        },
        "note": "it failed",
    }


@virtual_time
async def test_event_of_the_core_api_has_a_count() -> None:
    """20: for older servers and readers."""
    server = EventServer()
    async with recorder_for(server, api="v1") as recorder:
        for _ in range(3):
            recorder.event(OBJECT, "Normal", "Up", "it is up", related=pod("other"))
    (event,) = server.events.values()
    assert (event["count"], event["message"], event["involvedObject"]["name"]) == (
        3,
        "it is up",
        "web-0",
    )
    assert event["source"] == {"component": "web"}
    assert event["related"]["name"] == "other"
    assert "eventTime" not in event


@virtual_time
async def test_series_is_written_at_the_second_time_and_at_its_end() -> None:
    """20: client-go's numbers: checked every six minutes, over after six silent ones."""
    server = EventServer()
    async with recorder_for(server) as recorder:
        for _ in range(4):
            recorder.event(OBJECT, "Normal", "Up", "it is up")
            await settled(recorder)
        assert server.counts == [2]
        assert server.verbs() == ["create", "patch"]
        assert recorder.status().pending == 2
        await asyncio.sleep(800)
        assert server.counts == [4]
        recorder.event(OBJECT, "Normal", "Up", "it is up")
        await settled(recorder)
        assert server.counts == [4, 1]


@virtual_time
async def test_continuing_series_is_refreshed_every_half_hour() -> None:
    """20: so that the event does not expire on the server."""
    server = EventServer()
    async with recorder_for(server) as recorder:
        for _ in range(40):
            recorder.event(OBJECT, "Normal", "Up", "it is up")
            await asyncio.sleep(60)
        await asyncio.sleep(1)
        assert server.verbs() == ["create", "patch", "patch"]
        assert len(server.events) == 1
        assert server.counts[0] > 25


@virtual_time
async def test_stop_writes_all_counts() -> None:
    """20: also those that would wait for the end of their series."""
    server = EventServer()
    async with recorder_for(server) as recorder:
        for number in range(30):
            recorder.event(pod(f"p{number % 3}"), "Normal", "Up", "it is up")
    assert server.counts == [10, 10, 10]
    assert recorder.status().pending == 0
    assert recorder.status().written == 30


@virtual_time
async def test_stop_is_bounded_and_says_what_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    """20: a server that does not respond cannot hold the program up."""
    server = EventServer()
    server.gate.clear()
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with recorder_for(server) as recorder:
        for number in range(7):
            recorder.event(pod(f"p{number}"), "Normal", "Up", "it is up")
    assert loop.time() - began == pytest.approx(2.0)
    assert recorder.status().dropped == {"unsent": 7}
    assert recorder.status().pending == 0
    assert "7 events could not be written within 2 s" in caplog.text


@virtual_time
async def test_recorder_that_has_stopped_drops_until_it_starts_again() -> None:
    """20: and never raises."""
    server = EventServer()
    recorder = recorder_for(server)
    assert recorder.event(OBJECT, "Normal", "Early", "before the start")
    async with recorder:
        pass
    assert not recorder.event(OBJECT, "Normal", "Late", "after the stop")
    assert recorder.status().dropped == {"stopped": 1}
    async with recorder:
        assert recorder.event(OBJECT, "Normal", "Again", "after a restart")
    assert [event["reason"] for event in server.events.values()] == ["Early", "Again"]


@virtual_time
async def test_too_many_events_are_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """20: bounded, never blocking; logged the 1st, 10th and 100th time."""
    server = EventServer()
    recorder = recorder_for(server, capacity=20)
    accepted = [recorder.event(pod(f"p{n}"), "Normal", "Up", "up") for n in range(150)]
    assert accepted.count(True) == 20
    assert recorder.status().dropped == {"full": 130}
    assert recorder.event(pod("p0"), "Normal", "Up", "up"), "a repetition needs no place"
    logged = [each for each in caplog.messages if "dropped event" in each]
    assert [text.rsplit("(", 1)[1] for text in logged] == [
        "full, 1 so far)",
        "full, 10 so far)",
        "full, 100 so far)",
    ]
    async with recorder:
        await settled(recorder)
    assert len(server.events) == 20


@virtual_time
async def test_lost_connections_are_retried_for_two_minutes() -> None:
    """20: twelve attempts, ten seconds apart, the first delay random."""
    server = EventServer()

    def fail(verb: str, api: str) -> None:
        raise TransportError("refused")

    server.answer = fail
    async with recorder_for(server) as recorder:
        recorder.event(OBJECT, "Normal", "Up", "up")
        await asyncio.sleep(200)
        times = [at for _, _, at in server.requests]
        gaps = [b - a for a, b in pairwise(times)]
        assert len(times) == 12
        assert 0 <= gaps[0] <= 10.1
        assert all(9.99 < gap < 12.6 for gap in gaps[1:])
        assert recorder.status().dropped == {"unreachable": 1}
        server.answer = lambda verb, api: None
        recorder.event(OBJECT, "Normal", "Up", "up")
    assert server.counts == [1]


@virtual_time
async def test_event_whose_response_was_lost_is_not_written_twice() -> None:
    """20: the retried create finds its own event."""
    server = EventServer()
    failures = iter([TransportError("cut")])

    def lose(verb: str) -> None:
        for failure in failures:
            raise failure

    server.after = lose
    async with recorder_for(server) as recorder:
        recorder.event(OBJECT, "Normal", "Up", "up")
        await asyncio.sleep(20)
    assert server.counts == [1]
    assert recorder.status().written == 1


@virtual_time
async def test_name_that_another_process_uses_is_replaced() -> None:
    """20: nothing is lost to a collision."""
    server = EventServer()
    refusals = iter([AlreadyExistsError("exists", code=409)])

    def refuse(verb: str, api: str) -> None:
        for refusal in refusals:
            raise refusal

    server.answer = refuse
    async with recorder_for(server) as recorder:
        recorder.event(OBJECT, "Normal", "Up", "up")
    assert server.counts == [1]


@virtual_time
async def test_server_that_contradicts_itself_ends_the_attempts() -> None:
    """20: every name is taken, and no event exists."""
    server = EventServer()

    def refuse(verb: str, api: str) -> None:
        if verb == "create":
            raise AlreadyExistsError("exists", code=409)
        raise NotFoundError("gone", code=404)

    server.answer = refuse
    async with recorder_for(server) as recorder:
        recorder.event(OBJECT, "Normal", "Up", "up")
    assert recorder.status().dropped == {"refused": 1}
    assert len(server.requests) == 4


@virtual_time
async def test_event_that_the_server_has_removed_is_created_again() -> None:
    """20: with the whole count."""
    server = EventServer()
    async with recorder_for(server, api="v1") as recorder:
        recorder.event(OBJECT, "Normal", "Up", "up")
        await settled(recorder)
        server.events.clear()
        recorder.event(OBJECT, "Normal", "Up", "up")
        await settled(recorder)
    assert server.counts == [2]


@pytest.mark.parametrize(
    "error",
    [NotFoundError('namespaces "shop" not found', code=404), ForbiddenError("no", code=403)],
    ids=["namespace gone", "forbidden"],
)
@virtual_time
async def test_refused_events_are_lost_but_logged_in_steps(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """20: API errors are not retried, and never fatal."""
    server = EventServer()

    def refuse(verb: str, api: str) -> None:
        raise error

    server.answer = refuse
    async with recorder_for(server) as recorder:
        for number in range(12):
            recorder.event(pod(f"p{number}"), "Normal", "Up", "up")
        await settled(recorder)
        assert len(server.requests) == 12
        assert recorder.status().dropped == {"refused": 12}
        assert recorder.status().last_error == str(error)
        assert recorder.is_running
        server.answer = lambda verb, api: None
        recorder.event(pod("p0"), "Normal", "Up", "up")
    assert server.counts == [1]
    assert len([text for text in caplog.messages if "is lost (refused" in text]) == 2


@virtual_time
async def test_server_without_the_new_api_gets_core_events(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """20: found out by the first event, which is not lost."""
    server = EventServer()

    def only_core(verb: str, api: str) -> None:
        if api != "v1":
            raise NoMatchError("no events.k8s.io")

    server.answer = only_core
    with caplog.at_level(logging.INFO, "kinform.recorder"):
        async with recorder_for(server) as recorder:
            for _ in range(3):
                recorder.event(OBJECT, "Normal", "Up", "up")
                await settled(recorder)
    assert server.counts == [3]
    assert recorder.status().api == "v1"
    assert caplog.text.count("the server has no events.k8s.io/v1") == 1


@virtual_time
async def test_errors_of_hooks_and_clients_do_not_end_the_recorder() -> None:
    """20: whatever they are."""
    server = EventServer()

    def crash(verb: str, api: str) -> None:
        raise ZeroDivisionError

    server.answer = crash
    async with recorder_for(server) as recorder:
        recorder.event(OBJECT, "Normal", "Up", "up")
        await settled(recorder)
        assert recorder.status().dropped == {"refused": 1}
        assert recorder.is_running


async def test_events_of_many_threads_are_all_counted() -> None:
    """20: any thread, without waiting."""
    server = EventServer()
    async with EventRecorder(server, "web") as recorder:

        def record() -> None:
            for number in range(200):
                assert recorder.event(pod(f"p{number % 10}"), "Normal", "Up", "up")

        threads = [threading.Thread(target=record) for _ in range(4)]
        for thread in threads:
            thread.start()
        await wait_until(lambda: not any(thread.is_alive() for thread in threads))
    assert server.counts == [80] * 10


@virtual_time
async def test_metrics_count_written_and_dropped_events() -> None:
    """20: exceptions of metrics are not the recorder's."""

    class Counting(NoMetrics):
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def events_written(self, recorder: str, events: int) -> None:
            self.seen.append((recorder, events))

        def events_dropped(self, recorder: str, reason: str, events: int) -> None:
            self.seen.append((recorder, reason, events))
            raise ValueError

    metrics = Counting()
    server = EventServer()
    recorder = recorder_for(server, metrics=metrics, capacity=1)
    recorder.event(OBJECT, "Normal", "Up", "up")
    recorder.event(OBJECT, "Normal", "Up", "up")
    recorder.event(OBJECT, "Normal", "Down", "down")
    async with recorder:
        pass
    assert metrics.seen == [("web", "full", 1), ("web", 2)]


@pytest.mark.parametrize(
    "obj",
    [
        Pod.from_dict(OBJECT),
        Unstructured(OBJECT),
        ObjectReference(api_version="v1", kind="Pod", namespace="shop", name="web-0", uid="u1"),
        {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "u1"},
    ],
    ids=["model", "unstructured", "reference", "dict of a reference"],
)
@virtual_time
async def test_object_may_have_any_form(obj: Any) -> None:
    """20: they all are the same object."""
    server = EventServer()
    async with recorder_for(server) as recorder:
        recorder.event(OBJECT, "Normal", "Up", "up")
        recorder.event(obj, "Normal", "Up", "up")
    assert server.counts == [2]


@virtual_time
async def test_names_of_events_are_valid() -> None:
    """20: names of roles and long names are not; a cluster-scoped object has events in default."""
    server = EventServer()
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    async with recorder_for(server) as recorder:
        for name in ("system:node", "a" * 250, "fine"):
            recorder.event({**kind, "metadata": {"name": name}}, "Normal", "Up", "up")
    names = list(server.events)
    assert [len(name) for name in names[:2]] == [36, 36]
    assert names[2].startswith("fine.")
    assert {event["metadata"]["namespace"] for event in server.events.values()} == {"default"}


@virtual_time
async def test_long_message_is_shortened() -> None:
    """20: the server takes 1024 bytes."""
    server = EventServer()
    async with recorder_for(server) as recorder:
        recorder.event(OBJECT, "Normal", "Up", "é" * 2000)
    (event,) = server.events.values()
    assert 1020 <= len(event["note"].encode()) <= 1024
    assert event["note"].endswith("…")


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ((OBJECT, "normal", "Up", "up"), ConfigError, "'Normal' or a 'Warning', not 'normal'"),
        ((OBJECT, "Normal", "", "up"), ConfigError, "the reason of an event is one word"),
        ((OBJECT, "Normal", "x" * 129, "up"), ConfigError, "at most 128 bytes"),
        ((OBJECT, "Normal", "Up", None), ConfigError, "message of an event takes a string"),
        (("web-0", "Normal", "Up", "up"), ConfigError, "about an object, not a str"),
        (({"metadata": {"name": "a"}}, "Normal", "Up", "up"), InvalidNameError, "apiVersion"),
        ((Pod(), "Normal", "Up", "up"), ConfigError, "this Pod has no name"),
    ],
)
@virtual_time
async def test_wrong_argument_is_named(arguments: Any, error: type[Exception], why: str) -> None:
    """20: mistakes of the program raise, troubles of the server never do."""
    recorder = recorder_for(EventServer())
    with pytest.raises(error, match=why):
        recorder.event(*arguments)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"name": "no spaces"}, "cannot be the name of a recorder"),
        ({"api": "v2"}, "api must be one of"),
        ({"capacity": 0}, "capacity must be at least 1"),
        ({"capacity": "many"}, "capacity= takes a number of events"),
        ({"flush_timeout": None}, "flush_timeout must be 0 or more"),
        ({"clock": 3}, "clock must be a function"),
        ({"flush_timeout": -1}, "flush_timeout must be 0 or more"),
        ({"instance": "x" * 200}, "instance must have 1 to 128"),
        ({"client": object()}, "EventRecorder takes a kinform.Client"),
    ],
)
async def test_wrong_option_is_named(options: dict[str, Any], why: str) -> None:
    """20: before the start."""
    given: dict[str, Any] = {"client": EventServer(), "name": "web", **options}
    with pytest.raises(ConfigError, match=why):
        EventRecorder(given.pop("client"), given.pop("name"), **given)


@pytest.mark.parametrize("way", ["stop", "cancel", "cancel the loop's tasks"])
@virtual_time
async def test_nothing_is_left_behind(way: str) -> None:
    """20: neither tasks nor events, however the recorder ends."""
    server = EventServer()
    recorder = recorder_for(server)
    here = asyncio.current_task()
    running = asyncio.ensure_future(recorder.run())
    await asyncio.sleep(1)
    recorder.event(OBJECT, "Normal", "Up", "up")
    if way == "stop":
        recorder.stop()
    elif way == "cancel":
        running.cancel()
    else:
        for task in asyncio.all_tasks() - {here}:
            task.cancel()
    await asyncio.wait([running])
    await recorder.stopped
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {here}
    status = recorder.status()
    assert status.written + status.dropped.get("unsent", 0) == 1
    assert way.startswith("cancel the") or server.counts == [1]


@virtual_time
async def test_idle_recorder_sends_nothing() -> None:
    """20: and its counts are not written twice."""
    server = EventServer()
    async with recorder_for(server) as recorder:
        for _ in range(3):
            recorder.event(OBJECT, "Normal", "Up", "up")
        await asyncio.sleep(100_000)
        assert server.counts == [3]
        requests = len(server.requests)
        await asyncio.sleep(100_000)
    assert len(server.requests) == requests
