from collections.abc import Callable
from typing import Any

# The classes of records and of frames, and the types that events with an object have.
_Shapes = tuple[type[Any], type[Any], tuple[str, ...]]

def unchunked(
    data: bytearray, start: int, end: int, left: int, /
) -> tuple[bytes, int, int, bool]: ...
def usual_head(payload: bytes, head_class: type[Any], owners_of: Callable[..., Any], /) -> Any: ...
def usual_events(
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
) -> tuple[list[Any], int]: ...
def usual_lines(
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
) -> tuple[list[Any], int]: ...
