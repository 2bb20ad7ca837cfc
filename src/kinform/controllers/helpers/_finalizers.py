"""Finalizers: names on an object that delay its deletion until all are removed."""

from __future__ import annotations

from kinform.controllers.helpers._objects import (
    AnyObject,
    EditableObject,
    edit_metadata_list,
    read_metadata_list,
    require_editable,
)
from kinform.errors import ConfigError

_NAME = "finalizers"


def add_finalizer(obj: EditableObject, finalizer: str) -> bool:
    """Add a finalizer, such as ``example.com/web``. Report whether the object was changed.

    Add it before the first side effect, and not during deletion: then the server refuses the
    update.

    Raises:
        ConfigError: The finalizer is not a name.
        ReadOnlyError: The object is read-only; edit a ``copy()``.
    """
    receiver = "add_finalizer"
    require_editable(obj, receiver=receiver)
    if has_finalizer(obj, finalizer):
        return False
    edit_metadata_list(obj, _NAME, receiver=receiver).append(finalizer)
    return True


def remove_finalizer(obj: EditableObject, finalizer: str) -> bool:
    """Remove a finalizer. Report whether the object was changed.

    Raises:
        ConfigError: The finalizer is not a name.
        ReadOnlyError: The object is read-only; edit a ``copy()``.
    """
    receiver = "remove_finalizer"
    require_editable(obj, receiver=receiver)
    if not has_finalizer(obj, finalizer):
        return False
    items = edit_metadata_list(obj, _NAME, receiver=receiver)
    items[:] = [each for each in items if each != finalizer]
    return True


def has_finalizer(obj: AnyObject, finalizer: str) -> bool:
    """Whether an object has a finalizer.

    Raises:
        ConfigError: The finalizer is not a name.
    """
    given: object = finalizer  # callers may be untyped
    if not isinstance(given, str) or not given:
        raise ConfigError(f"a finalizer is a name such as 'example.com/web', not {finalizer!r}")
    return finalizer in read_metadata_list(obj, _NAME, receiver="has_finalizer")
