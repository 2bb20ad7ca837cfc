"""Values that hold secrets in; what may be shown of them out."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec


class Redacted(msgspec.Struct, frozen=True):
    """A struct that shows the fields that it names, and no others.

    A plain one shows them all, to ``repr`` as to rich, and rich is what many print tracebacks with.
    """

    shown: ClassVar[tuple[str, ...]] = ()

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.shown]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"
