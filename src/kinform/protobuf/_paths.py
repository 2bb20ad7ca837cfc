"""Reading of the value at a JSON path without decoding the rest of a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinform.protobuf._messages import FieldType, fields_by_json
from kinform.protobuf._trees import field_tree
from kinform.protobuf._values import TREES, is_list

_UNIONS = "apiextensions/v1.JSONSchemaPropsOr"


def read_path(
    message: str, value: Any, steps: Sequence[str | int]
) -> tuple[Any, Sequence[str | int]]:
    """Return the tree of the last field on the path, and the remaining steps inside of it.

    Raises:
        KeyError: There is no value.
    """
    step, rest = steps[0], steps[1:]
    field, way = fields_by_json(message)[str(step)]
    for inlined in way:
        value = getattr(value, inlined)
    if rest and _leads_on(field):
        if field.is_pointer and not value.HasField(field.proto):
            raise KeyError(step)
        return read_path(field.element, getattr(value, field.proto), rest)
    return field_tree(field, value)[field.json], rest


def _leads_on(field: FieldType) -> bool:
    """Report whether a field is a single message with the same fields as its JSON."""
    element = field.element
    return (
        field.shape == "one"
        and field.is_message
        and element not in TREES
        and not element.startswith(_UNIONS)
        and not is_list(element)
    )
