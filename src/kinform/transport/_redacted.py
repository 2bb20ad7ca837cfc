"""Structs whose repr hides secrets."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec


class Redacted(msgspec.Struct, frozen=True):
    """A struct whose repr shows only the fields in ``shown``.

    A plain struct shows all fields, also in the tracebacks that rich prints.
    """

    shown: ClassVar[tuple[str, ...]] = ()

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.shown]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"
