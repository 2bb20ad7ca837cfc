"""Read-only lists and dicts in typed parts.

A list or dict is frozen when its field is first accessed, so unread fields cost nothing. Its
elements are values, or structs and objects that are read-only themselves. Unlike in trees
(``_frozen``), nothing is left to freeze, and the C code of ``list`` and ``dict`` does all reading.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, get_args, get_origin

import msgspec

from kinform.objects._frozen import freeze, refuse_edit
from kinform.objects._model import deep_copy
from kinform.objects._model_trees import alternatives
from kinform.objects._nested import Nestable


class FrozenValues(dict[str, Any]):
    """A read-only dict, such as labels. Its ``copy()`` is a plain, deep, editable dict."""

    __slots__ = ()

    def copy(self) -> dict[str, Any]:
        copied: dict[str, Any] = deep_copy(self)
        return copied

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return self.copy()

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return (dict, (self.copy(),))

    __setitem__ = __delitem__ = __ior__ = refuse_edit
    clear = pop = popitem = setdefault = update = refuse_edit


class FrozenItems(list[Any]):
    """A read-only list, such as containers. Its ``copy()`` is a plain, deep, editable list."""

    __slots__ = ()

    def copy(self) -> list[Any]:
        copied: list[Any] = deep_copy(self)
        return copied

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> list[Any]:
        return self.copy()

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return (list, (self.copy(),))

    __setitem__ = __delitem__ = __iadd__ = __imul__ = refuse_edit
    append = clear = extend = insert = pop = remove = reverse = sort = refuse_edit


_FROZEN: dict[Any, type] = {list: FrozenItems, dict: FrozenValues}


@cache
def freezer(hint: Any) -> Callable[[Any], Any] | None:
    """Return a function that freezes lists and dicts of this type; ``None`` if it has none."""
    editable = [each for each in alternatives(hint) if not _is_value(each)]
    if not editable:
        return None
    container = get_origin(editable[0])
    if len(editable) == 1 and container in _FROZEN and freezer(get_args(editable[0])[-1]) is None:
        return _FROZEN[container]
    # Without structs it is a tree, which is frozen as far as it is read.
    return _freeze_all if _has_objects(hint) else freeze


def frozen(value: Any, freeze: Callable[[Any], Any]) -> Any:
    """Return a value, frozen by the freezer of its type if it is a list or dict."""
    return freeze(value) if type(value) is list or type(value) is dict else value


def _is_value(hint: Any) -> bool:
    """Report whether a type has only values that are neither lists nor dicts."""
    if hint is Any or hint is object:
        return False
    return isinstance(hint, type) and not issubclass(hint, list | dict)


def _has_objects(hint: Any) -> bool:
    if isinstance(hint, type):
        return issubclass(hint, msgspec.Struct | Nestable)
    return any(map(_has_objects, get_args(hint)))


def _freeze_all(value: Any) -> Any:
    if type(value) is list:
        return FrozenItems(map(_freeze_all, value))
    if type(value) is dict:
        return FrozenValues({key: _freeze_all(child) for key, child in value.items()})
    return value
