"""The parts of a typed object: structs with Python's names outside and Kubernetes' on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Self, TypeVar

import msgspec

from kinform.errors import DecodeError, EncodeError
from kinform.objects._misfits import misfit
from kinform.objects._model_trees import plain, present, without_nulls
from kinform.objects._nested import Nestable
from kinform.objects._quantity import Quantity

FieldsV1 = msgspec.Raw
"""Which fields a manager owns, as JSON text: large, hardly ever read. ``to_dict`` decodes it."""

V = TypeVar("V")

Always = Annotated[V, "always"]
"""A field that is written even if it is empty: whoever demands it would miss it."""

MicroTime = Annotated[datetime, "micro"]
"""A time that travels with its microseconds."""


class Model(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A part of an object, or a part of a part. Made by keyword; what is left out is absent."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: its names, plain values, and nothing that is absent.

        Raises:
            EncodeError: A time has no time zone; the path is named.
        """
        tree: dict[str, Any] = plain(self)
        return tree

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """From what JSON has. What the model does not know is left out; whole objects keep it.

        Raises:
            DecodeError: Something is of another type than the model says; the path is named.
        """
        decoder = model_decoder(cls)
        plain_tree = without_nulls(plain(dict(tree)), cls)
        try:
            text = msgspec.json.encode(plain_tree)
        except (TypeError, ValueError, RecursionError) as error:
            raise EncodeError(f"{cls.__name__}: it cannot be written as JSON: {error}") from error
        try:
            found: Self = decoder.decode(text)
        except msgspec.MsgspecError as error:
            raise DecodeError(f"{cls.__name__}: {misfit(error, plain_tree, decoder)}") from error
        return found

    def copy(self) -> Self:
        """The same again, down to the last part; nothing is shared."""
        names = self.__struct_fields__
        return type(self)(**{name: _deep_copy(getattr(self, name)) for name in names})

    def __repr__(self) -> str:
        shown = (f"{attribute}={value!r}" for attribute, value in present(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"


@cache
def model_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Reads JSON text as this type, which may be made of models."""
    return msgspec.json.Decoder(kind, dec_hook=_read_custom)


def _read_custom(kind: type, value: Any) -> Any:
    if kind is Quantity and type(value) in (str, int, float):
        return Quantity(value)
    if issubclass(kind, Nestable) and isinstance(value, dict):
        return kind.from_nested(value)
    # msgspec adds the place to a TypeError, and to none of its own.
    raise TypeError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def _deep_copy(value: Any) -> Any:
    if isinstance(value, (Model, Nestable)):
        return value.copy()  # each knows best: a view becomes a struct
    if isinstance(value, dict):
        return {key: _deep_copy(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_deep_copy(child) for child in value]
    return value
