"""The bytes of a watch, however they are cut, give the same frames."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinform.client import EventType, Frame
from kinform.client._frames import FrameDecoder
from kinform.client._json_wire import JSON_WIRE
from kinform.errors import ApiError, DecodeError, ExpiredError, WatchError
from kinform.objects import JSON, Unstructured
from tests.support.answers import event, pod, status
from tests.support.breaking import broken

pytestmark = pytest.mark.usefixtures("either_way")

FAST = b'{"type":"ADDED","object":'
LIMIT = 1 << 30
_decode_line = FrameDecoder(JSON).decode


def frames_of(chunks: Iterable[bytes], limit: int = LIMIT) -> list[Frame]:
    stream = JSON_WIRE.framing(limit)
    frames = [frame for chunk in chunks for frame in stream.feed(chunk)]
    return [*frames, *stream.finish("watch")]


def lines_of(chunks: Iterable[bytes], limit: int = LIMIT) -> list[bytes]:
    """Of lines that are no events: these come out as they are."""
    return [frame.payload for frame in frames_of(chunks, limit)]


def decode(line: bytes) -> Frame:
    """As the first event of a stream, and as one after others of a pod; both are the same."""
    frame = _decode_line(line)
    if line and b"\n" not in line:
        first, later = frames_of([event("ADDED", pod("before")) + line + b"\n"])
        assert first.record is not None
        assert said(later) == said(frame)
    return frame


def said(frame: Frame) -> tuple[Any, ...]:
    """A frame as something that compares."""
    record = frame.record
    found = None if record is None else (record.payload, record.head, record.gvk, record.codec)
    return frame.type, found, type(frame.error), str(frame.error), frame.payload


texts = st.text(max_size=20) | st.sampled_from(
    ["\u0085", "\u2028", "\u2029", "é", "🐳", "}", '"\n\\']
)
objects = st.builds(
    lambda name, labels, note, rv: {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": "default",
            "resourceVersion": str(rv),
            "labels": labels,
            "annotations": {"note": note},
        },
    },
    texts,
    st.dictionaries(texts, texts, max_size=3),
    texts,
    st.integers(0, 2**70),
)
events = st.builds(
    lambda type, obj, ascii: (
        json.dumps({"type": type, "object": obj}, separators=(",", ":"), ensure_ascii=ascii)
        .encode("utf-8", "surrogatepass")
        .replace(b"\r", b"")
    ),
    st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]),
    objects,
    st.booleans(),
)


@given(st.lists(events, max_size=6), st.data())
def test_frames_do_not_depend_on_where_the_bytes_are_cut(lines: list[bytes], data: Any) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12).map(sorted))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[start:end] for start, end in itertools.pairwise(edges)]
    assert [said(frame) for frame in frames_of(chunks)] == [
        said(_decode_line(line)) for line in lines
    ]


@given(st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]), objects)
def test_the_fast_path_and_the_general_one_agree(type: str, obj: dict[str, Any]) -> None:
    compact = json.dumps({"type": type, "object": obj}, separators=(",", ":"))
    fast = decode(compact.encode())
    assert fast.record is not None
    others = [
        json.dumps({"type": type, "object": obj}),
        json.dumps({"object": obj, "type": type}, separators=(",", ":")),
        json.dumps({"type": type, "object": obj, "more": {"x": [1]}}, separators=(",", ":")),
        json.dumps({"more": 1, "type": type, "object": obj}, separators=(",", ":")),
        json.dumps({"type": type, "object": obj}, indent=2).replace("\n", ""),
        f"{compact}  ",
        f" {compact}",
        f"{compact}\r",
    ]
    for other in others:
        frame = decode(other.encode())
        assert frame.type == fast.type
        assert frame.record is not None
        assert frame.record.head == fast.record.head
        assert frame.record.gvk == fast.record.gvk
        assert Unstructured.over(frame.record) == Unstructured.over(fast.record)


def test_every_single_cut_of_a_stream_with_wide_characters_is_harmless() -> None:
    note = {"annotations": {"note": "a\u0085b\u2028c é 🐳"}}
    obj = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", **note}}
    line = json.dumps({"type": "ADDED", "object": obj}, ensure_ascii=False).encode()
    stream = line + b"\n" + line + b"\n"
    expected = [said(decode(line))] * 2
    for cut in range(len(stream) + 1):
        assert [said(frame) for frame in frames_of([stream[:cut], stream[cut:]])] == expected
    bytewise = (stream[at : at + 1] for at in range(len(stream)))
    assert [said(frame) for frame in frames_of(bytewise)] == expected


@pytest.mark.parametrize("character", ["\u0085", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\r"])
def test_only_a_newline_ends_a_line(character: str) -> None:
    line = f"a{character}b".encode()
    assert lines_of([line + b"\n" + line + b"\n"]) == [line, line]


def test_unicode_line_ends_inside_strings_survive() -> None:
    obj = pod("a")
    obj["metadata"]["annotations"] = {"note": "one\u0085two\u2028three"}
    line = json.dumps({"type": "ADDED", "object": obj}, ensure_ascii=False).encode()
    frame = decode(line)
    assert frame.record is not None
    assert Unstructured.over(frame.record).annotations == {"note": "one\u0085two\u2028three"}


def test_a_long_line_takes_linear_time() -> None:
    def seconds(size: int) -> float:
        piece = b"x" * 512
        best = float("inf")
        for _ in range(3):
            stream = JSON_WIRE.framing(LIMIT)
            started = time.process_time()
            for _ in range(size // len(piece)):
                stream.feed(piece)
            assert len(stream.feed(b"\n")[0].payload) == size
            best = min(best, time.process_time() - started)
        return best

    # Four times the bytes: four times the time if linear, sixteen times if quadratic.
    assert seconds(8 << 20) < 9 * seconds(2 << 20) + 0.005


def test_a_line_of_3_mb_is_one_event() -> None:
    line = event("MODIFIED", pod("big", data={"blob": "x" * 3_000_000}))
    chunks = [line[at : at + 65536] for at in range(0, len(line), 65536)]
    (frame,) = frames_of(chunks)
    assert frame.type is EventType.MODIFIED
    assert frame.record is not None
    assert len(Unstructured.over(frame.record)["data"]["blob"]) == 3_000_000


@pytest.mark.parametrize("size", [1, 3, 100, 101, 4096])
def test_a_line_beyond_the_limit_is_refused_however_it_is_cut(size: int) -> None:
    stream = b"x" * 101 + b"\n"
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    with pytest.raises(WatchError, match="longer than 100 bytes; raise max_body_size"):
        lines_of(chunks, limit=100)


def test_a_line_of_exactly_the_limit_is_fine() -> None:
    line = b"x" * 100
    assert lines_of([line + b"\n" + line + b"\n"], limit=100) == [line, line]
    assert lines_of([line[:50], line[50:] + b"\n"], limit=100) == [line]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"<html>",
        b'{"type":"ADDED"}',
        b'{"object":{}}',
        b'{"type":1,"object":{}}',
        b'{"type":"\xff","object":{}}',
        b'{"type":"EXPLODED","object":{}}',
        b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{}}',
        b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{}}}}',
        b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{}}}x',
        b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{}}]',
        b'{"type":"ADDED","object":' + b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_event_is_an_error_that_keeps_the_line(line: bytes) -> None:
    frame = decode(line)
    assert frame.type is EventType.ERROR
    assert frame.record is None
    assert isinstance(frame.error, DecodeError)
    assert len(str(frame.error)) < 500
    assert frame.payload in line


@pytest.mark.parametrize(
    "payload",
    [
        b"null",
        b"5",
        b'"text"',
        b"[]",
        b"{}",
        b'{"kind":"Pod","apiVersion":"v1"}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":null}',
        b'{"metadata":{"name":"a"}}',
        b'{"kind":"Pod","apiVersion":"a/b/c","metadata":{}}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"labels":{"a":1}}}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"\xff"}}',
    ],
)
def test_an_object_that_does_not_decode_is_kept_with_its_reason(payload: bytes) -> None:
    frame = decode(FAST + payload + b"}")
    assert frame.type is EventType.ADDED
    assert frame.record is None
    assert isinstance(frame.error, DecodeError)
    assert frame.payload == payload


@pytest.mark.parametrize(
    "obj", [status(410, "Expired", "too old"), {"code": 410}, {"reason": "Gone", "message": "x"}]
)
def test_an_error_event_is_the_servers_refusal(obj: dict[str, Any]) -> None:
    frame = decode(event("ERROR", obj))
    assert frame.type is EventType.ERROR
    assert type(frame.error) is ExpiredError


@pytest.mark.parametrize("payload", [b"null", b"[]", b'{"code":"x"}', b'{"message":5}'])
def test_an_error_event_without_a_status_is_an_error_of_its_own(payload: bytes) -> None:
    frame = decode(b'{"type":"ERROR","object":' + payload + b"}")
    assert frame.type is EventType.ERROR
    assert isinstance(frame.error, DecodeError)
    assert not isinstance(frame.error, ApiError)
    assert frame.payload == payload


def test_a_member_named_twice_counts_the_second_time() -> None:
    first, second = json.dumps(pod("first")), json.dumps(pod("second"))
    line = f'{{"type":"ADDED","object":{first},"object":{second}}}'.encode()
    frame = decode(line)
    assert frame.record is not None
    assert frame.record.head.name == "second"


@given(seed=st.integers(0, 1 << 32))
def test_however_a_stream_is_broken_each_line_is_what_it_is_by_itself(seed: int) -> None:
    chance = random.Random(seed)
    stream = broken(
        b"".join(event("MODIFIED", pod(name)) for name in "abcdef"),
        chance,
        place=chance.randrange,
        insertion=lambda: chance.choice((b"\n", b"\n\n", b"}", b"\r\n", chance.randbytes(5))),
    )
    stream += b"\n"
    lines = [line for line in stream.split(b"\n") if line and not line.isspace()]
    assert [said(frame) for frame in frames_of([stream])] == [
        said(_decode_line(line)) for line in lines
    ]


@pytest.mark.parametrize(
    "line",
    [
        b'{"data":{"password":"hunter2"',
        b'{"object":{"data":{"password":"hunter2"}}}',
        b'[{"password":"hunter2"}]',
        b'hunter2"}}}',
        b"hunter2",
        b'"hunter2"',
        b'{"type":"ADDED","object":"hunter2 is it"}',
        b'{"type":"ADDED","object":["hunter2"]}',
        b'{"type":"ADDED","object":{"data":{"password":"hunter2"},"metadata":5}}',
    ],
)
def test_an_error_never_shows_a_part_of_an_object(line: bytes) -> None:
    """18.19: The error is logged, and the object may be a Secret."""
    frame = decode(line)

    assert isinstance(frame.error, DecodeError)
    assert "hunter2" not in str(frame.error)


@pytest.mark.parametrize("line", [b'<html lang="en">', b"upstream connect error"])
def test_an_error_shows_what_is_not_an_object(line: bytes) -> None:
    """18.19: Pages of proxies are worth showing."""
    assert repr(line) in str(decode(line).error)


@pytest.mark.parametrize("line", [event("ADDED", pod("hunter2-not")), b'{"hunter2'])
def test_a_frame_shows_no_bytes(line: bytes) -> None:
    """18.19: Tracebacks with local variables show reprs."""
    frame = decode(line.rstrip())
    assert "hunter2" not in repr(frame).replace("hunter2-not", "")
    assert '"' not in repr(frame)
