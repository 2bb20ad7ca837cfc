"""Applies the edits of an incomplete copy to the complete object.

All trees are of the same version of the object: what the copy started with, the copy as it is now,
and the complete object, which also has the fields that the copy does not contain.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kinform.objects._list_keys import identities


def merge_edits(known: Any, now: Any, current: Any, field: str = "") -> Any:
    """Return ``current`` with the changes from ``known`` to ``now``; ``field`` is its name."""
    if isinstance(known, dict) and isinstance(now, dict) and isinstance(current, dict):
        return _merge_dicts(known, now, current)
    if isinstance(known, list) and isinstance(now, list) and isinstance(current, list):
        return _merge_lists(known, now, current, field)
    # 1 equals True, but is different JSON.
    return current if known == now and type(known) is type(now) else now


def _merge_dicts(
    known: dict[str, Any], now: dict[str, Any], current: dict[str, Any]
) -> dict[str, Any]:
    merged = {name: value for name, value in current.items() if name in now or name not in known}
    for name, value in now.items():
        if name not in known:
            merged[name] = value
        elif name in current:
            merged[name] = merge_edits(known[name], value, current[name], name)
        elif value != known[name]:
            merged[name] = value
    return merged


def _merge_lists(known: list[Any], now: list[Any], current: list[Any], field: str) -> list[Any]:
    if len(known) != len(current):
        # It is not known which elements belong together.
        return current if known == now else now
    origins = _origins(known, now, field)
    return [
        value if origin is None else merge_edits(known[origin], value, current[origin])
        for value, origin in zip(now, origins, strict=True)
    ]


def _origins(known: list[Any], now: list[Any], field: str) -> list[int | None]:
    """Return for each element of ``now`` its index in ``known``; ``None`` if it is new."""
    found = identities(field, known, now)
    if found is not None:
        return _matches(*found)
    # Unedited elements are found by their content, edited ones by their position or similarity.
    matches = _matches(*([_content(each) for each in one] for one in (known, now)))
    unused = [index for index in range(len(known)) if index not in matches]
    edited = [index for index, match in enumerate(matches) if match is None]
    if len(known) == len(now):
        for index, origin in zip(edited, unused, strict=True):
            matches[index] = origin
        return matches
    for index in edited:
        best = max(
            unused,
            key=lambda origin: (_likeness(known[origin], now[index]), -abs(origin - index)),
            default=None,
        )
        if best is not None and _likeness(known[best], now[index]):
            matches[index] = best
            unused.remove(best)
    return matches


def _matches(known: list[Any], now: list[Any]) -> list[int | None]:
    """Match equal identities; of several equal ones, the first with the first."""
    places: dict[Any, list[int]] = {}
    for index, identity in enumerate(known):
        places.setdefault(identity, []).append(index)
    return [places[each].pop(0) if places.get(each) else None for each in now]


def _content(element: Any) -> bytes:
    return msgspec.json.encode(element, order="sorted")


def _likeness(one: Any, other: Any) -> int:
    """Return the number of equal fields."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return 0
    return sum(name in other and other[name] == value for name, value in one.items())
