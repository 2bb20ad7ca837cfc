"""Groups of parts that are decoded together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kinform.objects._read_only import read_only_type


class PartGroup:
    """Some parts of a kind. A codec decodes their values, in this order, in one scan."""

    __slots__ = ("_read_only_struct", "_struct", "parts")

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts: Sequence[Any] = parts
        self._struct: type[msgspec.Struct] | None = None
        self._read_only_struct: type[msgspec.Struct] | None = None

    @property
    def struct(self) -> type[msgspec.Struct]:
        """A struct with only these parts, created on first use."""
        if self._struct is None:
            self._struct = self._struct_of([part.type for part in self.parts])
        return self._struct

    @property
    def read_only_struct(self) -> type[msgspec.Struct]:
        """The same with parts that refuse assignments."""
        if self._read_only_struct is None:
            self._read_only_struct = self._struct_of(
                [read_only_type(part.type) for part in self.parts]
            )
        return self._read_only_struct

    def _struct_of(self, types: Sequence[Any]) -> type[msgspec.Struct]:
        fields = [
            (f"part_{number}", kind | None, msgspec.field(default=None, name=part.name))
            for number, (part, kind) in enumerate(zip(self.parts, types, strict=True))
        ]
        return msgspec.defstruct("Parts", fields, gc=False)
