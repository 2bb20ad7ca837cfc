"""Answers and streams in protobuf, cut and broken in every way that a line can break them."""

from __future__ import annotations

import tracemalloc

import pytest

from kinform.client import EventType, Frame
from kinform.client._lists import read_list
from kinform.client._protobuf_wire import PROTOBUF_WIRE
from kinform.client._status import error_from_response
from kinform.client._wire import Framing, wire_for
from kinform.errors import DecodeError, ExpiredError, ForbiddenError, WatchError
from kinform.models.core.v1 import ConfigMap
from kinform.protobuf import read_event, wrap, write_event
from tests.unit.protobuf.sample import config_map, envelope, event, list_of, put, status

pytestmark = pytest.mark.usefixtures("either_way")

LIMIT = 1 << 20
PROTOBUF = "application/vnd.kubernetes.protobuf"


def framing() -> Framing:
    return PROTOBUF_WIRE.framing(LIMIT)


def body(name: str, rv: str = "7") -> bytes:
    return envelope("v1", "ConfigMap", config_map(name, rv=rv))


STREAM = (
    event("ADDED", body("a", "1"))
    + event("MODIFIED", body("b", "2"))
    + event("BOOKMARK", envelope("v1", "ConfigMap", put(1, put(6, "3"))))
    + event("DELETED", body("a", "4"))
    + event("ERROR", status(410, "Expired", "too old"))
)


def test_a_stream_may_be_cut_at_every_byte() -> None:
    whole = [(frame.type, frame.record and frame.record.head) for frame in framing().feed(STREAM)]
    assert [kind for kind, _ in whole] == ["ADDED", "MODIFIED", "BOOKMARK", "DELETED", "ERROR"]
    for cut in range(len(STREAM) + 1):
        halves = framing()
        frames = [*halves.feed(STREAM[:cut]), *halves.feed(STREAM[cut:])]
        assert [(frame.type, frame.record and frame.record.head) for frame in frames] == whole
        assert halves.finish("watch") == []
    singly = framing()
    frames = [frame for byte in STREAM for frame in singly.feed(bytes([byte]))]
    assert len(frames) == len(whole)


def filled(size: int) -> bytes:
    """The message of a map, and so much that is unknown."""
    return config_map("a", rv="1") + put(15, b"x" * size)


# Where one of the lengths in front of an object takes one more byte, and around it.
SIZES = [*range(140), *range(16_200, 16_400), 70_000, *range(2_097_000, 2_097_152, 11)]


def test_events_are_recognised_without_parsing_whatever_their_size(
    monkeypatch: pytest.MonkeyPatch, either_way: str
) -> None:
    parsed: list[bytes] = []

    def note(frame: bytes) -> tuple[str, bytes, bytes]:
        parsed.append(frame)
        return read_event(frame)

    monkeypatch.setattr("kinform.client._protobuf_wire.read_event", note)
    stream = PROTOBUF_WIRE.framing(4 << 20)
    for size in SIZES:
        message = filled(size)
        for kind in ("ADDED", "MODIFIED", "DELETED"):
            (frame,) = stream.feed(write_event(kind, wrap("v1", "ConfigMap", message)))
            assert frame.type == kind
            assert frame.record is not None
            assert frame.record.payload == message
            assert frame.record.head.key == "default/a"
    assert len(parsed) == 1 or either_way == "interpreted"


def test_another_kind_in_an_event_of_the_same_length_is_what_it_says() -> None:
    message = filled(100)
    assert len("Deployment") == len("ReplicaSet")
    stream = framing()
    seen = []
    for kind in ("Deployment", "ReplicaSet", "ReplicaSet", "Deployment"):
        (frame,) = stream.feed(write_event("ADDED", wrap("apps/v1", kind, message)))
        assert frame.record is not None
        seen.append(frame.record.gvk.kind)
    assert seen == ["Deployment", "ReplicaSet", "ReplicaSet", "Deployment"]


@pytest.mark.parametrize("position", range(60))
def test_a_damaged_beginning_is_not_taken_for_the_expected_one(position: int) -> None:
    """Whatever the parser says of it, with or without having seen such an event before."""
    good = write_event("ADDED", wrap("v1", "ConfigMap", filled(300)))
    bad = bytearray(good)
    bad[4 + position] ^= 0x15
    stream = framing()
    stream.feed(good)
    assert _said(stream.feed(bytes(bad))) == _said(framing().feed(bytes(bad)))


def _said(frames: list[Frame]) -> list[object]:
    return [(each.type, str(each.error), each.record and each.record.payload) for each in frames]


def test_a_bookmark_has_a_version_and_no_name() -> None:
    frame = framing().feed(STREAM)[2]
    assert frame.record is not None
    assert (frame.record.head.name, frame.record.head.resource_version) == ("", "3")


def test_an_error_event_is_the_refusal_that_it_says() -> None:
    (frame,) = framing().feed(event("ERROR", status(410, "Expired", "too old")))
    assert frame.type is EventType.ERROR
    assert isinstance(frame.error, ExpiredError)
    assert "too old" in str(frame.error)


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 20])
def test_a_stream_that_ends_inside_of_an_event_is_told(cut: int) -> None:
    stream = framing()
    assert stream.feed(STREAM[:cut]) == []
    with pytest.raises(WatchError, match="ended inside an event"):
        stream.finish("watch of maps")


def test_a_length_of_two_gigabytes_is_refused_at_once_and_holds_nothing() -> None:
    stream = framing()
    tracemalloc.start()
    try:
        with pytest.raises(WatchError, match="longer than 1048576 bytes; raise max_body_size"):
            stream.feed(b"\x7f\xff\xff\xff" + b"x" * 100)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("frame", "kind", "complaint"),
    [
        (b"\xff\xff\xff", "ERROR", "not a watch event"),
        (b"", "ERROR", "not a watch event"),
        (put(1, "ADDED") + put(2, put(1, b"{}")), "ERROR", "not protobuf of Kubernetes"),
        (put(1, "ADDED") + put(2, put(1, b"k8s\0\xff")), "ERROR", "does not decode"),
        (put(1, "RENAMED") + put(2, put(1, body("a"))), "ERROR", "unknown type 'RENAMED'"),
        (put(1, b"\xff") + put(2, put(1, body("a"))), "ERROR", "not a watch event"),
        (
            put(1, "ADDED") + put(2, put(1, envelope("v1", "Nonsense", b""))),
            "ADDED",
            "its schema is not known",
        ),
        (put(1, "ADDED") + put(2, put(1, envelope("", "", b""))), "ADDED", "has no valid kind"),
        (
            put(1, "ADDED") + put(2, put(1, envelope("v1", "ConfigMap", config_map("a")[:-2]))),
            "ADDED",
            "ConfigMap 'default/a'",
        ),
        (
            put(1, "ADDED") + put(2, put(1, envelope("v1", "ConfigMap", b"", encoding="gzip"))),
            "ERROR",
            "gzip",
        ),
        (put(1, "ERROR") + put(2, put(1, body("a"))), "ERROR", "not a Status"),
    ],
)
def test_a_poisoned_event_is_told_and_the_stream_goes_on(
    frame: bytes, kind: str, complaint: str
) -> None:
    stream = framing()
    poison = len(frame).to_bytes(4, "big") + frame
    bad, good = stream.feed(poison + event("ADDED", body("b")))
    assert isinstance(bad.error, DecodeError)
    assert bad.type == kind
    assert complaint in str(bad.error)
    assert good.record is not None
    assert good.record.head.name == "b"


def test_a_poisoned_event_says_whose_it_is_as_far_as_that_can_be_read() -> None:
    raw = config_map("a", rv="12")[:-2]
    (frame,) = framing().feed(event("MODIFIED", envelope("v1", "ConfigMap", raw)))
    assert isinstance(frame.error, DecodeError)
    assert (frame.error.key, frame.error.resource_version) == ("default/a", "12")
    assert frame.payload == raw


# -- lists, objects, refusals ----------------------------------------------------------------


async def test_a_bad_item_of_a_list_does_not_hide_the_others() -> None:
    bad = config_map("b", rv="9")[:-2]
    raw = list_of(config_map("a"), bad, config_map("c"), version="11", token="next")
    found = await read_list(
        envelope("v1", "ConfigMapList", raw), PROTOBUF_WIRE, ConfigMap, what="GET maps"
    )
    assert [each.name for each in found] == ["a", "c"]
    assert (found.resource_version, found.continue_token) == ("11", "next")
    (item,) = found.undecodable
    assert (item.error.key, item.error.resource_version) == ("default/b", "9")
    assert item.payload == bad


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (body("a"), "a ConfigMap, not a list"),
        (envelope("v1", "NonsenseList", b""), "its schema is not known"),
        (envelope("v1", "ConfigMapList", b"\x12\x05"), "does not decode as a list"),
        (b"{}", "not protobuf of Kubernetes"),
        (envelope("", "", b""), "a document without a kind, not a list"),
    ],
)
def test_what_is_no_list_is_told(answer: bytes, complaint: str) -> None:
    with pytest.raises(DecodeError, match="GET maps: the answer is not a list") as caught:
        PROTOBUF_WIRE.read_list(answer, "GET maps")
    assert complaint in str(caught.value)


def test_an_object_of_an_unknown_kind_names_the_way_out() -> None:
    with pytest.raises(DecodeError, match='wire_format="json"'):
        PROTOBUF_WIRE.read_object(envelope("example.com/v1", "Thing", b""))


def test_a_refusal_in_protobuf_is_the_exception_that_it_says() -> None:
    error = error_from_response(
        "GET /x", 403, {"Content-Type": PROTOBUF}, status(403, "Forbidden", "not you")
    )
    assert isinstance(error, ForbiddenError)
    assert "not you" in str(error)


@pytest.mark.parametrize("body", [b"", b"nonsense", b"k8s\0\xff", envelope("v1", "Pod", b"")])
def test_a_refusal_that_does_not_decode_still_refuses(body: bytes) -> None:
    error = error_from_response("GET /x", 403, {"Content-Type": PROTOBUF}, body)
    assert isinstance(error, ForbiddenError)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("", "JsonWire"),
        ("application/json", "JsonWire"),
        ("application/json;stream=watch", "JsonWire"),
        (PROTOBUF, "ProtobufWire"),
        (f"{PROTOBUF};stream=watch", "ProtobufWire"),
        ("Application/Vnd.Kubernetes.Protobuf", "ProtobufWire"),
    ],
)
def test_the_content_type_decides(content_type: str, expected: str) -> None:
    assert type(wire_for(content_type, what="GET /x")).__name__ == expected


@pytest.mark.parametrize("content_type", ["text/html", "application/yaml", "application/protobuf"])
def test_another_content_type_is_an_error_with_a_hint(content_type: str) -> None:
    with pytest.raises(DecodeError, match=f"GET /x: the answer is {content_type}.*proxy"):
        wire_for(content_type, what="GET /x")
