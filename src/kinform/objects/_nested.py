"""Objects inside models, such as the claims of a StatefulSet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self


class Nestable(ABC):
    """An object that can also be nested in a part of another object."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def from_nested(cls, tree: dict[str, Any]) -> Self:
        """Create an editable object from ``tree``, which may lack the kind."""

    @classmethod
    @abstractmethod
    def over_nested(cls, tree: dict[str, Any]) -> Self:
        """Create a read-only object from ``tree``, which was decoded and may lack the kind."""

    @abstractmethod
    def to_nested(self) -> dict[str, Any]:
        """Return the tree, with the kind unless it came without one or is empty."""

    @abstractmethod
    def copy(self) -> Self:
        """Return an independent, editable copy."""
