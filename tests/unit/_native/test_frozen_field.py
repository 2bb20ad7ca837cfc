"""18.5: the fields of read-only structs, with compiled code and without."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import msgspec
import pytest

from kinform import _native
from kinform._native import _fallback


class Frozen(list[Any]):
    """What a list becomes; unlike a list, it can be watched."""


class Plain(msgspec.Struct):
    items: Any = None
    other: Any = None


both = pytest.mark.parametrize(
    "field_class", {_native.FrozenField, _fallback.FrozenField}, ids=lambda each: each.__module__
)


def read_only(field_class: Any, freeze: Any = Frozen) -> Any:
    class ReadOnly(Plain):
        pass

    ReadOnly.items = field_class(Plain.items, freeze)
    return ReadOnly


@both
def test_a_list_is_frozen_once(field_class: Any) -> None:
    """18.5: when it is first read, and then kept in the struct."""
    made = read_only(field_class)(items=[1], other=[2])
    found = made.items
    assert type(found) is Frozen
    assert made.items is found
    assert msgspec.structs.astuple(made) == (found, [2])
    assert type(made.other) is list
    assert msgspec.json.encode(made) == b'{"items":[1],"other":[2]}'


@both
@pytest.mark.parametrize("value", [None, "text", 5, (1,), Frozen([1])], ids=repr)
def test_what_is_no_list_or_dict_stays(field_class: Any, value: Any) -> None:
    """18.5: as does one that is frozen already."""
    made = read_only(field_class, lambda value: pytest.fail("asked to freeze"))(items=value)
    assert made.items is value


@both
def test_dicts_are_frozen_too(field_class: Any) -> None:
    """18.5: by what the field was given."""
    assert read_only(field_class, lambda value: tuple(value))(items={"a": 1}).items == ("a",)


@both
def test_the_class_has_the_slot_itself(field_class: Any) -> None:
    """18.5: for whoever reads or sets it past the field."""
    kind = read_only(field_class)
    assert kind.items is Plain.items
    made = kind(items=[1])
    assert type(kind.items.__get__(made)) is list
    kind.items.__delete__(made)
    with pytest.raises(AttributeError):
        _ = made.items


@both
def test_an_error_while_freezing_changes_nothing(field_class: Any) -> None:
    """18.5: it is raised, and the next access tries again."""
    failures = [ValueError("once")]

    def freeze(value: Any) -> Any:
        if failures:
            raise failures.pop()
        return Frozen(value)

    made = read_only(field_class, freeze)(items=[1])
    with pytest.raises(ValueError, match="once"):
        _ = made.items
    assert type(made.items) is Frozen


compiled = pytest.mark.skipif(not _native.IS_COMPILED, reason="there is no compiled code here")


@compiled
def test_whoever_is_the_first_to_freeze_does_it_for_all() -> None:
    """18.5: a second one in the middle of it, as another thread would be, gets the same list."""
    nested: list[Any] = []

    def freeze(value: Any) -> Any:
        if not nested:
            nested.append(None)
            nested.append(made.items)
        return Frozen(value)

    made = read_only(_native.FrozenField, freeze)(items=[1])
    assert made.items is nested[1]


@both
def test_nothing_is_kept(field_class: Any) -> None:
    """18.5: neither the list, nor the struct, nor the class."""
    kind = read_only(field_class)
    made = kind(items=[1])
    alive = ref(made.items), ref(kind)
    made.items.append(made)
    del made, kind
    gc.collect()
    assert [each() for each in alive] == [None, None]


any_field: Any = _native.FrozenField


@compiled
@pytest.mark.parametrize(
    "arguments", [(), (Plain.items,), (5, list), (Plain, list), (type.__name__, list)], ids=repr
)
def test_nonsense_is_refused(arguments: tuple[Any, ...]) -> None:
    """18.5: only the slot of a class has a place in its instances."""
    with pytest.raises(TypeError):
        any_field(*arguments)
    with pytest.raises(TypeError):
        any_field(Plain.items, list, a=1)


@compiled
def test_a_struct_of_another_class_is_refused() -> None:
    """18.5: its slots are elsewhere."""

    class Other:
        items = any_field(Plain.items, Frozen)

    with pytest.raises(TypeError):
        _ = Other().items
