"""The fallback for compiled functions: it handles no input, so that Python does all the work.

The types declared here also apply to the compiled functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# The classes of records and frames, and the types of events that have an object.
_Shapes = tuple[type[Any], type[Any], tuple[str, ...]]


def try_unchunk(
    data: bytearray, start: int, end: int, left: int, /
) -> tuple[bytes, int, int, bool]:
    return b"", start, left, False


def try_head(payload: bytes, head_class: type[Any], owners_of: Callable[..., Any], /) -> Any:
    return None


def try_events(
    chunk: bytes,
    start: int,
    longest: int,
    type_meta: bytes,
    gvk: object,
    codec: object,
    head_class: type[Any],
    owners_of: Callable[..., Any],
    shapes: _Shapes,
    /,
) -> tuple[list[Any], int]:
    return [], start


def try_lines(
    chunk: bytes,
    start: int,
    longest: int,
    decode: Callable[[bytes], Any],
    api_version: str,
    kind: str,
    gvk: object,
    codec: object,
    shapes: _Shapes,
    /,
) -> tuple[list[Any], int]:
    return [], start


class FrozenField:
    """A field of read-only structs, whose list or dict is replaced by a frozen one when read."""

    def __init__(self, member: Any, freeze: Callable[[Any], Any], /) -> None:
        self._member = member
        self._freeze = freeze

    def __get__(self, struct: Any, owner: type) -> Any:
        member = self._member
        if struct is None:
            return member
        value = member.__get__(struct, owner)
        if type(value) is list or type(value) is dict:
            value = self._freeze(value)
            member.__set__(struct, value)
        return value


class StructReader:
    """Converts messages to models; kinform.protobuf describes the fields."""

    def __init__(self, model: type[Any] | None, fields: tuple[tuple[Any, ...], ...], /) -> None:
        pass

    def parts(self, payload: bytes, /) -> list[Any] | None:
        return None


class ViewField:
    """A field of views, read by a ``StructReader`` and frozen, or else both by ``read``."""

    def __init__(
        self,
        reader: StructReader,
        number: int,
        name: str,
        read: Callable[[Any], Any],
        freeze: Callable[[Any], Any] | None,
        /,
    ) -> None:
        self._read = read

    def __get__(self, view: Any, owner: type) -> Any:
        return self if view is None else self._read(view)
