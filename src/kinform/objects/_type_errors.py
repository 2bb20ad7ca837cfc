"""Messages for values of the wrong type, which begin with the path of the value."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_PLACE = re.compile(r" - at `(?:key in )?\$([^`]*)`$")
_TYPE_ERROR = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_STEP = re.compile(r"[^.\[\]]+")
_SOME_KEY = "[...]"


def type_error(error: msgspec.MsgspecError, tree: Any, decoder: msgspec.json.Decoder[Any]) -> str:
    """Return a message such as ``spec.containers[0].name: expected str, got int``.

    Args:
        error: The error that ``decoder`` raised for ``tree``.
        tree: The tree with the invalid value. It is modified during the search.
    """
    text = str(error)
    place = _PLACE.search(text)
    path = _with_keys(place[1], tree, decoder) if place else ""
    matter = _TYPE_ERROR.sub(r"expected \1, got \2", _PLACE.sub("", text))
    return f"{path.lstrip('.') or 'the object'}: {matter[:1].lower()}{matter[1:]}"


def _with_keys(path: str, tree: Any, decoder: msgspec.json.Decoder[Any]) -> str:
    """Add the map keys, which msgspec does not report, by trying each key separately."""
    *before, last = path.split(_SOME_KEY)
    named, node = "", tree
    for segment in before:
        for step in _STEP.findall(segment):
            node = node[int(step) if isinstance(node, list) else step]
        named += segment
        for key, child in list(node.items()):
            node.clear()
            node[key] = child
            if not _fits(tree, decoder):
                named, node = f"{named}[{key}]", child
                break
    return named + last


def _fits(tree: Any, decoder: msgspec.json.Decoder[Any]) -> bool:
    try:
        decoder.decode(msgspec.json.encode(tree))
    except msgspec.MsgspecError:
        return False
    return True
