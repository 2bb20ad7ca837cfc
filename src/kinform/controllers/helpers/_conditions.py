"""Conditions: the ``status.conditions`` of an object, one for each aspect of its state."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar, get_args, get_origin, overload

import msgspec

from kinform._checks import expect
from kinform.controllers.helpers._objects import AnyObject, EditableObject, require_editable
from kinform.errors import ConfigError, ReadOnlyError
from kinform.models.meta.v1 import Condition
from kinform.objects import FrozenList, Handle, Model, TypedObject

C = TypeVar("C")

ConditionStatus = Literal["True", "False", "Unknown"]
"""The status of a condition."""

_STATUSES = get_args(ConditionStatus)
_JSON_NAMES = {
    "type": "type",
    "status": "status",
    "reason": "reason",
    "message": "message",
    "observed_generation": "observedGeneration",
    "last_transition_time": "lastTransitionTime",
}


def set_condition(
    target: EditableObject | MutableSequence[Any],
    *,
    type: str,
    status: ConditionStatus | bool,
    reason: str,
    message: str = "",
    observed_generation: int | None = None,
    at: datetime | None = None,
) -> bool:
    """Set the condition of a type. Its ``lastTransitionTime`` changes only with its status.

        web = (await client.get(Web, "shop/web")).copy()
        if set_condition(web, type="Ready", status=True, reason="Deployed"):
            await client.update(web, subresource="status")

    Args:
        target: The object, or its list of conditions. Into an empty list, a ``meta.v1.Condition``
            is added; pass the object if its conditions are dicts.
        type: The type of the condition, such as ``Ready``.
        status: True, false, or ``"Unknown"``.
        reason: One word that says why, for programs.
        message: The same for people.
        observed_generation: The generation of the object that this is about; ``None`` keeps it.
        at: The time of the transition; the current time by default.

    Returns:
        Whether anything was changed.

    Raises:
        ConfigError: An argument is invalid, or the object has no conditions.
        ReadOnlyError: The object is read-only; edit a ``copy()``.
    """
    wanted = _wanted_fields(type, status, reason, message, observed_generation)
    conditions, form = _editable_conditions(target)
    found = find_condition(conditions, type)
    transition = _now(at)
    if found is None:
        conditions.append(_new(form, {**wanted, "last_transition_time": transition}))
        return True
    if _get(found, "status") != wanted["status"]:
        wanted["last_transition_time"] = transition
    changes = {
        name: value
        for name, value in wanted.items()
        if _has(found, name) and _get(found, name) != value
    }
    for name, value in changes.items():
        _put(found, name, value)
    return bool(changes)


def remove_condition(target: EditableObject | MutableSequence[Any], type: str) -> bool:
    """Remove the condition of a type. Report whether there was one.

    Raises:
        ConfigError: The object has no conditions.
        ReadOnlyError: The object is read-only; edit a ``copy()``.
    """
    if find_condition(target, type) is None:
        if not isinstance(target, MutableSequence):
            require_editable(target, receiver="remove_condition")
        return False
    conditions, _ = _editable_conditions(target)
    conditions[:] = [each for each in conditions if _get(each, "type") != type]
    return True


@overload
def find_condition(target: Sequence[C], type: str) -> C | None: ...
@overload
def find_condition(target: AnyObject, type: str) -> Any: ...
def find_condition(target: AnyObject | Sequence[Any], type: str) -> Any:
    """Return the condition of a type, as a model or a dict; ``None`` if there is none."""
    expect(type, str, receiver="type=", expected="the type of a condition, such as 'Ready'")
    for each in _conditions_of(target):
        if _get(each, "type") == type:
            return each
    return None


def is_condition_true(target: AnyObject | Sequence[Any], type: str) -> bool:
    """Whether the condition of a type exists and is true."""
    return _has_status(target, type, "True")


def is_condition_false(target: AnyObject | Sequence[Any], type: str) -> bool:
    """Whether the condition of a type exists and is false."""
    return _has_status(target, type, "False")


def _has_status(target: AnyObject | Sequence[Any], type: str, status: str) -> bool:
    found = find_condition(target, type)
    return found is not None and _get(found, "status") == status


def _wanted_fields(
    type: object, status: object, reason: object, message: object, generation: object
) -> dict[str, Any]:
    if isinstance(status, bool):
        status = str(status)
    if status not in _STATUSES:
        raise ConfigError(f"status must be a bool or one of {_STATUSES}, not {status!r}")
    for option, given in (("type", type), ("reason", reason), ("message", message)):
        expect(given, str, receiver=f"{option}= of set_condition()", expected="a string")
    if not type:
        raise ConfigError("type must not be empty; write it in camel case, such as 'Ready'")
    fields = {"type": type, "status": status, "reason": reason, "message": message}
    return fields if generation is None else {**fields, "observed_generation": generation}


def _now(at: datetime | None) -> datetime:
    if at is None:
        at = datetime.now(UTC)
    expect(at, datetime, receiver="at=", expected="a datetime")
    if at.tzinfo is None:
        raise ConfigError(f"at={at!r} has no time zone; use datetime.now(UTC)")
    return at.astimezone(UTC).replace(microsecond=0)  # servers keep seconds


# -- the list of conditions ------------------------------------------------------------------


def _conditions_of(target: Any) -> Sequence[Any]:
    """Return the conditions, to read."""
    if isinstance(target, TypedObject):
        return getattr(getattr(target, "status", None), "conditions", None) or ()
    if isinstance(target, Mapping):
        status = target.get("status")
        return (status.get("conditions") if isinstance(status, Mapping) else None) or ()
    if isinstance(target, Sequence) and not isinstance(target, str):
        return target
    raise ConfigError(
        f"conditions are read from an object or a list, not from a {type(target).__name__}"
    )


def _editable_conditions(target: Any) -> tuple[MutableSequence[Any], type[Model] | None]:
    """Return the conditions, to edit in place, and their class; ``None`` for dicts."""
    if isinstance(target, Handle | Mapping):
        obj: Any = target
        require_editable(obj, receiver="set_condition")
        if isinstance(target, TypedObject):
            return _typed_conditions(target)
        return _tree_conditions(target), None
    conditions = _conditions_of(target)
    if isinstance(conditions, FrozenList) or not isinstance(conditions, MutableSequence):
        raise ReadOnlyError("these conditions are read-only; call copy() of their object first")
    first = conditions[0] if conditions else None
    if isinstance(first, Mapping):
        return conditions, None
    return conditions, Condition if first is None else type(first)


def _tree_conditions(obj: Any) -> list[Any]:
    status = obj.get("status")
    if status is None:
        obj["status"] = {}
        status = obj["status"]
    if not isinstance(status, MutableMapping):
        raise ConfigError(f"the status of {obj!r} is a {type(status).__name__}, not a dict")
    if status.get("conditions") is None:
        status["conditions"] = []
    found: list[Any] = status["conditions"]
    return found


def _typed_conditions(obj: TypedObject) -> tuple[list[Any], type[Model]]:
    part = obj.parts.get("status")
    kind = None if part is None else part.type
    field = None
    if isinstance(kind, type) and issubclass(kind, Model):
        fields = msgspec.structs.fields(kind)
        field = next((each for each in fields if each.name == "conditions"), None)
    if part is None or field is None or kind is None:
        raise ConfigError(f"a {type(obj).__name__} has no status.conditions")
    status = getattr(obj, part.attribute)
    if status is None:
        status = kind()
        setattr(obj, part.attribute, status)
    if status.conditions is None:
        status.conditions = []
    conditions: list[Any] = status.conditions
    return conditions, _item_class(field.type)


def _item_class(hint: Any) -> type[Model]:
    """Return the class of the items of a list, which may be optional."""
    if get_origin(hint) is list:
        found: type[Model] = get_args(hint)[0]
        return found
    return next(_item_class(each) for each in get_args(hint) if each is not type(None))


# -- one condition: a model or a dict --------------------------------------------------------


def _new(form: type[Model] | None, fields: dict[str, Any]) -> Any:
    if form is None:
        return {_JSON_NAMES[name]: _plain(value) for name, value in fields.items()}
    return form(**{name: value for name, value in fields.items() if name in form.__struct_fields__})


def _has(condition: Any, name: str) -> bool:
    return isinstance(condition, Mapping) or hasattr(condition, name)


def _get(condition: Any, name: str) -> Any:
    if isinstance(condition, Mapping):
        empty = 0 if name == "observed_generation" else ""
        return condition.get(_JSON_NAMES[name], empty)
    return getattr(condition, name, None)


def _put(condition: Any, name: str, value: Any) -> None:
    if isinstance(condition, Mapping):
        assert isinstance(condition, MutableMapping)
        condition[_JSON_NAMES[name]] = _plain(value)
    else:
        setattr(condition, name, value)


def _plain(value: Any) -> Any:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value
