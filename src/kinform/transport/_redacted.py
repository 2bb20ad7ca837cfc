"""Structs, strings and bytes whose repr hides secrets, also in tracebacks with local variables."""

from __future__ import annotations

from typing import Any, ClassVar, SupportsIndex

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


class SecretText(str):
    """A string whose repr, and that of its slices, shows nothing."""

    __slots__ = ()

    def __getitem__(self, index: SupportsIndex | slice) -> str:
        # Tools that print local variables cut long strings before they print them.
        return SecretText(super().__getitem__(index))

    def __repr__(self) -> str:
        return "'***'"


class SecretBytes(bytes):
    """Bytes whose repr, and that of their slices, shows nothing."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return SecretBytes(found) if isinstance(found, bytes) else found

    def __repr__(self) -> str:
        return "b'***'"
