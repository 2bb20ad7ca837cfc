"""Content decoding: cut anywhere, many members, honest about broken and endless input."""

from __future__ import annotations

import gzip
import itertools
import random
import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinform.errors import TransportError
from kinform.transport._gzip import decoder_for

TEXT = '{"type":"ADDED","object":{"note":"next\u0085line ünd €"}}\n'.encode() * 3


def decode(encoding: str | None, parts: list[bytes]) -> bytes:
    decoder = decoder_for(encoding, action="GET /pods")
    pieces = [piece for part in parts for piece in decoder.feed(part)]
    decoder.finish()
    assert b"" not in pieces
    return b"".join(pieces)


def members(*texts: bytes) -> bytes:
    return b"".join(gzip.compress(text, 1) for text in texts)


@pytest.mark.parametrize("encoding", [None, "", "identity", " Identity "])
def test_identity_passes_bytes_through(encoding: str | None) -> None:
    assert decode(encoding, [b"a", b"", b"bc"]) == b"abc"


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP"])
def test_gzip_is_undone(encoding: str) -> None:
    assert decode(encoding, [gzip.compress(TEXT)]) == TEXT


@pytest.mark.parametrize("wbits", [15, -15], ids=["zlib", "bare"])
def test_deflate_is_undone_with_and_without_its_header(wbits: int) -> None:
    compressor = zlib.compressobj(wbits=wbits)
    packed = compressor.compress(TEXT) + compressor.flush()
    assert decode("deflate", [packed]) == TEXT
    assert decode("deflate", [packed[i : i + 1] for i in range(len(packed))]) == TEXT


def test_many_members_cut_at_each_byte_come_out_whole() -> None:
    packed = members(TEXT, b"", "\u0085".encode(), TEXT)
    whole = TEXT + "\u0085".encode() + TEXT
    for cut in range(len(packed) + 1):
        assert decode("gzip", [packed[:cut], packed[cut:]]) == whole


def test_members_fed_byte_by_byte_come_out_whole() -> None:
    packed = members(TEXT, TEXT)
    assert decode("gzip", [packed[i : i + 1] for i in range(len(packed))]) == TEXT * 2


def test_a_header_with_name_comment_and_checksum_may_be_cut_anywhere() -> None:
    body = gzip.compress(TEXT)[10:]
    head = b"\x1f\x8b\x08\x1e\0\0\0\0\0\x03" + b"\x03\0abc" + b"name\0" + b"comment\0"
    packed = head + (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little") + body
    for cut in range(len(packed)):
        assert decode("gzip", [packed[:cut], packed[cut:]]) == TEXT


@given(
    texts=st.lists(st.binary(max_size=300), max_size=6),
    cuts=st.lists(st.integers(min_value=0, max_value=2000), max_size=10),
)
def test_any_members_with_any_cuts_come_out_whole(texts: list[bytes], cuts: list[int]) -> None:
    packed = members(*texts)
    edges = [0, *sorted(min(cut, len(packed)) for cut in cuts), len(packed)]
    parts = [packed[a:b] for a, b in itertools.pairwise(edges)]
    assert decode("gzip", parts) == b"".join(texts)


def test_what_a_flush_made_readable_comes_out_at_once() -> None:
    compressor = zlib.compressobj(wbits=31)
    flushed = compressor.compress(b"first\n") + compressor.flush(zlib.Z_SYNC_FLUSH)
    decoder = decoder_for("gzip", action="GET /pods")
    assert b"".join(decoder.feed(flushed)) == b"first\n"


def test_no_step_holds_back_what_its_input_was_enough_for() -> None:
    packed = gzip.compress(bytes(600 * 1024))
    for cut in range(len(packed) + 1):
        readable = len(zlib.decompressobj(31).decompress(packed[:cut]))
        decoder = decoder_for("gzip", action="GET /pods")
        assert sum(map(len, decoder.feed(packed[:cut]))) == readable


def test_a_body_that_breaks_off_is_an_error_at_every_byte() -> None:
    packed = members(TEXT)
    for cut in range(1, len(packed)):
        with pytest.raises(TransportError, match="GET /pods: the gzip body is incomplete"):
            decode("gzip", [packed[:cut]])


def test_an_empty_body_is_not_broken() -> None:
    assert decode("gzip", []) == b""
    assert decode("deflate", []) == b""


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_rubbish_is_named(encoding: str) -> None:
    with pytest.raises(TransportError, match=f"GET /pods: the body is not valid {encoding}"):
        decode(encoding, [b"<html>no</html>" * 10])


def test_rubbish_behind_a_member_is_named() -> None:
    with pytest.raises(TransportError, match="not valid gzip"):
        decode("gzip", [gzip.compress(b"x") + b"rubbish"])


def test_rubbish_behind_deflate_is_named() -> None:
    with pytest.raises(TransportError, match="data follows the end"):
        decode("deflate", [zlib.compress(b"x") + b"rubbish"])


def test_a_wrong_checksum_is_an_error() -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-5] ^= 0xFF
    with pytest.raises(TransportError, match="not valid gzip"):
        decode("gzip", [bytes(packed)])


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_an_encoding_that_was_not_asked_for_is_named(encoding: str) -> None:
    with pytest.raises(TransportError, match=f"GET /pods: the body is encoded as '{encoding}'"):
        decoder_for(encoding, action="GET /pods")


def test_a_bomb_comes_in_pieces_of_bounded_size() -> None:
    bomb = gzip.compress(bytes(64 * 1024 * 1024))
    decoder = decoder_for("gzip", action="GET /pods")
    pieces = decoder.feed(bomb)
    first = [len(next(pieces)) for _ in range(20)]
    assert max(first) <= 512 * 1024
    assert sum(first) + sum(map(len, pieces)) == 64 * 1024 * 1024
    decoder.finish()


def test_incompressible_bytes_larger_than_any_window_survive() -> None:
    noise = random.Random(1).randbytes(700_000)
    assert decode("gzip", [members(noise, noise)]) == noise * 2


def test_thousands_of_members_in_one_read_take_linear_time() -> None:
    def seconds(count: int) -> float:
        packed = gzip.compress(b"x", 1) * count
        start = time.process_time()
        assert decode("gzip", [packed]) == b"x" * count
        return time.process_time() - start

    # Eight times as many: 8 if linear, 64 if the rest were copied for each member.
    assert min(seconds(80_000) for _ in range(2)) < 28 * min(seconds(10_000) for _ in range(3))
