"""Groups of parts that are decoded together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec


class PartGroup:
    """Some parts of a kind. A codec decodes their values, in this order, in one scan."""

    __slots__ = ("_struct", "parts")

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts: Sequence[Any] = parts
        self._struct: type[msgspec.Struct] | None = None

    @property
    def struct(self) -> type[msgspec.Struct]:
        """A struct with only these parts, created on first use."""
        if self._struct is None:
            fields = [
                (f"part_{number}", part.type | None, msgspec.field(default=None, name=part.name))
                for number, part in enumerate(self.parts)
            ]
            self._struct = msgspec.defstruct("Parts", fields, gc=False)
        return self._struct
