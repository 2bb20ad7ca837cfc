"""The base class of models: structs with Python names and the JSON names of Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Self, TypeVar

import msgspec

from kinform.errors import DecodeError, EncodeError
from kinform.objects._model_trees import plain, present, without_nulls
from kinform.objects._nested import Nestable
from kinform.objects._quantity import Quantity
from kinform.objects._type_errors import type_error

FieldsV1 = msgspec.Raw
"""The fields owned by a manager, as JSON text: large and rarely read. ``to_dict`` decodes it."""

V = TypeVar("V")

Always = Annotated[V, "always"]
"""A field that is written even if it is empty, because the server requires it."""

MicroTime = Annotated[datetime, "micro"]
"""A time that is written with microseconds."""


class Model(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A part of an object, at any depth. Created with keywords; omitted fields are absent."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON tree: JSON names, plain values, and no absent fields.

        Raises:
            EncodeError: A time has no time zone; the message names its path.
        """
        tree: dict[str, Any] = plain(self)
        return tree

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """Create a model from a JSON tree. Unknown fields are dropped; complete objects keep them.

        Raises:
            DecodeError: A value has the wrong type; the message names its path.
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
            raise DecodeError(
                f"{cls.__name__}: {type_error(error, plain_tree, decoder)}"
            ) from error
        return found

    def copy(self) -> Self:
        """Return a deep copy."""
        names = self.__struct_fields__
        return type(self)(**{name: deep_copy(getattr(self, name)) for name in names})

    def __repr__(self) -> str:
        shown = (f"{attribute}={value!r}" for attribute, value in present(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"


@cache
def model_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return the JSON decoder of a type that may contain models."""
    return msgspec.json.Decoder(kind, dec_hook=_reader(read_only=False))


@cache
def read_only_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return the JSON decoder of a type with read-only classes; objects in it are read-only too."""
    return msgspec.json.Decoder(kind, dec_hook=_reader(read_only=True))


def _reader(*, read_only: bool) -> Callable[[type, Any], Any]:
    def read_custom(kind: type, value: Any) -> Any:
        if kind is Quantity and type(value) in (str, int, float):
            return Quantity.from_wire(str(value))
        if issubclass(kind, Nestable) and isinstance(value, dict):
            return kind.over_nested(value) if read_only else kind.from_nested(value)
        # msgspec adds the path to a TypeError, but not to its own errors.
        raise TypeError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")

    return read_custom


def deep_copy(value: Any) -> Any:
    """Return an editable copy of a value of a model."""
    if isinstance(value, (Model, Nestable)):
        return value.copy()  # each class has its own copy: a view becomes a struct
    if isinstance(value, dict):
        return {key: deep_copy(child) for key, child in value.items()}
    if isinstance(value, list):
        return [deep_copy(child) for child in value]
    return value
