"""An incremental parser of HTTP/1.1 responses.

It supports the responses of streams: a chunked body, a body of known length, or one that ends with
the connection. It is strict: ambiguous input is rejected at the first invalid byte. A response with
both Transfer-Encoding and Content-Length is ambiguous: two readers could disagree on its end.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping

import msgspec
from multidict import CIMultiDict, CIMultiDictProxy

from kinform._native import try_unchunk

_HEAD_END = b"\r\n\r\n"
_LONGEST_HEAD = 64 * 1024
_BODYLESS = frozenset({204, 304})
_SWITCHING_PROTOCOLS = 101

_HTTP = b"HTTP/1."
_STATUS_LINE = re.compile(rb"HTTP/1\.[0-9] ([1-9][0-9]{2})(?: [^\r\n\0]*)?")
_HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)")
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
# Longer numbers are never valid lengths, and are slow to parse.
_LENGTH = re.compile(r"[0-9]{1,18}")

# The size of a chunk in hex, preceded by the end of the previous chunk except for the first one.
# Extensions after a semicolon are ignored. The second pattern of each pair matches an incomplete
# line.
_SIZE = rb"([0-9A-Fa-f]{1,16})[ \t]{0,16}(?:;[^\r\n]{0,4096})?"
_FIRST_SIZE = re.compile(_SIZE + rb"\r\n"), re.compile(rb"(?:%b\r?)?" % _SIZE)
_NEXT_SIZE = re.compile(rb"\r\n" + _SIZE + rb"\r\n"), re.compile(rb"\r?|\r\n(?:%b\r?)?" % _SIZE)
_LONGEST_TRAILER_LINE = 4096
# Of all lines together.
_LONGEST_TRAILER = 64 * 1024


class MalformedAnswerError(Exception):
    """The response is not valid HTTP. Converted to a TransportError with the same text."""


class ResponseHead(msgspec.Struct, frozen=True):
    """Status and headers of a response."""

    status: int
    headers: Mapping[str, str]


def read_head(data: bytearray, end: int) -> tuple[ResponseHead | None, int]:
    """Parse the head at the start of ``data[:end]``; return it, if complete, and the new position.

    Informational (1xx) responses are skipped.

    Raises:
        MalformedAnswerError: The data is not a valid head.
    """
    start = 0
    while start < end:
        at = data.find(_HEAD_END, start, end)
        known = end if at < 0 else at
        _check_beginning(data, start, known)
        if known - start >= _LONGEST_HEAD + len(_HEAD_END):
            raise MalformedAnswerError(f"its head is longer than {_LONGEST_HEAD} bytes")
        if at < 0:
            break
        head = _parse_head(bytes(data[start:at]))
        start = at + len(_HEAD_END)
        if head.status >= 200:
            return head, start
    return None, start


def _check_beginning(data: bytearray, start: int, end: int) -> None:
    """Detect other protocols early, without waiting for a complete head."""
    begun = bytes(data[start : min(end, start + len(_HTTP))])
    if not _HTTP.startswith(begun):
        raise MalformedAnswerError(f"it begins {bytes(data[start:end][:60])!r}")
    if _BARE_LINE_FEED.search(data, start, end):
        raise MalformedAnswerError("a line of its head does not end with CRLF")


def _parse_head(text: bytes) -> ResponseHead:
    first, *lines = text.split(b"\r\n")
    found = _STATUS_LINE.fullmatch(first)
    if found is None:
        raise MalformedAnswerError(f"it begins {first[:60]!r}")
    status = int(found[1])
    if status == _SWITCHING_PROTOCOLS:
        raise MalformedAnswerError("it switches to another protocol, which was not requested")
    headers: CIMultiDict[str] = CIMultiDict()
    for line in lines:
        found = _HEADER_LINE.fullmatch(line)
        if found is None:
            raise MalformedAnswerError(f"it has a header {line[:60]!r}")
        headers.add(_text(found[1]), _text(found[2].rstrip(b" \t")))
    return ResponseHead(status, CIMultiDictProxy(headers))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


class BodyDecoder(ABC):
    """Decodes the framing of a body.

    Attributes:
        is_over: Set after the last byte of the body.
    """

    def __init__(self, *, is_over: bool) -> None:
        self.is_over = is_over

    @abstractmethod
    def take(self, data: bytearray, start: int, end: int) -> tuple[bytes, int]:
        """Return the body bytes in ``data[start:end]``, and the new position.

        Raises:
            MalformedAnswerError: The framing is invalid.
        """

    @abstractmethod
    def ended_by_the_connection(self) -> bool:
        """Report whether the body is complete if the connection ends now."""


def body_decoder(head: ResponseHead) -> BodyDecoder:
    """Return the decoder for the body of a response.

    Raises:
        MalformedAnswerError: The end of the body is undefined or ambiguous.
    """
    is_bodyless = head.status in _BODYLESS
    if _is_chunked(head):
        if "Content-Length" in head.headers:
            raise MalformedAnswerError(
                "it has both a Transfer-Encoding and a Content-Length; is there a faulty proxy?"
            )
        return _ChunkedBody(is_over=is_bodyless)
    length = _length(head)
    return _PlainBody(length, is_over=is_bodyless or length == 0)


class _PlainBody(BodyDecoder):
    """A body of known length, or one that ends with the connection."""

    def __init__(self, length: int | None, *, is_over: bool) -> None:
        super().__init__(is_over=is_over)
        self._left = length

    def take(self, data: bytearray, start: int, end: int) -> tuple[bytes, int]:
        if self.is_over:
            return b"", start
        stop = end if self._left is None else min(end, start + self._left)
        if self._left is not None:
            self._left -= stop - start
            self.is_over = not self._left
        return bytes(memoryview(data)[start:stop]), stop

    def ended_by_the_connection(self) -> bool:
        return self.is_over or self._left is None


class _ChunkedBody(BodyDecoder):
    """A body in chunks, each preceded by its size."""

    def __init__(self, *, is_over: bool) -> None:
        super().__init__(is_over=is_over)
        self._left = 0  # bytes until the next frame
        self._frame = _FIRST_SIZE
        self._in_trailer = False
        self._trailer_size = 0

    def take(self, data: bytearray, start: int, end: int) -> tuple[bytes, int]:
        pieces: list[bytes | bytearray] = []
        left = self._left
        while start < end and not self.is_over:
            if left < end - start and (
                left or (self._frame is _NEXT_SIZE and not self._in_trailer)
            ):
                # The fast path, which nearly always reaches the end.
                piece, start, left, is_all = try_unchunk(data, start, end, left)
                pieces.append(piece)
                if is_all:
                    break
            if left:
                stop = min(end, start + left)
                pieces.append(data[start:stop])
                left -= stop - start
                start = stop
                continue
            after = self._take_framing(data, start, end)
            if after is None:
                break
            start, left = after
        self._left = left
        return b"".join(pieces), start

    def ended_by_the_connection(self) -> bool:
        return self.is_over

    def _take_framing(self, data: bytearray, start: int, end: int) -> tuple[int, int] | None:
        """Parse a chunk size or a trailer line; return the new position and the size.

        Returns ``None`` if more data is needed.
        """
        if self._in_trailer:
            after = self._take_trailer(data, start, end)
            return None if after is None else (after, 0)
        found = self._frame[0].match(data, start, end)
        if found is None:
            if not self._frame[1].fullmatch(data, start, end):
                raise self._malformed(bytes(data[start : min(end, start + 60)]))
            return None
        size = int(found[1], 16)
        self._in_trailer = not size
        self._frame = _NEXT_SIZE
        return found.end(), size

    def _malformed(self, found: bytes) -> MalformedAnswerError:
        line_end, size = (found[:2], found[2:]) if self._frame is _NEXT_SIZE else (b"\r\n", found)
        if not b"\r\n".startswith(line_end):
            return MalformedAnswerError("a chunk of its body does not end where it should")
        line = size.partition(b"\n")[0]
        return MalformedAnswerError(f"a chunk of its body has the size {line!r}")

    def _take_trailer(self, data: bytearray, start: int, end: int) -> int | None:
        """Skip a trailer line; an empty one ends the body."""
        at = data.find(b"\n", start, end)
        if (end if at < 0 else at) - start > _LONGEST_TRAILER_LINE:
            raise MalformedAnswerError("a line after its body is too long")
        if at < 0:
            return None
        if at == start or data[at - 1] != 0x0D:
            raise MalformedAnswerError("a line after its body does not end with CRLF")
        self._trailer_size += at + 1 - start
        if self._trailer_size > _LONGEST_TRAILER:
            raise MalformedAnswerError(
                f"the lines after its body are longer than {_LONGEST_TRAILER} bytes"
            )
        self.is_over = at == start + 1
        return at + 1


def _is_chunked(head: ResponseHead) -> bool:
    codings = ", ".join(_all(head, "Transfer-Encoding")).lower()
    if codings not in ("", "chunked"):
        raise MalformedAnswerError(
            f"its transfer encoding is {codings[:60]!r}, which was not requested"
        )
    return bool(codings)


def _length(head: ResponseHead) -> int | None:
    """Return the declared length of the body, if any. Equal duplicates are allowed."""
    declared = set(_all(head, "Content-Length"))
    if not declared:
        return None
    length = declared.pop()
    if declared or not _LENGTH.fullmatch(length):
        shown = " and ".join(sorted({length, *declared}))
        raise MalformedAnswerError(f"its Content-Length is {shown[:60]!r}")
    return int(length)


def _all(head: ResponseHead, name: str) -> list[str]:
    """Return all values of a header, in one line or several."""
    lines = (value for key, value in head.headers.items() if key.lower() == name.lower())
    return [value.strip() for line in lines for value in line.split(",")]
