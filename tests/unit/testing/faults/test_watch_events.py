"""Each fault of watch events, as a client sees it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kinform.errors import ConfigError
from kinform.testing import ApiServer, faults
from tests.support import raw_http

MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{MAPS}?watch=true&resourceVersion=0"
STREAM = (
    f"{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    "&allowWatchBookmarks=true"
)
END = "k8s.io/initial-events-end"


def _config_map(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture
def api(kinform_api: ApiServer) -> ApiServer:
    """A server with three config maps."""
    for name in ("a", "b", "c"):
        kinform_api.create(_config_map(name))
    return kinform_api


def _names(events: list[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


@pytest.mark.parametrize(
    ("fault", "code", "reason"),
    [
        (faults.expired_event(), 410, "Expired"),
        (faults.internal_error_event(), 500, "InternalError"),
        (faults.storage_read_error_event(), 500, "StorageReadError"),
        (faults.error_event(507, "Full"), 507, "Full"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
async def test_an_error_event_comes_at_once_in_an_answer_that_began_well_and_ends_it(
    api: ApiServer, fault: faults.Fault, code: int, reason: str
) -> None:
    api.faults.inject(fault, resource="configmaps")

    answer = await raw_http.ask(api.url, WATCH)

    assert (answer.status, answer.end) == (200, raw_http.COMPLETE)
    [event] = answer.events()
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", code, reason)


async def test_an_error_event_can_come_after_good_ones(api: ApiServer) -> None:
    api.faults.inject(faults.expired_event(after=2))

    events = (await raw_http.ask(api.url, WATCH)).events()

    assert [event["type"] for event in events] == ["ADDED", "ADDED", "ERROR"]


async def test_an_error_event_may_not_say_that_it_is_a_status(api: ApiServer) -> None:
    api.faults.inject(faults.error_event_without_kind())

    [event] = (await raw_http.ask(api.url, WATCH)).events()

    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 410
    assert not {"kind", "apiVersion"} & event["object"].keys()


@pytest.mark.parametrize("after", [0, 2])
async def test_a_watch_can_end_cleanly_and_say_nothing(api: ApiServer, after: int) -> None:
    api.faults.inject(faults.close_silently(after=after))

    answer = await raw_http.ask(api.url, WATCH)

    assert (answer.status, answer.end) == (200, raw_http.COMPLETE)
    assert len(answer.events()) == after


async def test_silence_is_an_open_socket_on_which_nothing_comes(api: ApiServer) -> None:
    api.faults.inject(faults.silence(after=1))

    async with raw_http.open_answer(api.url, WATCH) as answer:
        assert (await answer.event())["object"]["metadata"]["name"] == "a"
        api.create(_config_map("d"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(answer.line(), 0.2)


async def test_a_stream_can_be_cut_inside_its_initial_events(api: ApiServer) -> None:
    api.faults.inject(faults.cut_after_events(2))

    answer = await raw_http.ask(api.url, STREAM)

    assert answer.end == raw_http.CUT
    assert _names(answer.events()) == [("ADDED", "a"), ("ADDED", "b")]


def test_to_cut_after_no_events_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigError, match="drop_connection"):
        faults.cut_after_events(0)


@pytest.mark.parametrize(
    ("fault", "end"),
    [
        (faults.cut_inside_event(after=1), raw_http.CUT),
        (faults.end_inside_event(after=1), raw_http.COMPLETE),
    ],
    ids=["cut", "clean end"],
)
async def test_a_stream_can_end_in_the_middle_of_a_line(
    api: ApiServer, fault: faults.Fault, end: str
) -> None:
    api.faults.inject(fault)

    answer = await raw_http.ask(api.url, WATCH)

    assert answer.end == end
    whole, half = answer.body.split(b"\n")
    assert json.loads(whole)["object"]["metadata"]["name"] == "a"
    assert half.startswith(b'{"type":"ADDED","object":{')
    with pytest.raises(json.JSONDecodeError):
        json.loads(half)


@pytest.mark.parametrize(
    "fault", [faults.malformed_event(after=1), faults.garbage_line(after=1)], ids=lambda f: f.name
)
async def test_after_a_line_that_is_no_event_the_stream_goes_on(
    api: ApiServer, fault: faults.Fault
) -> None:
    api.faults.inject(fault)

    async with raw_http.open_answer(api.url, WATCH) as answer:
        lines = [await answer.line() for _ in range(4)]

    with pytest.raises(ValueError, match=r"JSON|Expecting|decode"):
        json.loads(lines[1])
    good = [json.loads(line) for line in (lines[0], lines[2], lines[3])]
    assert _names(good) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


async def test_an_event_can_be_three_megabytes_long(api: ApiServer) -> None:
    api.faults.inject(faults.huge_event())

    async with raw_http.open_answer(api.url, WATCH) as answer:
        line = await answer.line()
        following = await answer.line()

    assert len(line) >= 3_000_000
    padding = json.loads(line)["object"]["metadata"]["annotations"]["kinform.dev/padding"]
    assert set(padding) == {"é"}
    assert len(following) < 10_000
