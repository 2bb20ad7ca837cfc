"""Converts Go types to annotations and default values."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tools.schema.table import Table, TypeExpression, parse_type

_SCALARS = {
    "string": ("str", '""'),
    "bool": ("bool", "False"),
    "int": ("int", "0"),
    "int32": ("int", "0"),
    "int64": ("int", "0"),
    "float64": ("float", "0.0"),
    "bytes": ("bytes", 'b""'),
    "any": ("Any", "None"),
}
_SCHEMA = "JSONSchemaProps"


class PythonType(NamedTuple):
    """An annotation, and the value of an absent field that is not a pointer.

    ``zero`` is ``None`` if Go's zero value has no equivalent of this type.
    """

    annotation: str
    zero: str


class TypeReader:
    """Reads types of the table for one module; ``name_of`` returns the name of a struct in it."""

    def __init__(self, table: Table, name_of: Callable[[str], str]) -> None:
        self._table = table
        self._name_of = name_of

    def field(self, type_: str) -> PythonType:
        """Return the type of a field, including ``None`` if it may be absent."""
        expression = parse_type(type_)
        is_pointer = expression.form == "pointer"
        annotation, zero = self._read(expression)
        # Any value may be None; raw text may be empty, and msgspec has no optional one.
        if annotation in ("Any", "FieldsV1") or not (is_pointer or zero == "None"):
            return PythonType(annotation, zero)
        return PythonType(f"{annotation} | None", "None")

    def _read(self, expression: TypeExpression) -> PythonType:
        if expression.of is None:
            return self._read_name(expression.name)
        inner = self._read(expression.of)
        if expression.form != "pointer" and inner.annotation in ("datetime", "MicroTime"):
            # Go writes a zero time as null, also in containers.
            inner = PythonType(f"{inner.annotation} | None", "None")
        if expression.form == "list":
            return PythonType(f"list[{inner.annotation}]", "[]")
        if expression.form == "map":
            return PythonType(f"dict[str, {inner.annotation}]", "{}")
        return inner

    def _read_name(self, name: str) -> PythonType:
        if name in _SCALARS:
            return PythonType(*_SCALARS[name])
        if (named := self._table.type_by_id.get(name)) is not None:
            return self._read(parse_type(named.type))
        if self._table.struct_by_id[name].custom:
            return self._read_custom(name)
        called = self._name_of(name)
        return PythonType(called, f"{called}()")

    def _read_custom(self, name: str) -> PythonType:
        """Return the type of a struct that implements its own JSON in Go."""
        package, _, word = name.rpartition(".")
        if word.startswith(_SCHEMA):
            schema = self._name_of(f"{package}.{_SCHEMA}")
            other = {"Bool": "bool", "Array": f"list[{schema}]", "StringArray": "list[str]"}
            return PythonType(f"{schema} | {other[word.removeprefix(f'{_SCHEMA}Or')]}", "None")
        return PythonType(*_CUSTOM[word])


_CUSTOM = {
    "Time": ("datetime", "None"),
    "MicroTime": ("MicroTime", "None"),
    "Quantity": ("Quantity", "Quantity()"),
    "IntOrString": ("int | str", "0"),
    "FieldsV1": ("FieldsV1", "FieldsV1()"),
    "RawExtension": ("Any", "None"),
    "JSON": ("Any", "None"),
}


def innermost_structs(table: Table, type_: str) -> set[str]:
    """Return the structs that a value of this type may contain, or be."""
    expression = parse_type(type_)
    while expression.of is not None:
        expression = expression.of
    name = expression.name
    if name in _SCALARS:
        return set()
    if (named := table.type_by_id.get(name)) is not None:
        return innermost_structs(table, named.type)
    package, _, word = name.rpartition(".")
    if word.startswith(f"{_SCHEMA}Or"):
        return {f"{package}.{_SCHEMA}"}
    return set() if table.struct_by_id[name].custom else {name}
