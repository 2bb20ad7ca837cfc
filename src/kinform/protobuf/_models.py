"""Conversion of parsed messages to the values of models, in Python.

A message first becomes a tree, as in ``_trees``, with the JSON names of a model and its values:
times, quantities, bytes. ``msgspec.convert`` then creates the structs, as it does for JSON. This is
the only way to read messages without compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from kinform.objects import Model, TypedObject, alternatives
from kinform.protobuf._messages import FieldType, fields_by_json
from kinform.protobuf._trees import Convert, Step, Tree, element_tree_of, field_step, tree_of
from kinform.protobuf._values import VALUES, is_list, items, read_either, text

C = TypeVar("C")

_EITHER = "apiextensions/v1.JSONSchemaPropsOr"
_SCHEMA = "apiextensions/v1.JSONSchemaProps"
_CONTAINERS = {"list": list, "map": dict}


class ModelField(msgspec.Struct, frozen=True):
    """A field of a model, and its location in a message.

    Attributes:
        attribute: The name in Python.
        hint: The type in the model.
        absent: Creates the model's value for an absent field.
        message: The message that it is read from.
        kind: The field of the message.
        way: The path of inlined messages to the field.
    """

    attribute: str
    hint: Any
    absent: Callable[[], Any]
    message: str
    kind: FieldType
    way: tuple[str, ...]

    @property
    def element_hint(self) -> Any:
        """The type of the values in the field: of the elements of a list or map."""
        container = _CONTAINERS.get(self.kind.shape)
        for each in alternatives(self.hint):
            if container is not None and get_origin(each) is container:
                return get_args(each)[-1]
        return Any if container is not None else self.hint

    @property
    def model(self) -> type[Model] | None:
        """The model of the structs in the field; ``None`` if they are not structs."""
        message = self.kind.element
        if not self.kind.is_message or message in VALUES:
            return None
        if is_list(message) or message.startswith(_EITHER):
            return None
        return None if _class_in(self.hint, TypedObject) else _class_in(self.hint, Model)


@cache
def model_fields(model: type[Model], message: str) -> tuple[ModelField, ...]:
    """Return the fields of a model that the message also has."""
    found = fields_by_json(message)
    hints = get_type_hints(model, include_extras=True)
    return tuple(
        ModelField(info.name, hints[info.name], absent_of(info), message, *found[info.encode_name])
        for info in msgspec.structs.fields(model)
        if info.encode_name in found
    )


def absent_of(info: msgspec.structs.FieldInfo) -> Callable[[], Any]:
    """Return a function that creates the model's default for a field."""
    factory = info.default_factory
    return (lambda: info.default) if factory is msgspec.NODEFAULT else factory


@cache
def field_reader(field: ModelField) -> Convert:
    """Return a function that reads a field of a parsed message."""
    # msgspec caches what it knows of structs, but not of other types.
    holder = _holder(field.kind.json, field.hint | None)
    step, absent = _step(field), field.absent

    def read(message: Any) -> Any:
        tree: Tree = {}
        step(message, tree)
        return msgspec.convert(tree, holder).value if tree else absent()

    return read


@cache
def element_reader(field: ModelField) -> Convert:
    """Return a function that converts a message in a field to the value in the model."""
    holder = _holder("value", field.element_hint)
    convert = _element(field)
    assert convert is not None  # it is a message
    return lambda message: msgspec.convert({"value": convert(message)}, holder).value


def _holder(name: str, hint: Any) -> Any:
    return msgspec.defstruct("Holder", [("value", hint, msgspec.field(name=name))], gc=False)


def _step(field: ModelField) -> Step:
    step = field_step(field.kind, _element(field), keeps_null=False)
    if not field.way:
        return step
    inlined = attrgetter(".".join(field.way))
    return lambda message, tree: step(inlined(message), tree)


@cache
def _model_tree(model: type[Model], message: str) -> Convert:
    """Return a function that converts a message to a tree with the values of a model."""
    # Created on first use, because models can contain each other.
    steps: tuple[Step, ...] | None = None

    def convert(value: Any) -> Tree:
        nonlocal steps
        if steps is None:
            steps = tuple(_step(field) for field in model_fields(model, message))
        tree: Tree = {}
        for step in steps:
            step(value, tree)
        return tree

    return convert


def _element(field: ModelField) -> Convert | None:
    """Return the converter of the values in a field; ``None`` if they stay as they are."""
    message = field.kind.element
    if not field.kind.is_message:
        return text if message == "string" else None
    if (custom := VALUES.get(message)) is not None:
        return custom
    if is_list(message):
        return items
    if (nested := _class_in(field.hint, TypedObject)) is not None:
        tree = element_tree_of(field.kind)
        return lambda value: nested.over_nested(tree(value))
    model = _class_in(field.hint, Model)
    if model is None:
        return tree_of(message)
    if message.startswith(_EITHER):
        schema = _model_tree(model, _SCHEMA)
        return lambda value: read_either(message, value, schema)
    return _model_tree(model, message)


def _class_in(hint: Any, base: type[C]) -> type[C] | None:
    """Return the subclass of ``base`` in a type hint, directly or as element of a list or map."""
    for each in alternatives(hint):
        inner = get_args(each)[-1] if get_origin(each) in (list, dict) else each
        for kind in alternatives(inner):
            if isinstance(kind, type) and issubclass(kind, base):
                return kind
    return None
