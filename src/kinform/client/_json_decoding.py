"""Decodes JSON from a server, with errors that show the beginning of invalid input."""

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
        raise DecodeError(f"{problem}: {error}; {_beginning(body)}") from error


def _beginning(body: bytes) -> str:
    return f"it begins {body[:_SHOWN]!r}" if body else "it is empty"
