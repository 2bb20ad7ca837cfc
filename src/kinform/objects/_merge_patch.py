"""JSON patches that turn one tree into another.

A patch changes only the edited values, also inside lists, where a merge patch would replace the
complete list. The sender must ensure that it is applied to the version that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

Operation = dict[str, Any]


def json_patch(before: Any, after: Any, path: str = "") -> Iterator[Operation]:
    """Return the operations in the order in which to apply them."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before.keys() - after.keys():
            yield {"op": "remove", "path": _step(path, name)}
        for name, value in after.items():
            if name in before:
                yield from json_patch(before[name], value, _step(path, name))
            else:
                yield {"op": "add", "path": _step(path, name), "value": value}
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_patch(before, after, path)
    elif before != after or type(before) is not type(after):
        yield {"op": "replace", "path": path, "value": after}


def _list_patch(before: list[Any], after: list[Any], path: str) -> Iterator[Operation]:
    from difflib import SequenceMatcher  # rarely needed, and slow to import

    matcher = SequenceMatcher(None, list(map(_who, before)), list(map(_who, after)), autojunk=False)
    # From the end, so that an operation does not shift the indexes of the next ones.
    for tag, start, stop, new_start, new_stop in reversed(matcher.get_opcodes()):
        old, new = before[start:stop], after[new_start:new_stop]
        if tag == "equal" or (len(old) == len(new) and not any(map(_name, [*old, *new]))):
            for offset, (was, now) in enumerate(zip(old, new, strict=True)):
                yield from json_patch(was, now, _step(path, start + offset))
            continue
        for index in reversed(range(start, stop)):
            yield {"op": "remove", "path": _step(path, index)}
        for index, value in enumerate(new, start):
            yield {"op": "add", "path": _step(path, index), "value": value}


def _who(element: Any) -> str:
    """Return an identity of a list element that survives edits: its name, if it has one."""
    return _name(element) or msgspec.json.encode(element, order="sorted").decode()


def _name(element: Any) -> str:
    name = element.get("name") if isinstance(element, dict) else None
    return f"name {name}" if isinstance(name, str) else ""


def _step(path: str, step: str | int) -> str:
    return f"{path}/{str(step).replace('~', '~0').replace('/', '~1')}"
