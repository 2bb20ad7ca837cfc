"""Parts of a kind that are decoded together: what they are called, and what they become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec


class PartGroup:
    """Some parts of a kind. A codec reads their values, in this order, in one scan."""

    __slots__ = ("_struct", "parts")

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts: Sequence[Any] = parts
        self._struct: type[msgspec.Struct] | None = None

    @property
    def struct(self) -> type[msgspec.Struct]:
        """A struct with these parts and no others, made when the first object is touched."""
        if self._struct is None:
            fields = [
                (f"part_{number}", part.type | None, msgspec.field(default=None, name=part.name))
                for number, part in enumerate(self.parts)
            ]
            self._struct = msgspec.defstruct("Parts", fields, gc=False)
        return self._struct
