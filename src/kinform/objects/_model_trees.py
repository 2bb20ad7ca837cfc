"""Conversion of models to JSON trees that preserves fields unknown to the model.

A model contains the fields of its version of Kubernetes. A newer server sends more fields, and some
servers send ``null`` or an empty value for an absent field. An editable object therefore keeps, for
each of its models, the tree that it was read from: unedited fields are written unchanged.
"""

from __future__ import annotations

import types
from base64 import b64encode
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from kinform.errors import EncodeError
from kinform.objects._frozen import thaw
from kinform.objects._nested import Nestable
from kinform.objects._quantity import Quantity

Origins = dict[int, tuple[msgspec.Struct, dict[str, Any]]]
"""The tree that each model was read from, by the id of the model, which is kept alive with it."""

_NUMBERS = frozenset({int, float})
_LEAVES = _NUMBERS | {str, bool, type(None)}


class Field(NamedTuple):
    """How to write a field of a model or a part of an object."""

    attribute: str
    name: str
    has_zero: bool  # empty means absent; otherwise only None does
    is_micro: bool
    is_always: bool  # written even if it is empty
    is_bytes: bool  # base64 in JSON, so a str would be ambiguous
    default: Any  # the value of an absent field
    models: Any  # the type, if it may contain models

    @classmethod
    def of(cls, attribute: str, name: str, hint: Any, default: Any) -> Field:
        """Create a field; ``default`` is the value if it is absent, ``None`` for no value."""
        has_parts = isinstance(default, (msgspec.Struct, Nestable))
        has_zero = default is not None and (has_parts or not default)
        models = hint if _has_models(hint) else None
        marks = _marks(hint)
        return cls(
            attribute,
            name,
            has_zero,
            "micro" in marks,
            # Go writes a quantity that is not a pointer even if it is zero.
            "always" in marks or isinstance(default, Quantity),
            _has_bytes(hint),
            default,
            models,
        )

    def is_absent(self, value: Any) -> bool:
        if not self.has_zero:
            return value is None
        if isinstance(value, msgspec.Struct):
            return not present(value)
        return not (value.to_nested() if isinstance(value, Nestable) else value)

    def put(
        self, tree: dict[str, Any], value: Any, origins: Origins, *, is_new: bool = False
    ) -> None:
        """Write ``value`` to ``tree``, in place of the previous value.

        For a server, absent and empty are the same unless the field is required; but unedited
        values must be written as they were received.

        Raises:
            EncodeError: A time has no time zone; the message begins with a dot and the path.
        """
        if self.is_bytes:
            _refuse_text(value, f".{self.name}")
        is_default = not self.has_zero and value is not None and value == self.default
        if is_default and self.name not in tree and not self.is_always:
            return  # the server sets unedited defaults
        is_left_out = not is_new and self.name not in tree
        if is_left_out and self.models is not None and value == self.default:
            return  # it was absent before, so it is not required
        before = tree.get(self.name)
        now = _plain_child(value, origins, before, f".{self.name}", is_micro=self.is_micro)
        is_demanded = self.is_always and (is_new or self.name in tree)
        if now is not None and (now or not self.has_zero or is_demanded):
            # A number such as 1 may have been read as 1.0.
            is_same_number = type(now) in _NUMBERS and now == before
            tree[self.name] = before if is_same_number else now
        elif before is None or (self.has_zero and not before):
            if self.name in tree:
                tree[self.name] = thaw(before)
        else:
            del tree[self.name]


@cache
def _plan(kind: type[msgspec.Struct]) -> dict[str, Field]:
    """Return how to write the fields of a model, by their JSON names."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        info.encode_name: Field.of(info.name, info.encode_name, hints[info.name], _default_of(info))
        for info in msgspec.structs.fields(kind)
    }


def present(model: msgspec.Struct) -> dict[str, Any]:
    """Return the values of a model that are not absent, by attribute."""
    values = ((field, getattr(model, field.attribute)) for field in _plan(type(model)).values())
    return {field.attribute: value for field, value in values if not field.is_absent(value)}


def _default_of(info: msgspec.structs.FieldInfo) -> Any:
    if info.default is not msgspec.NODEFAULT:
        return info.default
    return None if info.default_factory is msgspec.NODEFAULT else info.default_factory()


def _marks(hint: Any) -> set[Any]:
    found = set(hint.__metadata__) if get_origin(hint) is Annotated else set()
    return found.union(*(_marks(each) for each in get_args(hint) if each is not Ellipsis))


def _has_bytes(hint: Any) -> bool:
    return hint is bytes or any(_has_bytes(each) for each in get_args(hint))


def _refuse_text(value: Any, path: str) -> None:
    if isinstance(value, str):
        raise EncodeError(f"{path}: expected bytes, got a str; write it as b'...', or encode() it")
    children = value.items() if isinstance(value, dict) else ()
    for key, each in children:
        _refuse_text(each, f"{path}[{key}]")


def _has_models(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return True
    return any(_has_models(each) for each in get_args(hint))


# -- to trees --------------------------------------------------------------------------------


def plain(value: Any, origins: Origins | None = None) -> Any:
    """Return the JSON representation of a value: dicts, lists and scalars.

    Raises:
        EncodeError: A time has no time zone (the message begins with its path), or the value
            contains itself.
    """
    try:
        return _plain(value, origins or {}, None)
    except RecursionError as error:
        raise EncodeError("it contains itself, or is nested too deep") from error
    except EncodeError as error:
        raise EncodeError(str(error).lstrip(".: ")) from None


def _plain(value: Any, origins: Origins, before: Any, *, is_micro: bool = False) -> Any:
    """Convert a value; ``before`` is the tree that it was read from."""
    if type(value) in _LEAVES:
        return value
    if isinstance(value, msgspec.Struct):
        return _plain_model(value, origins)
    if isinstance(value, dict):
        was = before if isinstance(before, dict) else {}
        return {
            str.__str__(key) if isinstance(key, str) else key: _plain_child(
                child, origins, was.get(key), f".{key}", is_micro=is_micro
            )
            for key, child in value.items()
        }
    if isinstance(value, (list, tuple)):
        was_list = before if isinstance(before, list) and len(before) == len(value) else None
        return [
            _plain_child(
                child, origins, was_list and was_list[index], f"[{index}]", is_micro=is_micro
            )
            for index, child in enumerate(value)
        ]
    if before is not None and _is_same(before, value):
        return before
    try:
        return _plain_scalar(value, is_micro=is_micro)
    except EncodeError as error:
        raise EncodeError(f": {error}") from None


def _plain_child(
    value: Any, origins: Origins, before: Any, step: str, *, is_micro: bool = False
) -> Any:
    if type(value) in _LEAVES:
        return value
    try:
        return _plain(value, origins, before, is_micro=is_micro)
    except EncodeError as error:
        raise EncodeError(f"{step}{error}") from None


def _plain_model(model: msgspec.Struct, origins: Origins) -> dict[str, Any]:
    _, origin = origins.get(id(model), (None, {}))
    is_new = id(model) not in origins
    tree = dict(origin)
    plan = _plan(type(model))
    for field in plan.values():
        value = getattr(model, field.attribute)
        # Most fields of most models are absent and always were.
        is_written = value or field.name in tree or not (value is None or field.has_zero)
        if is_written or field.is_always:
            field.put(tree, value, origins, is_new=is_new)
    for name in origin:
        if name not in plan:
            tree[name] = thaw(tree[name])
    return tree


def _plain_scalar(value: Any, *, is_micro: bool) -> Any:
    if isinstance(value, str):  # a member of an enum
        return str.__str__(value)
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, datetime):
        return written_time(value, is_micro=is_micro)
    if isinstance(value, (bytes, bytearray)):
        return b64encode(value).decode()
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value) if value else None
    if isinstance(value, Nestable):
        return value.to_nested()
    return value


def written_time(value: datetime, *, is_micro: bool) -> str:
    """Format a time for the wire. Raises EncodeError if it has no time zone."""
    if value.tzinfo is None:
        raise EncodeError(
            f"{value.isoformat()} has no time zone; use one, as in datetime.now(timezone.utc)"
        )
    utc = value.astimezone(UTC).replace(tzinfo=None)
    detail = "microseconds" if is_micro or utc.microsecond else "seconds"
    return f"{utc.isoformat(timespec=detail)}Z"


def _is_same(before: Any, value: Any) -> bool:
    """Report whether ``before`` decodes to ``value``; times and quantities vary in spelling."""
    if isinstance(value, Quantity):
        return type(before) in (int, float) and str(before) == str(value)
    if isinstance(value, str):
        return False
    kind = datetime if isinstance(value, datetime) else bytes
    try:
        return bool(msgspec.convert(before, kind) == value)
    except (msgspec.ValidationError, TypeError):
        return False


# -- from trees ------------------------------------------------------------------------------


def note_origins(value: Any, tree: Any, origins: Origins) -> None:
    """Record for each model in ``value`` the part of ``tree`` that it was read from."""
    if isinstance(value, msgspec.Struct) and isinstance(tree, dict):
        origins[id(value)] = (value, tree)
        for field in _plan(type(value)).values():
            if field.models is not None and (child := tree.get(field.name)):
                note_origins(getattr(value, field.attribute), child, origins)
    elif isinstance(value, list) and isinstance(tree, list):
        for each, its_tree in zip(value, tree, strict=False):
            note_origins(each, its_tree, origins)
    elif isinstance(value, dict) and isinstance(tree, dict):
        for key, each in value.items():
            note_origins(each, tree.get(key), origins)


def without_nulls(tree: Any, hint: Any) -> Any:
    """Return the tree without null fields of models, which mean absent to servers.

    Nulls outside of models are kept, because their meaning is unknown.
    """
    model = _model_in(hint)
    if isinstance(tree, dict) and model is not None:
        plan = _plan(model)
        return {
            name: without_nulls(child, plan[name].models) if name in plan else child
            for name, child in tree.items()
            if child is not None or name not in plan
        }
    if isinstance(tree, list):
        inner = _inner(hint, list)
        return [without_nulls(each, inner) for each in tree] if inner is not None else tree
    if isinstance(tree, dict):
        inner = _inner(hint, dict)
        if inner is not None:
            return {key: without_nulls(each, inner) for key, each in tree.items()}
    return tree


def alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the types that a type hint allows, without annotations."""
    origin = get_origin(hint)
    if origin is Annotated:
        return alternatives(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return tuple(inner for each in get_args(hint) for inner in alternatives(each))
    return (hint,)


def _model_in(hint: Any) -> type[msgspec.Struct] | None:
    for each in alternatives(hint):
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            return each
    return None


def _inner(hint: Any, container: type) -> Any:
    """Return the element type of a container, if it contains models."""
    for each in alternatives(hint):
        if get_origin(each) is container and _has_models(each):
            return get_args(each)[-1]
    return None
