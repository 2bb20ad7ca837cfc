"""Incremental decoding of content encodings: gzip, deflate and identity."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from kinform.errors import TransportError

if TYPE_CHECKING:
    from zlib import _Decompress

# The maximum output of a step, so that the reader's size limit stops a decompression bomb.
_PIECE = 256 * 1024
# zlib copies the data after the end of a member. Servers end a member at every flush, so one read
# can contain thousands; a small window keeps the copying linear.
_WINDOW = 8 * 1024

# Empty members in a row. A server that flushes without data may send a few.
_MOST_EMPTY_MEMBERS = 10_000

_GZIP_FORMAT = 31
_ZLIB_FORMAT = 15
_RAW_FORMAT = -15


class ContentDecoder(Protocol):
    """Decodes a content encoding incrementally."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Return the decoded data so far, in non-empty pieces of bounded size.

        Raises:
            TransportError: The data does not match the declared encoding.
        """
        ...

    def finish(self) -> None:
        """Signal the end of the body.

        Raises:
            TransportError: The encoded data is incomplete.
        """
        ...


def decoder_for(content_encoding: str | None, *, action: str) -> ContentDecoder:
    """Return the decoder for a ``Content-Encoding`` header. Errors start with ``action``.

    Raises:
        TransportError: The encoding was not requested.
    """
    encoding = (content_encoding or "").strip().lower()
    if encoding in ("", "identity"):
        return IdentityDecoder()
    if encoding in ("gzip", "x-gzip"):
        return InflatingDecoder("gzip", action=action)
    if encoding == "deflate":
        return InflatingDecoder("deflate", action=action)
    raise TransportError(
        f"{action}: the body is encoded as {encoding!r}, which was not requested; "
        "a proxy in between may have changed it"
    )


class IdentityDecoder:
    """Passes bytes through."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        if data:
            yield data

    def finish(self) -> None:
        pass


class InflatingDecoder:
    """Decodes gzip (any number of members) or deflate (with or without its header)."""

    def __init__(self, encoding: str, *, action: str) -> None:
        self._action = action
        self._encoding = encoding
        self._member: _Decompress | None = None
        self._ended_members = 0
        self._empty_members = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        pieces: list[bytes] = []
        size = 0
        for start in range(0, len(data), _WINDOW):
            for output in self._inflate(data[start : start + _WINDOW]):
                pieces.append(output)
                size += len(output)
                if size >= _PIECE:
                    yield b"".join(pieces)
                    pieces, size = [], 0
        if pieces:
            yield b"".join(pieces)

    def finish(self) -> None:
        if self._member is not None:
            raise TransportError(f"{self._action}: the {self._encoding} body is incomplete")

    def _inflate(self, window: bytes) -> Iterator[bytes]:
        while True:
            if self._member is None:
                if not window:
                    return
                self._member = zlib.decompressobj(self._format_of(window))
            try:
                output = self._member.decompress(window, _PIECE)
            except zlib.error as error:
                raise TransportError(
                    f"{self._action}: the body is not valid {self._encoding}: {error}"
                ) from error
            if output:
                self._empty_members = 0
                yield output
            if self._member.eof:
                window = self._member.unused_data
                self._member = None
                self._ended_members += 1
                self._empty_members += 1
                if self._empty_members > _MOST_EMPTY_MEMBERS:
                    raise TransportError(
                        f"{self._action}: the body has more than {_MOST_EMPTY_MEMBERS} empty "
                        f"{self._encoding} members in a row"
                    )
            elif len(output) < _PIECE:
                return
            else:
                # A full step may hold back output even after consuming all input.
                window = self._member.unconsumed_tail

    def _format_of(self, window: bytes) -> int:
        if self._encoding == "gzip":
            return _GZIP_FORMAT
        if self._ended_members:
            raise TransportError(f"{self._action}: data follows the end of the deflate body")
        # RFC 9110 requires the zlib format, but some servers send raw deflate. A zlib stream starts
        # with method 8 and a window of at most 32 KiB, which practically no raw stream does.
        first = window[0]
        return _ZLIB_FORMAT if first & 0x0F == 8 and first >> 4 <= 7 else _RAW_FORMAT
