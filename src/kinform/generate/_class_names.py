"""Kinds, and paths below them, in; names of classes that are safe, short enough and unique out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kinform.generate._names import class_name, snake_case

# What a generated module imports.
_TAKEN = (
    "Any",
    "Always",
    "FieldsV1",
    "MicroTime",
    "Model",
    "Part",
    "Quantity",
    "StrEnum",
    "TypedObject",
)
# A line of code has to hold the class, the attribute that is of it, and what is between them.
_LONGEST = 50
_LONGEST_WITH_ATTRIBUTE = 78

_WORD = re.compile(r"[A-Z]?[^A-Z]+|[A-Z]+(?![^A-Z])")


class ClassNames:
    """The names of one module's classes. Kinds come first: all others step aside for them."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._used = set(_TAKEN)
        self._kinds = {kind: self.of_struct(kind) for kind in kinds}

    def of_kind(self, kind: str) -> str:
        """``CronTab`` for ``CronTab``, and ``Model2`` for ``Model``."""
        return self._kinds[kind]

    def of_struct(self, name: str) -> str:
        """The name as a class would have it, with a number if another class has it."""
        wanted = class_name(name)
        found, number = wanted, 1
        while found in self._used:
            number += 1
            found = f"{wanted}{number}"
        self._used.add(found)
        return found

    def at_path(self, kind: str, path: Sequence[str]) -> str:
        """``CronTabSpecTemplate`` for ``spec.template``; of a long path the end: it says most."""
        first = self._kinds[kind]
        room = min(_LONGEST, _LONGEST_WITH_ATTRIBUTE - len(snake_case(path[-1]))) - len(first)
        steps = [class_name(step) for step in path]
        while len(steps) > 1 and sum(map(len, steps)) > room:
            del steps[0]
        return self.of_struct(first + _shortened("".join(steps), room))


def _shortened(name: str, room: int) -> str:
    """As many of the words at its beginning as there is room for; at least one."""
    if len(name) <= room:
        return name
    found = ""
    for word in _WORD.findall(name):
        if found and len(found) + len(word) > room:
            break
        found += word
    return found
