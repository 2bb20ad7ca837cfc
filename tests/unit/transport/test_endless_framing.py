"""Framing without end or with two meanings is refused."""

from __future__ import annotations

import gzip

import pytest

from kinform.errors import TransportError
from kinform.transport import Request
from kinform.transport._gzip import InflatingDecoder
from kinform.transport._http_body import MalformedAnswerError, body_decoder, read_head
from kinform.transport._http_stream import HttpStream
from tests.support.wire import Connect, Serve

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_endless_trailers_are_refused() -> None:
    """18.17: a server could send lines after the last chunk for ever."""
    head, _ = read_head(bytearray(CHUNKED), len(CHUNKED))
    assert head is not None
    decoder = body_decoder(head)
    decoder.take(bytearray(b"0\r\n"), 0, 3)
    lines = bytearray(b"X-A: b\r\n" * 100)

    def feed_for_ever() -> None:
        for _ in range(1000):
            decoder.take(lines, 0, len(lines))

    with pytest.raises(MalformedAnswerError, match="the lines after its body are longer than"):
        feed_for_ever()


@pytest.mark.parametrize("at_once", [1, 5000])
def test_endless_empty_gzip_members_are_refused(at_once: int) -> None:
    """18.17: they decode to nothing, for ever."""
    decoder = InflatingDecoder("gzip", action="GET /x")
    data = gzip.compress(b"") * at_once

    def feed_for_ever() -> None:
        for _ in range(50_000 // at_once):
            assert list(decoder.feed(data)) == []

    with pytest.raises(TransportError, match="GET /x: the body has more than 10000 empty gzip"):
        feed_for_ever()


def test_some_empty_gzip_members_between_others_are_accepted() -> None:
    decoder = InflatingDecoder("gzip", action="GET /x")
    data = gzip.compress(b"") * 100 + gzip.compress(b"a")
    assert b"".join(each for _ in range(200) for each in decoder.feed(data)) == b"a" * 200


async def test_endless_informational_responses_are_refused() -> None:
    """18.17: they are skipped, but not for ever."""
    stream = HttpStream()
    data = b"HTTP/1.1 100 Continue\r\n\r\n" * 1000
    for _ in range(100):
        stream.get_buffer(-1)[: len(data)] = data
        stream.buffer_updated(len(data))
    with pytest.raises(MalformedAnswerError, match="informational"):
        await stream.head()


async def test_a_response_with_two_lengths_is_refused(serve: Serve, connect: Connect) -> None:
    """18.18: Transfer-Encoding together with Content-Length was accepted."""
    server = await serve(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
        b"5\r\nhello\r\n0\r\n\r\n"
    )
    with pytest.raises(TransportError, match=r"the answer is not HTTP: .*Content-Length"):
        await (await connect(server).send(Request("GET", "/x"))).read()
