"""Heads and bodies, cut anywhere: they come out whole, or they are refused and say why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinform.transport._http_body import (
    BodyDecoder,
    MalformedAnswerError,
    ResponseHead,
    body_decoder,
    read_head,
)
from tests.support.wire import chunk

pytestmark = pytest.mark.usefixtures("either_way")

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


class Receiver:
    """Takes an answer as it comes, as a connection does."""

    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        self.body: BodyDecoder | None = None
        self.received = b""
        self._data = bytearray()

    def feed(self, wire: bytes) -> None:
        self._data += wire
        data, start = bytearray(self._data), 0
        if self.body is None:
            self.head, start = read_head(data, len(data))
            self.body = body_decoder(self.head) if self.head else None
        if self.body is not None:
            piece, start = self.body.take(data, start, len(data))
            self.received += piece
        self._data = data[start:]

    @property
    def is_over(self) -> bool:
        return self.body is not None and self.body.is_over

    @property
    def may_end_here(self) -> bool:
        return self.body is not None and self.body.ended_by_the_connection()


def receive(parts: Iterable[bytes]) -> Receiver:
    receiver = Receiver()
    for part in parts:
        receiver.feed(part)
    return receiver


def bytewise(wire: bytes) -> list[bytes]:
    return [wire[at : at + 1] for at in range(len(wire))]


def refusal(wire: bytes) -> str:
    """What is said against it; the same whether it comes at once or byte by byte."""
    with pytest.raises(MalformedAnswerError) as at_once:
        receive([wire])
    with pytest.raises(MalformedAnswerError):
        receive(bytewise(wire))
    return str(at_once.value)


def cut(wire: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(wire) + 1) for place in places}), len(wire)]
    return [wire[start:end] for start, end in pairwise(edges)]


# -- heads -----------------------------------------------------------------------------------


def test_a_head_is_status_and_headers() -> None:
    wire = (
        b"HTTP/1.1 403 Not for you, \xc3\xbc\r\nX-One:  a b \t\r\nx-two:\r\n"
        b"Warning: 299 - \xc3\xbc\r\nWarning: b\r\n\r\n"
    )
    for parts in ([wire], bytewise(wire)):
        head = receive(parts).head
        assert head is not None
        assert head.status == 403
        assert head.headers["x-ONE"] == "a b"
        assert head.headers["X-Two"] == ""
        assert [value for name, value in head.headers.items() if name == "Warning"] == [
            "299 - ü",
            "b",
        ]


@pytest.mark.parametrize("first", [b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.0 200 OK"])
def test_a_status_line_needs_no_reason(first: bytes) -> None:
    head = receive([first + b"\r\n\r\n"]).head
    assert head is not None
    assert head.status == 200


def test_interim_answers_are_passed_over() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    wire = interim + OK + b"Content-Length: 2\r\n\r\nok"
    for parts in ([wire], bytewise(wire)):
        receiver = receive(parts)
        assert receiver.head is not None
        assert receiver.head.status == 200
        assert "Link" not in receiver.head.headers
        assert (receiver.received, receiver.is_over) == (b"ok", True)


@pytest.mark.parametrize(
    "wire",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\r\n",
        b"\x15\x03\x01\x00\x02\x02\x50",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.x 200 OK\r\n\r\n",
        b"HTTP/1.1  200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 020 OK\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 O\0K\r\n\r\n",
    ],
)
def test_what_does_not_begin_as_http_does_is_refused_with_its_beginning(wire: bytes) -> None:
    assert refusal(wire).startswith("it begins b")


@pytest.mark.parametrize(
    "line",
    [
        b"no colon",
        b": no name",
        b" folded: line",
        b"space : before",
        b"in name: x".replace(b" ", b"\0"),
        b"X: a\rb",
        b"X: a\0b",
        "ü: x".encode(),
    ],
)
def test_a_header_that_is_none_is_refused(line: bytes) -> None:
    assert "it has a header" in refusal(OK + line + b"\r\n\r\n")


def test_lines_that_end_with_a_bare_line_feed_are_refused_at_once() -> None:
    assert "does not end with CRLF" in refusal(b"HTTP/1.1 200 OK\n")
    assert "does not end with CRLF" in refusal(OK + b"A: b\nC: d\r\n")


def test_switching_to_another_protocol_is_refused() -> None:
    wire = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"
    assert "another protocol" in refusal(wire)


def test_a_head_may_be_long_but_not_endless() -> None:
    long = OK + b"X: " + b"x" * 60_000 + b"\r\n\r\n"
    assert receive([long]).head is not None
    assert receive(cut(long, range(0, 60_000, 1000))).head is not None
    endless = OK + b"X: " + b"x" * 70_000
    with pytest.raises(MalformedAnswerError, match="its head is longer than 65536 bytes"):
        receive([endless])
    with pytest.raises(MalformedAnswerError, match="its head is longer than 65536 bytes"):
        receive([endless + b"\r\n\r\n"])


# -- bodies of known length, and without one -------------------------------------------------


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
@pytest.mark.parametrize(
    "header", [b"", b"Content-Length: 100\r\n", b"Transfer-Encoding: chunked\r\n"]
)
def test_some_answers_have_no_body_whatever_they_say(status: bytes, header: bytes) -> None:
    receiver = receive([b"HTTP/1.1 " + status + b"\r\n" + header + b"\r\nrubbish"])
    assert (receiver.received, receiver.is_over) == (b"", True)


def test_a_body_of_known_length_ends_there() -> None:
    wire = OK + b"Content-Length: 5\r\n\r\nhellorubbish"
    for parts in ([wire], bytewise(wire)):
        receiver = receive(parts)
        assert (receiver.received, receiver.is_over) == (b"hello", True)
    assert receive([OK + b"Content-Length: 0\r\n\r\n"]).is_over


def test_a_body_of_unknown_length_ends_with_the_connection() -> None:
    wire = b"HTTP/1.0 200 OK\r\n\r\nhello"
    for parts in ([wire], bytewise(wire)):
        receiver = receive(parts)
        assert receiver.received == b"hello"
        assert not receiver.is_over
        assert receiver.may_end_here


@pytest.mark.parametrize(
    "length", ["", "x", "-1", "+1", "1_0", "0x10", "1 0", "5.0", "²", "1" * 19, "1" * 5000]
)
def test_a_length_that_is_none_is_refused(length: str) -> None:
    wire = OK + f"Content-Length: {length}\r\n\r\n".encode()
    assert "its Content-Length is" in refusal(wire)


@pytest.mark.parametrize("lines", [["5", "6"], ["5, 6"], ["5", "x"]])
def test_two_lengths_are_refused_with_both(lines: Sequence[str]) -> None:
    wire = OK + b"".join(f"Content-Length: {line}\r\n".encode() for line in lines) + b"\r\n"
    assert re.search("its Content-Length is '5 and [6x]'", refusal(wire))


def test_one_length_said_twice_is_one() -> None:
    wire = OK + b"Content-Length: 5\r\nContent-Length: 5, 5\r\n\r\nhello"
    assert receive([wire]).is_over


# -- chunked bodies --------------------------------------------------------------------------


def test_chunks_with_a_length_are_ambiguous() -> None:
    """18.18: the chunks were read, and the length ignored."""
    wire = OK + b"Content-Length: 5\r\nTransfer-Encoding: Chunked\r\n\r\n" + chunk(b"hello") + END
    assert "both a Transfer-Encoding and a Content-Length" in refusal(wire)


@pytest.mark.parametrize("lines", [["gzip, chunked"], ["gzip", "chunked"], ["identity"], [" , "]])
def test_another_transfer_encoding_is_refused_by_its_name(lines: Sequence[str]) -> None:
    wire = OK + b"".join(f"Transfer-Encoding: {line}\r\n".encode() for line in lines) + b"\r\n"
    told = ", ".join(value.strip() for line in lines for value in line.split(","))
    assert f"its transfer encoding is {told!r}, which was not requested" in refusal(wire)


@pytest.mark.parametrize(
    "wire",
    [
        b"a\r\n0123456789\r\n" + END,
        b"A\r\n0123456789\r\n" + END,
        b"00000000a\r\n0123456789\r\n0000\r\n\r\n",
        b"a;name=value;other\r\n0123456789\r\n0;last\r\n\r\n",
        b"a \t;x\r\n0123456789\r\n" + END,
        b"5\r\n01234\r\n5\r\n56789\r\n0\r\nTrailer: one\r\nAnother: two\r\n\r\n",
        b"a\r\n0123456789\r\n" + END + b"HTTP/1.1 200 OK\r\n",
    ],
)
def test_sizes_extensions_and_trailers_are_read_as_they_may_be_written(wire: bytes) -> None:
    for parts in ([CHUNKED + wire], bytewise(CHUNKED + wire)):
        receiver = receive(parts)
        assert (receiver.received, receiver.is_over) == (b"0123456789", True)


@pytest.mark.parametrize(
    "size",
    [
        b"",
        b"0x10",
        b"-1",
        b"+1",
        b"1_0",
        b"zz",
        b" 5",
        b";x",
        b"5 5",
        b"1" * 17,
        b"5\rx",
        b"5;a\rb",
    ],
)
def test_a_size_that_is_none_is_refused_and_shown(size: bytes) -> None:
    assert "a chunk of its body has the size b'" in refusal(CHUNKED + size + b"\r\n")
    later = CHUNKED + b"5\r\nhello\r\n" + size + b"\r\n"
    assert "a chunk of its body has the size b'" in refusal(later)


def test_an_enormous_size_is_only_a_promise() -> None:
    receiver = receive([CHUNKED + b"f" * 16 + b"\r\nhello"])
    assert receiver.received == b"hello"
    assert not receiver.may_end_here


@pytest.mark.parametrize(
    "wire", [b"5\nhello\n0\n\n", b"5;x\nhello", b"0\r\n\n", b"0\r\nTrailer: x\n\r\n"]
)
def test_a_bare_line_feed_ends_no_line_of_the_framing(wire: bytes) -> None:
    assert "of its body" in refusal(CHUNKED + wire) or "after its body" in refusal(CHUNKED + wire)


@pytest.mark.parametrize("wire", [b"5\r\nhello5", b"5\r\nhello\n5\r\n", b"5\r\nhello\r5\r\n"])
def test_a_chunk_longer_than_it_said_is_refused(wire: bytes) -> None:
    assert "does not end where it should" in refusal(CHUNKED + wire)


def test_what_stands_around_chunks_is_bounded() -> None:
    fine = b"5;" + b"x" * 4000 + b"\r\nhello\r\n0\r\nT: " + b"x" * 4000 + b"\r\n\r\n"
    assert receive(bytewise(CHUNKED + fine)).is_over
    assert "has the size" in refusal(CHUNKED + b"5;" + b"x" * 5000)
    assert "too long" in refusal(CHUNKED + b"0\r\nT: " + b"x" * 5000)
    assert "too long" in refusal(CHUNKED + b"0\r\nT: " + b"x" * 5000 + b"\r\n\r\n")


def test_an_end_before_the_last_byte_is_never_the_end() -> None:
    wire = CHUNKED + b"a;x=y\r\n0123456789\r\n3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n"
    for length in range(len(wire)):
        receiver = receive([wire[:length]])
        assert not receiver.may_end_here
    assert receive([wire]).may_end_here
    told = OK + b"Content-Length: 5\r\n\r\nhello"
    for length in range(len(told)):
        assert not receive([told[:length]]).may_end_here


@given(
    st.lists(st.binary(min_size=1, max_size=300)),
    st.lists(st.integers(min_value=0)),
    st.sampled_from([b"", b";ext", b" "]),
    st.sampled_from(["%x", "%X", "000%x"]),
)
def test_any_chunks_cut_anywhere_come_out_whole(
    chunks: Sequence[bytes], places: Sequence[int], extension: bytes, form: str
) -> None:
    framed = [(form % len(data)).encode() + extension + b"\r\n" + data + b"\r\n" for data in chunks]
    wire = CHUNKED + b"".join(framed) + END
    for parts in (cut(wire, places), bytewise(wire)):
        receiver = receive(parts)
        assert receiver.received == b"".join(chunks)
        assert receiver.is_over


@given(st.binary(max_size=200), st.lists(st.integers(min_value=0)))
def test_any_rubbish_is_the_same_rubbish_however_it_is_cut(
    rubbish: bytes, places: Sequence[int]
) -> None:
    def outcome(parts: Iterable[bytes]) -> tuple[bytes, bool] | None:
        try:
            receiver = receive(parts)
        except MalformedAnswerError:
            return None
        return receiver.received, receiver.is_over

    wire = CHUNKED + rubbish
    assert outcome([wire]) == outcome(cut(wire, places)) == outcome(bytewise(wire))
