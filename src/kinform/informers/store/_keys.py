"""Whatever stands for an object in, its key out: an object, what was deleted, or a plain key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kinform.api import Named, ObjectName, namespace_key, split_namespace_key
from kinform.errors import KeyFuncError
from kinform.informers._changes import DeletedObject
from kinform.informers.store._index_functions import IndexFunc

T = TypeVar("T")


def deletion_handling_key(obj: Named | DeletedObject[T] | str) -> str:
    """The key of an object, of a deleted one whose last state may be unknown, or of a key itself.

    Raises:
        KeyFuncError: It has no name.
    """
    if isinstance(obj, str):
        return obj
    if isinstance(obj, DeletedObject):
        return obj.key
    try:
        key, name = namespace_key(obj), obj.name
    except AttributeError as error:
        raise KeyFuncError(
            f"a {type(obj).__name__} has no key: it needs a name and a namespace"
        ) from error
    if not name:
        raise KeyFuncError(f"a {type(obj).__name__} has no key; give it a name")
    return key


def deletion_handling_object_name(obj: Named | DeletedObject[T] | str) -> ObjectName:
    """The same as namespace and name.

    Raises:
        KeyFuncError: It has no name.
        InvalidNameError: Its key is not ``namespace/name`` or ``name``.
    """
    return split_namespace_key(deletion_handling_key(obj))


def index_func_to_key_func(func: IndexFunc[T]) -> Callable[[T], str]:
    """Use an index function that gives exactly one value as a key function.

    What it returns raises ``KeyFuncError`` for an object that has no value, or several.
    """

    def key(obj: T) -> str:
        said = func(obj)
        values = [said] if isinstance(said, str) else [*dict.fromkeys(said or ())]
        if len(values) != 1:
            raise KeyFuncError(
                f"an index function that serves as key must give one value for each object; "
                f"for a {type(obj).__name__} it gave {len(values)}"
            )
        return values[0]

    return key
