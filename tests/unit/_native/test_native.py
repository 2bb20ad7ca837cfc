"""Compiled code: it is there if it can be, it refuses nonsense, and it keeps nothing for itself."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kinform import _native
from kinform._native import try_events, try_head, try_lines, try_unchunk
from kinform.api import GVK
from kinform.client._frames import EVENT_SHAPES, EventType, Frame
from kinform.objects import JSON, Head, head_decoder
from kinform.protobuf import codec_for, owners_of, wrap, write_event
from kinform.protobuf._head_reader import parsed_head
from tests.support.answers import event, pod
from tests.unit.protobuf.sample import config_map, put

SOURCES = sorted((Path(__file__).parents[3] / "src" / "kinform" / "_native").glob("*.c"))
INCLUDE = Path(sysconfig.get_path("include"))
COMPILER = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0])
CAN_COMPILE = COMPILER is not None and (INCLUDE / "Python.h").exists()

compiled = pytest.mark.skipif(not _native.IS_COMPILED, reason="there is no compiled code here")

read_envelope = head_decoder.decode
MAP = GVK("", "v1", "ConfigMap")
CODEC = codec_for(MAP)
TYPE_META = put(1, "v1") + put(2, "ConfigMap")
POD = GVK("", "v1", "Pod")
OWNED = config_map("a", rv="1")


def _events(chunk: bytes, start: int = 0, longest: int = 1 << 20) -> tuple[list[Frame], int]:
    return try_events(chunk, start, longest, TYPE_META, MAP, CODEC, Head, owners_of, EVENT_SHAPES)


def _lines(
    chunk: bytes,
    start: int = 0,
    longest: int = 1 << 20,
    decode: Callable[[bytes], Any] = read_envelope,
) -> tuple[list[Frame], int]:
    return try_lines(chunk, start, longest, decode, "v1", "Pod", POD, JSON, EVENT_SHAPES)


EVENTS = b"".join(
    write_event(kind, wrap("v1", "ConfigMap", config_map(name, rv="7")))
    for kind, name in (("ADDED", "a"), ("MODIFIED", "b"), ("DELETED", "c"), ("BOOKMARK", "d"))
)
LINES = event("ADDED", pod("a")) + event("DELETED", pod("b")) + event("BOOKMARK", pod("c"))
CHUNKS = b"hello\r\n5\r\nworld\r\n1F;x\r\n"


# -- it is there -----------------------------------------------------------------------------


@pytest.mark.skipif(not CAN_COMPILE, reason="there is no compiler, or no Python.h")
@pytest.mark.skipif(bool(os.environ.get("KINFORM_INTERPRETED")), reason="it is not wanted")
def test_it_is_compiled_where_that_can_be_done() -> None:
    """An optional extension that does not build is only a line in a log that nobody reads."""
    assert _native.IS_COMPILED
    assert _native.StructReader.__module__ == "kinform._native._structs"


@pytest.mark.skipif(not CAN_COMPILE, reason="there is no compiler, or no Python.h")
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_it_compiles_without_a_warning(source: Path, tmp_path: Path) -> None:
    subprocess.run(
        [
            *(str(COMPILER), "-std=c11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"),
            *("-fPIC", f"-I{INCLUDE}", "-c", str(source), "-o", str(tmp_path / "made.o")),
        ],
        check=True,
    )


def test_it_can_be_left_out() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "from kinform import _native; print(_native.IS_COMPILED)"],
        env={**os.environ, "KINFORM_INTERPRETED": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert said.stdout == "False\n"


# -- what it takes, and where it stops -------------------------------------------------------


@compiled
def test_events_are_frames_up_to_what_is_not_all_there() -> None:
    for size in range(len(EVENTS) + 1):
        frames, at = _events(EVENTS[:size])
        whole = _events(EVENTS)[0][: len(frames)]
        assert [frame.record and frame.record.payload for frame in frames] == [
            frame.record and frame.record.payload for frame in whole
        ]
        assert at <= size
        assert (len(frames) == len(_events(EVENTS)[0])) is (size == len(EVENTS))
    assert [frame.type for frame in _events(EVENTS)[0]] == [
        *(EventType.ADDED, EventType.MODIFIED, EventType.DELETED, EventType.BOOKMARK)
    ]


@compiled
def test_what_objects_of_one_chunk_have_in_common_is_there_once() -> None:
    """20 000 pods of a few workloads would have 20 000 times the same words."""

    def labelled(name: str, *owners: str) -> bytes:
        # More different values than are remembered at a time, and one that is not ASCII.
        labels = {"app": "web", "index": name, "who": "J\u00f6rg", "long": "x" * 100}
        metadata = put(1, name) + b"".join(
            put(11, put(1, key) + put(2, labels[key])) for key in sorted(labels)
        )
        metadata += b"".join(put(13, put(4, owner) + put(6, 1)) for owner in owners)
        return write_event("ADDED", wrap("v1", "ConfigMap", put(1, metadata)))

    names = [f"n{number}" for number in range(300)]
    owners = [("u1",), ("u1",), ("u2",), ("u1", "u2"), ()]
    chunk = b"".join(labelled(name, *owners[at % 5]) for at, name in enumerate(names))
    frames, _ = _events(chunk)
    records = [frame.record for frame in frames if frame.record is not None]
    assert [record.head for record in records] == [parsed_head(each.payload) for each in records]
    assert [record.head.labels["index"] for record in records] == names
    labels = [record.head.labels for record in records]
    # Others may have come into its place meanwhile.
    assert len({id(each["app"]) for each in labels}) < 30
    assert records[0].head.owners is records[1].head.owners
    assert records[0].head.owners is not records[2].head.owners


@compiled
def test_more_owners_than_anybody_has_are_left_to_the_parser() -> None:
    def owned(count: int) -> bytes:
        return put(1, put(1, "n") + b"".join(put(13, put(4, f"u{at}")) for at in range(count)))

    assert try_head(owned(8), Head, owners_of) == parsed_head(owned(8))
    assert try_head(owned(9), Head, owners_of) is None
    assert len(parsed_head(owned(9)).owner_uids) == 9


@compiled
@pytest.mark.parametrize(
    "unusual",
    [
        pytest.param(write_event("ERROR", wrap("v1", "ConfigMap", OWNED)), id="an error"),
        pytest.param(write_event("EXPLODED", wrap("v1", "ConfigMap", OWNED)), id="unknown type"),
        pytest.param(write_event("ADDE", wrap("v1", "ConfigMap", OWNED)), id="half a type"),
        pytest.param(write_event("ADDEDD", wrap("v1", "ConfigMap", OWNED)), id="more than a type"),
        pytest.param(write_event("ADDED", wrap("v1", "Secret", OWNED)), id="another kind"),
        pytest.param(write_event("ADDED", OWNED), id="no envelope"),
        pytest.param(write_event("ADDED", b""), id="nothing"),
        pytest.param(write_event("ADDED", b"k8s\0"), id="nothing in the envelope"),
        pytest.param(write_event("ADDED", wrap("v1", "ConfigMap", b"\x0a\x05")), id="broken off"),
        pytest.param(write_event("ADDED", wrap("v1", "ConfigMap", b"")), id="an empty object"),
        pytest.param(b"\0\0\0\0", id="an empty event"),
        pytest.param(b"\xff\xff\xff\xff" + bytes(20), id="four gigabytes"),
    ],
)
def test_an_unusual_event_is_left_alone_and_so_is_what_follows(unusual: bytes) -> None:
    frames, at = _events(EVENTS + unusual + EVENTS)
    assert len(frames) == 4
    assert at == len(EVENTS)
    assert _events(unusual + EVENTS) == ([], 0)


@compiled
def test_what_is_longer_than_agreed_is_left_alone() -> None:
    longest = int.from_bytes(EVENTS[:4])
    assert len(_events(EVENTS, longest=longest)[0]) == 1
    assert _events(EVENTS, longest=longest - 1) == ([], 0)
    line = LINES.index(b"\n")
    assert len(_lines(LINES[: line + 1], longest=line)[0]) == 1
    assert _lines(LINES, longest=line - 1) == ([], 0)


@compiled
def test_lines_are_frames_up_to_what_is_unusual() -> None:
    frames, at = _lines(LINES)
    assert [frame.type for frame in frames] == ["ADDED", "DELETED", "BOOKMARK"]
    assert [frame.record and frame.record.head.name for frame in frames] == ["a", "b", "c"]
    assert at == len(LINES)
    other = pod("x") | {"kind": "Node"}
    for unusual in (
        b"\n",
        b"{}\n",
        b'{"type":"ADDED"}\n',
        event("ERROR", {}),
        event("ADDED", other),
    ):
        assert len(_lines(LINES + unusual + LINES)[0]) == 3
        assert _lines(LINES + unusual + LINES)[1] == len(LINES)
    assert _lines(LINES[:-1])[1] == LINES[:-1].rindex(b"\n") + 1


@compiled
def test_chunks_are_joined_up_to_what_is_more_than_a_size() -> None:
    assert try_unchunk(bytearray(CHUNKS), 0, len(CHUNKS), 5) == (b"helloworld", 15, 0, False)
    assert try_unchunk(bytearray(CHUNKS), 0, 12, 5) == (b"hellowo", 12, 3, True)
    for unusual in (
        b"0\r\n",
        b"5 \r\n",
        b"\r\n",
        b"12345678\r\n",
        b"g\r\n",
        b"5\n",
        b"5\rx",
        b"5 ",
    ):
        data = bytearray(b"hello\r\n" + unusual)
        assert try_unchunk(data, 0, len(data), 5) == (b"hello", 5, 0, False)


@compiled
@pytest.mark.parametrize("beginning", [b"", b"\r", b"\r\n", b"\r\n1", b"\r\n1234567", b"\r\n1F\r"])
def test_what_stands_before_a_chunk_may_come_in_pieces(beginning: bytes) -> None:
    data = bytearray(b"hello" + beginning)
    assert try_unchunk(data, 0, len(data), 5) == (b"hello", 5, 0, True)


def _python_chunks(data: bytes, left: int) -> bytes:
    """The content of chunks, read slowly."""
    content = b""
    while data:
        if not left:
            size, _, rest = data[2:].partition(b"\r\n")
            left, data = int(size, 16), rest
        content, data, left = content + data[:left], data[left:], left - min(left, len(data))
    return content


@compiled
@pytest.mark.parametrize("seed", range(20))
def test_chunks_of_any_size_are_joined_wherever_the_data_ends(seed: int) -> None:
    chance = random.Random(seed)
    first = chance.randrange(1, 30)
    data = chance.randbytes(first)
    ends = [len(data)]
    for _ in range(8):
        size = chance.choice((1, 2, 15, 16, 300))
        data += b"\r\n%x\r\n" % size + chance.randbytes(size)
        ends.append(len(data))
    for end in ends:
        content, at, left, is_all = try_unchunk(bytearray(data), 0, end, first)
        assert (content, at, left, is_all) == (_python_chunks(data[:end], first), end, 0, True)
    for end in range(len(data)):
        content, at, left, _ = try_unchunk(bytearray(data), 0, end, first)
        assert content == _python_chunks(data[:at], first)
        assert at + left <= len(data)


@compiled
def test_a_bytearray_can_be_resized_after_its_chunks_were_read_or_refused() -> None:
    data = bytearray(CHUNKS)
    try_unchunk(data, 0, len(data), 5)
    with pytest.raises(ValueError, match="between"):
        try_unchunk(data, 0, len(data) + 1, 5)
    data.extend(b"more")  # a buffer that was not released would raise BufferError
    assert try_unchunk(data, 0, 0, 0) == (b"", 0, 0, True)


@compiled
@pytest.mark.skipif(
    getattr(sys, "_is_gil_enabled", lambda: True)(), reason="threads do not run at the same time"
)
def test_another_thread_may_write_into_the_bytearray_meanwhile() -> None:
    sizes = [b"\r\n%07x\r\n" % size for size in (1, 16, 1 << 20, (1 << 28) - 1)]
    data = bytearray(b"x" * 5 + (sizes[0] + b"y") * 2000)
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            for size in sizes:
                data[5 : 5 + len(size)] = size

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(2000):
            content, at, _, _ = try_unchunk(data, 0, len(data), 5)
            assert len(content) <= at <= len(data)
    finally:
        is_over.set()
        writer.join()


@compiled
def test_a_line_that_ends_within_its_prefix_is_left_alone() -> None:
    """The object would begin after the end of the chunk."""
    whole = b'{"type":"ADDED","object":{}}\n'
    for size in range(len(whole)):
        assert _lines(whole[:size] + b"}\n") == ([], 0)


# -- nonsense and accidents ------------------------------------------------------------------


@compiled
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: try_unchunk(b"abc", 0, 1, 0), TypeError),  # type: ignore[arg-type]
        (lambda: try_unchunk(bytearray(3), 0, 4, 0), ValueError),
        (lambda: try_unchunk(bytearray(3), 2, 1, 0), ValueError),
        (lambda: try_unchunk(bytearray(3), -1, 1, 0), ValueError),
        (lambda: try_unchunk(bytearray(3), 0, 1, -1), ValueError),
        (lambda: try_unchunk(bytearray(3), 0, 1, 1 << 70), OverflowError),
        (lambda: try_unchunk(bytearray(3), 0), TypeError),  # type: ignore[call-arg]
        (lambda: try_head(bytearray(3), Head, owners_of), TypeError),  # type: ignore[arg-type]
        (lambda: try_head(b""), TypeError),  # type: ignore[call-arg]
        (lambda: try_head(OWNED, None, owners_of), TypeError),  # type: ignore[arg-type]
        (lambda: _events(memoryview(EVENTS)), TypeError),  # type: ignore[arg-type]
        (lambda: _events(EVENTS, len(EVENTS) + 1), ValueError),
        (lambda: _events(EVENTS, 0, -1), ValueError),
        (lambda: try_events(EVENTS), TypeError),  # type: ignore[call-arg]
        (lambda: _lines("text"), TypeError),  # type: ignore[arg-type]
        (lambda: _lines(LINES, len(LINES) + 1), ValueError),
        (
            lambda: try_lines(LINES, 0, 9999, read_envelope, "v1", "Pod", POD, JSON, []),  # type: ignore[arg-type]
            TypeError,
        ),
        (
            lambda: try_lines(LINES, 0, 9999, read_envelope, "v1", "Pod", POD, JSON, (1,)),  # type: ignore[arg-type]
            TypeError,
        ),
    ],
)
def test_nonsense_is_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


@compiled
def test_what_a_decoder_raises_is_left_to_python_but_not_an_interruption() -> None:
    def raising(error: BaseException) -> Callable[..., Any]:
        def decode(*payload: bytes) -> Any:
            raise error

        return decode

    owned = put(1, put(1, "n") + put(13, put(4, "u")))
    assert _lines(LINES, decode=raising(ValueError())) == ([], 0)
    assert try_head(owned, Head, raising(ValueError())) is None
    for error in (KeyboardInterrupt, MemoryError, SystemExit, TimeoutError, KeyError):
        with pytest.raises(error):
            _lines(LINES, decode=raising(error()))
        with pytest.raises(error):
            try_head(owned, Head, raising(error()))


def _everything() -> Iterator[object]:
    """All of it, taken and refused."""
    labelled = put(1, put(1, "n") + put(11, put(1, "a") + put(2, "v")) + put(13, put(4, "u")))
    yield try_unchunk(bytearray(CHUNKS), 0, len(CHUNKS), 5)
    yield try_head(labelled, Head, owners_of)
    yield try_head(labelled[:-3], Head, owners_of)
    yield try_head(put(1, put(1, b"\xff")), Head, owners_of)
    yield try_head(put(1, put(11, put(1, "b") + put(2, "\0"))) + b"\x07", Head, owners_of)
    yield try_head(put(1, put(1, "n") + put(13, b"\xff\xff")), Head, owners_of)
    yield try_head(put(1, put(1, "n") + put(1, "n")), Head, owners_of)
    yield _events(EVENTS)
    yield _events(EVENTS[:-1])
    yield _events(2 * write_event("ADDED", wrap("v1", "ConfigMap", labelled)))
    yield _events(write_event("ADDED", wrap("v1", "ConfigMap", labelled[:-2] + b"\xff\xff")))
    yield _events(write_event("ADDED", wrap("v1", "ConfigMap", b"\x0a\x05")))
    yield _lines(LINES)
    yield _lines(LINES.replace(b"Pod", b"Dop"))
    yield _lines(LINES.replace(b"metadata", b"metadatA"))


@compiled
def test_nothing_is_kept() -> None:
    def blocks(rounds: int) -> int:
        for _ in range(rounds):
            for result in _everything():
                del result
        return sys.getallocatedblocks()

    shared = (Head, *EVENT_SHAPES, MAP, POD, CODEC, JSON)
    before = blocks(200)
    counts = [sys.getrefcount(each) for each in shared]
    assert abs(blocks(1000) - before) < 200
    assert [sys.getrefcount(each) for each in shared] == counts
