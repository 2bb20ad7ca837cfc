"""A message and a path in JSON in; what JSON has there out, without the rest of the message."""

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
    """The tree of the last field on the way, and the steps that lead on inside of it.

    Raises:
        KeyError: There is nothing.
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
    """Whether it is one message whose fields are those that JSON has."""
    element = field.element
    return (
        field.shape == "one"
        and field.is_message
        and element not in TREES
        and not element.startswith(_UNIONS)
        and not is_list(element)
    )
