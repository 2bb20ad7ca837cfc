"""Safe, unique and reasonably short class names for kinds and the paths below them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kinform.generate._names import class_name, snake_case

# The names that a generated module imports.
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
# One line must fit the class name, the attribute of that type, and punctuation.
_LONGEST = 50
_LONGEST_WITH_ATTRIBUTE = 78

_WORD = re.compile(r"[A-Z]?[^A-Z]+|[A-Z]+(?![^A-Z])")


class ClassNames:
    """The class names of one module. Kinds have precedence over all other classes."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._used = set(_TAKEN)
        self._kinds = {kind: self.of_struct(kind) for kind in kinds}

    def of_kind(self, kind: str) -> str:
        """Return the name for a kind: ``CronTab`` for ``CronTab``, and ``Model2`` for ``Model``."""
        return self._kinds[kind]

    def of_struct(self, name: str) -> str:
        """Return the name as a class name, with a number if it is already in use."""
        wanted = class_name(name)
        found, number = wanted, 1
        while found in self._used:
            number += 1
            found = f"{wanted}{number}"
        self._used.add(found)
        return found

    def at_path(self, kind: str, path: Sequence[str]) -> str:
        """Return ``CronTabSpecTemplate`` for ``spec.template``; the end of a long path."""
        first = self._kinds[kind]
        limit = min(_LONGEST, _LONGEST_WITH_ATTRIBUTE - len(snake_case(path[-1]))) - len(first)
        steps = [class_name(step) for step in path]
        while len(steps) > 1 and sum(map(len, steps)) > limit:
            del steps[0]
        return self.of_struct(first + _shortened("".join(steps), limit))


def _shortened(name: str, limit: int) -> str:
    """Return as many leading words of a name as fit, but at least one."""
    if len(name) <= limit:
        return name
    found = ""
    for word in _WORD.findall(name):
        if found and len(found) + len(word) > limit:
            break
        found += word
    return found
