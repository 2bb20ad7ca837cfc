"""In the place of compiled functions: nothing is usual, so Python does it all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def unchunked(data: bytearray, start: int, end: int, left: int, /) -> tuple[bytes, int, int, bool]:
    return b"", start, left, False


def usual_head(payload: bytes, head_class: type[Any], owners_of: Callable[..., Any], /) -> None:
    return None


def usual_events(
    chunk: bytes,
    start: int,
    longest: int,
    type_meta: bytes,
    gvk: object,
    codec: object,
    head_class: type[Any],
    owners_of: Callable[..., Any],
    shapes: tuple[Any, ...],
    /,
) -> tuple[list[Any], int]:
    return [], start


def usual_lines(
    chunk: bytes,
    start: int,
    longest: int,
    decode: Callable[[bytes], Any],
    api_version: str,
    kind: str,
    gvk: object,
    codec: object,
    shapes: tuple[Any, ...],
    /,
) -> tuple[list[Any], int]:
    return [], start
