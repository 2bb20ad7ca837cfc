"""Index functions of a cache by field, and the conditions that use them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from kinform.api import FieldSelector
from kinform.client import as_field_selector
from kinform.errors import InvalidNameError, SelectorError
from kinform.informers.store import HeadIndex, field_index, namespace_index, owner_index
from kinform.objects import Handle, TypedObject

FieldQuery = FieldSelector | str | Mapping[str, str | Collection[str]]
"""A field selector; in a dict, a list or set has the allowed values."""

IndexFunction = Callable[[Any], Iterable[str] | None]


class PathIndex:
    """Indexes by the value of a field; an absent field has the empty value, as on the server.

    Two indexes of one path are equal, so that declaring one twice has no effect.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._values = field_index(path)

    def __call__(self, obj: Handle) -> Iterable[str]:
        return self._values(obj) or ("",)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathIndex) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"PathIndex({self.path!r})"


BUILT_IN: Mapping[str, IndexFunction] = {
    "metadata.name": HeadIndex(lambda head: (head.name,)),
    "metadata.namespace": namespace_index,
    "metadata.ownerReferences.uid": owner_index,
}
"""The fields that every kind has; their indexes are added on first use."""


def index_name(field: str) -> str:
    """Return the name of the index of a field."""
    return f"field:{field}"


def field_conditions(fields: FieldQuery) -> list[tuple[str, frozenset[str], bool]]:
    """Return the fields of a query, each with its values and whether it is negated.

    Raises:
        SelectorError: The query is invalid.
    """
    if isinstance(fields, Mapping):
        return [(field, _values(field, given), False) for field, given in fields.items()]
    return [
        (each.field, frozenset((each.value,)), each.negated)
        for each in as_field_selector(fields).requirements
    ]


def _values(field: str, given: str | Collection[str]) -> frozenset[str]:
    if not isinstance(given, Collection):
        raise SelectorError(f"field {field!r}: pass a string or a list of strings, not {given!r}")
    values = (given,) if isinstance(given, str) else tuple(given)
    for value in values:
        if not isinstance(value, str):
            raise SelectorError(
                f"field {field!r}: value {value!r} must be a string, as the server writes it "
                "('true', '3')"
            )
    return frozenset(values)


def check_path(model: type[TypedObject], path: str) -> None:
    """Check that objects of a model have a field.

    Raises:
        InvalidNameError: They do not; the message has similar names.
    """
    fields: Mapping[str, Any] = {name: part.type for name, part in model.parts.items()}
    reached = model.__name__
    for step in path.split("."):
        found = fields.get(step)
        if found is None:
            similar = get_close_matches(_camel(step), fields, n=1)
            hint = f"; did you mean {similar[0]!r}?" if similar else ""
            raise InvalidNameError(
                f"{path!r} is not a field of {model.__name__}: {reached} has no {step!r}{hint}"
            )
        reached, inner = f"{reached}.{step}", _struct_of(found)
        if inner is None:
            return  # a dict, a list or a scalar, whose contents the model does not name
        hints = get_type_hints(inner)
        fields = {each.encode_name: hints[each.name] for each in msgspec.structs.fields(inner)}


def _struct_of(hint: Any) -> type[msgspec.Struct] | None:
    """Return the model of a field; ``None`` if it has none."""
    for each in (hint, *get_args(hint)):
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            return each if get_origin(hint) not in (list, dict) else None
    return None


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
