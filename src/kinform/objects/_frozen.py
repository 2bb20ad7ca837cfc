"""Read-only dicts and lists, whose errors name ``copy()`` as the remedy.

Freezing is lazy: a child is frozen on first access, so unread parts cost nothing. Operations that
the C code of ``dict`` and ``list`` would do (``dict(x)``, ``{**x}``, ``x | y``, ``x + y``) are
overridden, because they would return children that are not frozen yet.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Any, NoReturn, SupportsIndex

from kinform.errors import EncodeError, ReadOnlyError

_LEAVES = frozenset({str, int, float, bool, type(None)})


def thaw(value: Any) -> Any:
    """Return an editable deep copy of a tree, frozen or not, made of plain dicts and lists.

    Raises:
        EncodeError: The tree contains itself or is nested too deeply.
    """
    try:
        return _thaw(value)
    except RecursionError as error:
        raise EncodeError("it contains itself, or is nested too deep") from error


def _thaw(value: Any) -> Any:
    # Most values are leaves, so they are handled without a call ("copy of an editable" in
    # benchmarks/bench_objects.py).
    if isinstance(value, dict):
        items = dict.items(value)
        return {key: kid if type(kid) in _LEAVES else _thaw(kid) for key, kid in items}
    if isinstance(value, list):
        return [kid if type(kid) in _LEAVES else _thaw(kid) for kid in list.__iter__(value)]
    if isinstance(value, tuple):
        return [_thaw(child) for child in value]
    if isinstance(value, Mapping):
        return {key: _thaw(child) for key, child in value.items()}
    return value


def freeze(value: Any) -> Any:
    """Return a read-only version of a tree. The caller must not use the original any more."""
    if type(value) is dict:
        return FrozenDict(value)
    if type(value) is list:
        return FrozenList(value)
    return value


def refuse_edit(self: object, *_: object, **__: object) -> NoReturn:
    """Refuse a modification; the mutating methods of read-only lists and dicts."""
    raise ReadOnlyError(
        "this object is read-only because it came from a list, a watch or a cache; "
        "call copy() on the object and edit the copy"
    )


class FrozenDict(dict[str, Any]):
    """A read-only dict. Its ``copy()`` is a plain, deep, editable dict."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        value = dict.__getitem__(self, key)
        if type(value) is dict or type(value) is list:
            value = freeze(value)
            dict.__setitem__(self, key, value)
        return value

    def __iter__(self) -> Iterator[str]:
        # Overriding it makes dict(x), {**x} and update(x) use __getitem__.
        return super().__iter__()

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def values(self) -> ValuesView[Any]:  # type: ignore[override]  # a view of the same dict
        self._freeze_children()
        return super().values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]  # a view of the same dict
        self._freeze_children()
        return super().items()

    def _freeze_children(self) -> None:
        for key in self:
            self[key]

    def copy(self) -> dict[str, Any]:
        copied: dict[str, Any] = thaw(self)
        return copied

    def __or__(self, other: Any) -> Any:
        return self.copy() | _own(other) if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return _own(other) | self.copy() if isinstance(other, dict) else NotImplemented

    def __copy__(self) -> dict[str, Any]:
        return self.copy()

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return self.copy()

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return (FrozenDict, (self.copy(),))

    __setitem__ = __delitem__ = __ior__ = refuse_edit
    clear = pop = popitem = setdefault = update = refuse_edit


class FrozenList(list[Any]):
    """A read-only list. Its ``copy()`` is a plain, deep, editable list."""

    __slots__ = ()

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        if isinstance(index, slice):
            return FrozenList([self[position] for position in range(*index.indices(len(self)))])
        value = list.__getitem__(self, index)
        if type(value) is dict or type(value) is list:
            value = freeze(value)
            list.__setitem__(self, index, value)
        return value

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __reversed__(self) -> Iterator[Any]:
        return (self[index] for index in reversed(range(len(self))))

    def copy(self) -> list[Any]:
        copied: list[Any] = thaw(self)
        return copied

    def __add__(self, other: Any) -> Any:
        return self.copy() + _own(other) if isinstance(other, list) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return _own(other) + self.copy() if isinstance(other, list) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> list[Any]:
        return self.copy() * count

    __rmul__ = __mul__

    def __copy__(self) -> list[Any]:
        return self.copy()

    def __deepcopy__(self, memo: object) -> list[Any]:
        return self.copy()

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return (FrozenList, (self.copy(),))

    __setitem__ = __delitem__ = __iadd__ = __imul__ = refuse_edit
    append = clear = extend = insert = pop = remove = reverse = sort = refuse_edit


def _own(other: Any) -> Any:
    """Return the other operand of an operator: thawed if it is frozen, otherwise unchanged."""
    return other.copy() if isinstance(other, FrozenDict | FrozenList) else other
