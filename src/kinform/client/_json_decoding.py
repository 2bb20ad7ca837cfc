"""Decodes JSON from a server, with errors that describe invalid input but show no objects."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from kinform.errors import DecodeError

T = TypeVar("T")

_SHOWN = 60


def decode(decoder: msgspec.json.Decoder[T], body: bytes, *, problem: str) -> T:
    """Decode ``body`` with ``decoder``.

    Raises:
        DecodeError: The body is invalid; the message starts with ``problem``.
    """
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"{problem}: {error}; {_described(body)}") from error


def _described(body: bytes) -> str:
    """Show the beginning of a page, but not of an object, whose content may be secret.

    A fragment of an object can begin anywhere, also inside an encoded value. Text that is not JSON
    has spaces, but no quotation marks.
    """
    if not body:
        return "it is empty"
    is_text = b" " in body[:_SHOWN] and b'"' not in body
    if is_text or body.lstrip().startswith(b"<"):
        return f"it begins {body[:_SHOWN]!r}"
    return f"it has {len(body)} bytes"
