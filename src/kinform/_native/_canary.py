"""A check that compiled code can create the structs of the installed msgspec.

Compiled code writes the fields of a struct at the offsets of its slots, without the constructor. A
future msgspec may keep structs in another way. This check creates a few structs in both ways and
compares everything that depends on their layout.
"""

from __future__ import annotations

import gc
from typing import Any

import msgspec


class _Tracked(msgspec.Struct):
    text: str = ""
    items: list[str] = msgspec.field(default_factory=list)
    number: int = 0


class _Untracked(msgspec.Struct, gc=False):
    text: str = ""
    number: int = 0


_FIELDS: dict[str, tuple[object, ...]] = {
    "text": ((1,), "one", "text", None, "is", ""),
    "items": ((2,), "list", "text", None, "made", list),
    "number": ((3,), "one", "int64", None, "is", 0),
}
_MESSAGE = b"\x0a\x01a\x12\x01b\x12\x01c\x18\x07"


def layout_problem(reader_class: Any) -> str:
    """Return why structs cannot be created by this StructReader; empty if they can."""
    expected = [
        (_Tracked, _MESSAGE, _Tracked("a", ["b", "c"], 7)),
        (_Tracked, b"", _Tracked()),
        (_Untracked, _MESSAGE, _Untracked("a", 7)),
    ]
    try:
        for model, message, struct in expected:
            problem = _difference(_created(reader_class, model, message), struct)
            if problem:
                return f"msgspec {msgspec.__version__} {problem}"
    except Exception as error:  # whatever a different layout leads to
        return f"msgspec {msgspec.__version__} keeps structs in another way ({error})"
    return ""


def _created(reader_class: Any, model: type[Any], message: bytes) -> Any:
    """Create a struct with compiled code."""
    fields = tuple((name, *_FIELDS[name]) for name in model.__struct_fields__)
    reader = reader_class(model, fields)
    whole = reader_class(None, (("it", (1,), "one", "struct", lambda: reader, "is", None),))
    (struct,) = whole.parts(b"\x0a" + bytes([len(message)]) + message)
    return struct


def _difference(ours: Any, theirs: Any) -> str:
    """Describe the first difference between two structs; empty if there is none."""
    if type(ours) is not type(theirs):
        return f"creates a {type(theirs).__name__} where compiled code creates a {type(ours)}"
    for name in theirs.__struct_fields__:
        if getattr(ours, name) != getattr(theirs, name):
            return f"keeps the field {name!r} at another place"
    if gc.is_tracked(ours) != gc.is_tracked(theirs):
        return "tracks other structs for the garbage collector"
    if ours != theirs or msgspec.json.encode(ours) != msgspec.json.encode(theirs):
        return "compares or encodes structs by more than their fields"
    ours.text = "written"
    if ours.text != "written" or msgspec.json.encode(ours) == msgspec.json.encode(theirs):
        return "writes fields at another place"
    return ""
