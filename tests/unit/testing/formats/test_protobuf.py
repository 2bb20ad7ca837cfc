"""What the embedded server says in protobuf that a real one cannot be asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from kinform.api import GVK, GVR
from kinform.client import Client
from kinform.errors import DecodeError, NotFoundError, ServerError
from kinform.models.core.v1 import ConfigMap
from kinform.protobuf import UnwrappedBody, codec_for, read_event, read_kind, split_list, unwrap
from kinform.testing import ApiServer, faults
from kinform.testing.formats.protobuf import MessageCache
from tests.support import raw_http

MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{MAPS}?watch=true&resourceVersion=0"
PROTOBUF = "application/vnd.kubernetes.protobuf"
BINARY = {"Accept": f"{PROTOBUF},application/json"}
KIND = GVK("", "v1", "ConfigMap")


def _config_map(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture
def api(kinform_api: ApiServer) -> ApiServer:
    """A server with three config maps."""
    for name in ("a", "b", "c"):
        kinform_api.create(_config_map(name))
    return kinform_api


def _frames(body: bytes) -> Iterator[bytes]:
    while body:
        size = int.from_bytes(body[:4], "big")
        assert len(body) >= 4 + size, "the answer ends inside a frame"
        yield body[4 : 4 + size]
        body = body[4 + size :]


def _tree(found: UnwrappedBody) -> Any:
    codec = codec_for(GVK.of(found.api_version or "v1", found.kind or "Status"))
    assert codec is not None
    return codec.decode(found.raw)


def _events(frames: Iterable[bytes]) -> list[tuple[str, Any]]:
    events = []
    for frame in frames:
        type_, kind, raw = read_event(frame)
        events.append((type_, _tree(UnwrappedBody(*read_kind(kind), raw))))
    return events


async def _watched(api: ApiServer, count: int, path: str = WATCH) -> list[bytes]:
    """The first frames of a watch that goes on."""
    body = b""
    async with raw_http.open_answer(api.url, path, headers=BINARY) as answer:
        while True:
            body += await answer.chunk()
            try:
                frames = list(_frames(body))
            except AssertionError:
                continue
            if len(frames) >= count:
                return frames


def _names(events: list[tuple[str, Any]]) -> list[str]:
    return [tree["metadata"].get("name", "") for _, tree in events]


# What a real server would never have stored


async def test_what_no_message_can_say_is_an_error_that_names_it(api: ApiServer) -> None:
    api.create({**_config_map("odd"), "immutable": "perhaps"})

    one = await raw_http.ask(api.url, f"{MAPS}/odd", headers=BINARY)
    many = await raw_http.ask(api.url, MAPS, headers=BINARY)
    as_json = await raw_http.ask(api.url, f"{MAPS}/odd")

    for answer in (one, many):
        assert answer.status == 500
        message = _tree(unwrap(answer.body))["message"]
        assert "ConfigMap 'odd'" in message
        assert "immutable" in message
    assert as_json.json()["immutable"] == "perhaps"


async def test_what_no_message_can_say_ends_a_watch(api: ApiServer) -> None:
    api.create({**_config_map("bad"), "immutable": "perhaps"})

    answer = await raw_http.ask(api.url, WATCH, headers=BINARY)

    assert answer.end == raw_http.COMPLETE
    *good, (last, status) = _events(_frames(answer.body))
    assert _names(good) == ["a", "b"]
    assert (last, status["code"]) == ("ERROR", 500)
    assert "immutable" in status["message"]


# Translating


def test_an_object_is_translated_once_while_many_ask_for_it() -> None:
    translations = MessageCache()
    body = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'

    assert translations.message(body, KIND) is translations.message(body, KIND)


def test_what_was_translated_is_forgotten_when_there_is_more() -> None:
    bodies = [b'{"metadata":{"name":"%d"}}' % number for number in range(100, 200)]
    translations = MessageCache(limit=1000)

    first = translations.message(bodies[0], KIND)
    for body in bodies:
        translations.message(body, KIND)

    assert translations.message(bodies[0], KIND) == first
    assert translations.message(bodies[0], KIND) is not first


def test_what_cannot_be_translated_is_asked_for_in_another_form() -> None:
    with pytest.raises(ServerError, match="request JSON"):
        MessageCache().message(b'{"metadata":{"labels":7}}', KIND)


# Bookmarks


async def test_the_bookmark_after_initial_events_is_one_in_protobuf(api: ApiServer) -> None:
    stream = (
        f"{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        "&allowWatchBookmarks=true"
    )

    frames = await _watched(api, 4, stream)

    *added, (last, bookmark) = _events(frames)
    assert _names(added) == ["a", "b", "c"]
    assert last == "BOOKMARK"
    assert bookmark["metadata"] == {
        "resourceVersion": str(api.resource_version),
        "annotations": {"k8s.io/initial-events-end": "true"},
    }


# Faults


@pytest.mark.parametrize("after", [0, 2])
async def test_an_injected_error_event_is_one_in_protobuf(api: ApiServer, after: int) -> None:
    api.faults.inject(faults.expired_event(after=after))

    answer = await raw_http.ask(api.url, WATCH, headers=BINARY)

    assert answer.headers["content-type"] == f"{PROTOBUF};stream=watch"
    events = _events(_frames(answer.body))
    assert [type_ for type_, _ in events] == ["ADDED"] * after + ["ERROR"]
    assert events[-1][1]["code"] == 410


async def test_an_injected_error_event_of_a_custom_kind_is_json(kinform_api: ApiServer) -> None:
    kinform_api.create(_definition())
    kinform_api.faults.inject(faults.expired_event())

    path = "/apis/example.test/v1/widgets?watch=true"
    answer = await raw_http.ask(kinform_api.url, path, headers=BINARY)

    assert answer.headers["content-type"] == "application/json"
    assert [each["type"] for each in answer.events()] == ["ERROR"]


async def test_an_injected_error_may_not_say_that_it_is_a_status(api: ApiServer) -> None:
    api.faults.inject(faults.error_event_without_kind())

    [frame] = _frames((await raw_http.ask(api.url, WATCH, headers=BINARY)).body)

    _, kind, _ = read_event(frame)
    assert read_kind(kind) == ("", "")


async def test_an_injected_refusal_comes_in_the_form_that_was_asked_for(api: ApiServer) -> None:
    api.faults.inject(faults.too_large_resource_version())

    answer = await raw_http.ask(api.url, MAPS, headers=BINARY)

    assert (answer.status, answer.headers["content-type"]) == (504, PROTOBUF)
    assert answer.headers["retry-after"] == "1"
    assert _tree(unwrap(answer.body))["details"]["retryAfterSeconds"] == 1


async def test_a_malformed_event_has_an_object_that_does_not_decode(api: ApiServer) -> None:
    api.faults.inject(faults.malformed_event(after=1))

    good, bad, *rest = await _watched(api, 4)

    type_, kind, raw = read_event(bad)
    assert (type_, read_kind(kind)) == ("MODIFIED", ("v1", "ConfigMap"))
    codec = codec_for(KIND)
    assert codec is not None
    with pytest.raises(DecodeError, match="does not decode"):
        codec.decode(raw)
    assert all(read_event(frame) for frame in (good, *rest))


async def test_a_line_of_garbage_is_a_frame_of_garbage(api: ApiServer) -> None:
    api.faults.inject(faults.garbage_line(b"nonsense", after=1))

    frames = await _watched(api, 4)

    assert frames[1] == b"nonsense"
    assert len(frames) == 4


async def test_a_stream_can_end_inside_a_frame(api: ApiServer) -> None:
    api.faults.inject(faults.end_inside_event(after=1))

    body = (await raw_http.ask(api.url, WATCH, headers=BINARY)).body

    first = 4 + int.from_bytes(body[:4], "big")
    assert _names(_events(_frames(body[:first]))) == ["a"]
    assert 4 < len(body[first:]) < 4 + int.from_bytes(body[first : first + 4], "big")


async def test_a_huge_event_is_huge_in_protobuf(api: ApiServer) -> None:
    api.faults.inject(faults.huge_event(100_000))

    sizes = [len(frame) for frame in await _watched(api, 3)]

    assert sizes[0] > 100_000 > sizes[1]


async def test_delayed_events_come_one_by_one(api: ApiServer) -> None:
    api.faults.inject(faults.delay_events(0.01))

    async with raw_http.open_answer(api.url, WATCH, headers=BINARY) as answer:
        chunks = [await answer.chunk() for _ in range(3)]

    assert [_names(_events(_frames(chunk))) for chunk in chunks] == [["a"], ["b"], ["c"]]


async def test_a_malformed_list_has_an_item_that_does_not_decode(api: ApiServer) -> None:
    api.faults.inject(faults.malformed_list())

    *good, bad = split_list(
        unwrap((await raw_http.ask(api.url, MAPS, headers=BINARY)).body).raw
    ).items

    assert len(good) == 3
    codec = codec_for(KIND)
    assert codec is not None
    with pytest.raises(DecodeError, match="does not decode"):
        codec.decode(bad)


async def test_opaque_resource_versions_are_opaque_in_protobuf(api: ApiServer) -> None:
    api.faults.inject(faults.opaque_resource_versions("rv-"), times=None)

    one = _tree(unwrap((await raw_http.ask(api.url, f"{MAPS}/a", headers=BINARY)).body))
    many = split_list(unwrap((await raw_http.ask(api.url, MAPS, headers=BINARY)).body).raw)
    events = _events(await _watched(api, 3))

    stored = api.get(GVR("", "v1", "configmaps"), "a", "default")["metadata"]["resourceVersion"]
    assert one["metadata"]["resourceVersion"] == f"rv-{stored}"
    assert many.resource_version == f"rv-{api.resource_version}"
    assert events[0][1]["metadata"]["resourceVersion"] == f"rv-{stored}"


# Our own client


async def test_our_client_reads_protobuf_from_this_server(api: ApiServer) -> None:
    async with Client(api.config) as client:
        found = await client.get(ConfigMap, "a", namespace="default")
        with pytest.raises(NotFoundError, match='configmaps "nope" not found'):
            await client.get(ConfigMap, "nope", namespace="default")

    assert found.name == "a"
    accepted = [each.call.headers["accept"] for each in api.requests.matching(verb="get")]
    assert all(each.startswith(PROTOBUF) for each in accepted)


def _definition() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.test"},
        "spec": {
            "group": "example.test",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }
