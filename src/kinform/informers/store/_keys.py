"""Key functions that accept objects, deleted objects and plain keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kinform.api import Named, ObjectName, namespace_key, split_namespace_key
from kinform.errors import KeyFuncError
from kinform.informers._changes import DeletedObject
from kinform.informers.store._index_functions import IndexFunc

T = TypeVar("T")


def deletion_handling_key(obj: Named | DeletedObject[T] | str) -> str:
    """Return the key of an object, a deleted object or a key.

    Raises:
        KeyFuncError: The object has no name.
    """
    if isinstance(obj, str):
        return obj
    if isinstance(obj, DeletedObject):
        return obj.key
    try:
        key, name = namespace_key(obj), obj.name
    except AttributeError as error:
        raise KeyFuncError(
            f"a {type(obj).__name__} has no key; it must have a name and a namespace"
        ) from error
    if not name:
        raise KeyFuncError(f"a {type(obj).__name__} has no key; set its name")
    return key


def deletion_handling_object_name(obj: Named | DeletedObject[T] | str) -> ObjectName:
    """Return the namespace and name of an object, a deleted object or a key.

    Raises:
        KeyFuncError: The object has no name.
        InvalidNameError: The key is not ``namespace/name`` or ``name``.
    """
    return split_namespace_key(deletion_handling_key(obj))


def index_func_to_key_func(func: IndexFunc[T]) -> Callable[[T], str]:
    """Return a key function made from an index function with exactly one value per object.

    The key function raises ``KeyFuncError`` for an object with no value or several.
    """

    def key(obj: T) -> str:
        found = func(obj)
        values = [found] if isinstance(found, str) else [*dict.fromkeys(found or ())]
        if len(values) != 1:
            raise KeyFuncError(
                f"an index function used as key function must return one value per object; "
                f"for a {type(obj).__name__} it returned {len(values)}"
            )
        return values[0]

    return key
