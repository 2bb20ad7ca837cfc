"""An object inside a model, as claims are in a StatefulSet: its tree in, its tree out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self


class Nestable(ABC):
    """An object that may stand alone or inside a part of another one."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def from_nested(cls, tree: dict[str, Any]) -> Self:
        """An editable object over ``tree``, which need not say its kind."""

    @abstractmethod
    def to_nested(self) -> dict[str, Any]:
        """Its tree, which says its kind unless it came without one or there is nothing in it."""

    @abstractmethod
    def copy(self) -> Self:
        """The same again, editable; nothing is shared."""
