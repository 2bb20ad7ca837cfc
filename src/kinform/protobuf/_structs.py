"""Generated functions that convert messages to models.

They are generated as source code from the tables of fields and compiled on first use, as in
dataclasses: one function per struct, without calls for scalars and without work for absent fields
("whole, protobuf" in benchmarks/bench_objects.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from keyword import iskeyword
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from kinform.objects import Model, TypedObject
from kinform.objects._model_trees import alternatives
from kinform.protobuf._messages import FieldType, class_of, fields_by_json, fields_of
from kinform.protobuf._trees import element_tree_of, tree_of
from kinform.protobuf._values import VALUES, by_key, is_list, items, read_either, text

Read = Callable[[Any], Any]
Make = Callable[[type[Model], str], Read]
Names = dict[str, Any]
"""The globals of generated code."""

C = TypeVar("C")

_EITHER = "apiextensions/v1.JSONSchemaPropsOr"
# Structs with at most this many fields are created inline in a list.
_SIMPLE = 8


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
    def has(self) -> Callable[[Any, str], bool]:
        """The ``HasField`` of its message; looking it up there costs as much as calling it."""
        owner = self.message
        for inlined in self.way:
            owner = next(each.element for each in fields_of(owner) if each.proto == inlined)
        has: Callable[[Any, str], bool] = class_of(owner).HasField
        return has


@cache
def model_fields(model: type[Model], message: str) -> tuple[ModelField, ...]:
    """Return the fields of a model that the message also has."""
    found = fields_by_json(message)
    hints = get_type_hints(model)
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
def struct_of(model: type[Model], message: str) -> Read:
    """Return a function that converts a complete message to a struct."""
    names: Names = {"model": model}
    places: dict[tuple[str, ...], str] = {(): "m"}
    given, added = [], []
    # A frozen struct is created with all fields at once.
    is_frozen = model.__struct_config__.frozen
    for each in model_fields(model, message):
        # An inlined message is looked up once.
        source = places.setdefault(each.way, f"m{len(places)}")
        is_there, value = _written(each, source, names, struct_of)
        if is_there:
            place = f"made[{each.attribute!r}]" if is_frozen else f"made.{each.attribute}"
            added.append(f" if {is_there}: {place} = {value}")
        else:
            given.append(f"{each.attribute}={value}")
    lines = [
        "def read(m):",
        *(f" {name} = {'.'.join(('m', *way))}" for way, name in places.items() if way),
        f" made = {'dict' if is_frozen else 'model'}({', '.join(given)})",
        *added,
        " return model(**made)" if is_frozen else " return made",
    ]
    read: Read = compiled("\n".join(lines), message, names)["read"]
    return read


def written_field(field: ModelField, names: Names, make: Make = struct_of) -> str:
    """Return an expression that reads a field; ``make`` creates the models in it."""
    is_there, value = _written(field, ".".join(("m", *field.way)), names, make)
    return _or_absent(field, is_there, value, names, "")


def _or_absent(field: ModelField, is_there: str, value: str, names: Names, mark: str) -> str:
    if not is_there:
        return value
    if field.absent() is None:
        return f"{value} if {is_there} else None"
    absent = f"absent_{mark}{field.attribute}"
    names[absent] = field.absent
    return f"{value} if {is_there} else {absent}()"


def compiled(text: str, what: str, names: Names) -> Names:
    """Execute generated code and return its globals."""
    exec(compile(text, f"<readers of {what}>", "exec"), names)
    return names


def _written(
    field: ModelField, place: str, names: Names, make: Make, mark: str = ""
) -> tuple[str, str]:
    """Return two expressions: whether the value differs from the absent one, and the value.

    The first is empty if the check is not worth its cost. The globals of the expressions are added
    to ``names``, marked with ``mark`` so that several structs can share one function.
    """
    kind, proto = field.kind, field.kind.proto
    names |= {"by_key": by_key, "text": text}
    read = "text" if kind.element == "string" else "None"
    if kind.is_message:
        read = f"read_{mark}{field.attribute}"
        names[read] = _converter(field, names, read, make)
    found = f"getattr({place}, {proto!r})" if iskeyword(proto) else f"{place}.{proto}"
    if kind.shape == "map":
        return f"(v := {found})", f"by_key(v, {read})"
    if kind.shape == "list":
        each = _written_element(field, names, make, mark) or _one(kind, "each", read)
        return f"(v := {found})", f"[{each} for each in v]"
    value = _one(kind, found, read)
    if kind.is_pointer or (kind.is_message and _is_absent_if_empty(field, names[read])):
        has = f"has_{mark}{field.attribute}"
        names[has] = field.has
        return f"{has}({place}, {proto!r})", value
    return "", value


def _one(kind: FieldType, found: str, read: str) -> str:
    if kind.is_message:
        return f"{read}({found})"
    # Invalid UTF-8 is returned as bytes. The check costs a fifth of a call.
    return f"(v if type(v := {found}) is str else text(v))" if kind.element == "string" else found


def _written_element(field: ModelField, names: Names, make: Make, mark: str) -> str:
    """Return an expression that creates a list element inline, if the struct is simple.

    A pod may have a hundred environment variables; the calls would take a tenth of the time.
    """
    model = struct_model(field)
    if mark or model is None or len(model.__struct_fields__) > _SIMPLE:
        return ""
    fields = model_fields(model, field.kind.element)
    if any(each.way or each.kind.shape != "one" for each in fields):
        return ""
    mark = f"{field.attribute}_"
    names[f"model_{mark}"] = model
    given = []
    for each in fields:
        is_there, value = _written(each, "each", names, make, mark)
        given.append(f"{each.attribute}={_or_absent(each, is_there, value, names, mark)}")
    return f"model_{mark}({', '.join(given)})"


def _is_absent_if_empty(field: ModelField, convert: Read) -> bool:
    """Report whether an empty message equals an absent one, as for structs."""
    absent = field.absent()
    return isinstance(absent, Model) or convert(class_of(field.kind.element)()) == absent


# -- what messages become --------------------------------------------------------------------


def struct_model(field: ModelField) -> type[Model] | None:
    """Return the model of the structs in a field; ``None`` if they are not structs."""
    message = field.kind.element
    if not field.kind.is_message or message in VALUES:
        return None
    if is_list(message) or message.startswith(_EITHER):
        return None
    return None if _class_in(field.hint, TypedObject) else _class_in(field.hint, Model)


def value_converter(field: ModelField) -> Read:
    """Return a function that converts a message that does not become a struct."""
    message = field.kind.element
    if (custom := VALUES.get(message)) is not None:
        return custom
    if is_list(message):
        return items
    if (nested := _class_in(field.hint, TypedObject)) is not None:
        tree = element_tree_of(field.kind)
        return lambda value: nested.from_nested(tree(value))
    model = _class_in(field.hint, Model)
    if model is None:
        return tree_of(message)
    schema = "apiextensions/v1.JSONSchemaProps"
    return lambda value: read_either(message, value, struct_of(model, schema))


def _converter(field: ModelField, names: Names, name: str, make: Make) -> Read:
    model, message = struct_model(field), field.kind.element
    if model is None:
        return value_converter(field)

    def compile_first(value: Any) -> Any:
        # Created on first use, because models can contain each other.
        names[name] = read = make(model, message)
        return read(value)

    return compile_first


def _class_in(hint: Any, base: type[C]) -> type[C] | None:
    """Return the subclass of ``base`` in a type hint, directly or as element of a list or map."""
    for each in alternatives(hint):
        inner = get_args(each)[-1] if get_origin(each) in (list, dict) else each
        for kind in alternatives(inner):
            if isinstance(kind, type) and issubclass(kind, base):
                return kind
    return None
