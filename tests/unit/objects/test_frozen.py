"""Frozen trees refuse every edit and are dicts and lists in every other way."""

from __future__ import annotations

import copy
import json
import operator
import pickle
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kinform.errors import EncodeError, ReadOnlyError
from kinform.objects import FrozenDict, FrozenList, FrozenValues, freeze, thaw


def tree() -> dict[str, Any]:
    return {"a": {"b": [1, {"c": 2}]}, "d": [[3], {"e": 4}], "f": "text", "g": None}


def frozen_dict() -> FrozenDict:
    frozen = freeze(tree())
    assert type(frozen) is FrozenDict
    return frozen


def frozen_list() -> FrozenList:
    frozen = freeze(tree()["d"])
    assert type(frozen) is FrozenList
    return frozen


def methods_that_change(prototype: type, sample: Callable[[], Any]) -> set[str]:
    """Names of the type whose call, with some plausible arguments, changes an instance."""
    attempts: list[tuple[Any, ...]] = [(), (0,), ("a",), (0, 0), ("a", 0), ([0],), ({"z": 0},)]
    attempts += [([["z", 0]],), ([0], 0), (sample()["d"] if prototype is dict else sample()[0],)]
    changing = set()
    for name in dir(prototype):
        for arguments in attempts:
            instance = sample()
            try:
                getattr(instance, name)(*arguments)
            except Exception:
                continue
            if instance != sample():
                changing.add(name)
    # Calling it again on a live object is not something that happens by accident.
    return changing - {"__init__"}


DICT_MUTATORS = methods_that_change(dict, tree)
LIST_MUTATORS = methods_that_change(list, lambda: tree()["d"])


def test_the_search_for_mutators_finds_those_that_we_know() -> None:
    assert {
        *("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault"),
        "update",
    } <= DICT_MUTATORS
    assert {
        *("__setitem__", "__delitem__", "__iadd__", "__imul__", "append", "clear", "extend"),
        *("insert", "pop", "remove", "reverse"),
    } <= LIST_MUTATORS


@pytest.mark.parametrize("name", sorted(DICT_MUTATORS))
def test_a_frozen_dict_refuses_every_mutator_of_dict(name: str) -> None:
    frozen = frozen_dict()
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        getattr(frozen, name)("a", 0)
    assert frozen == tree()


@pytest.mark.parametrize("name", sorted(LIST_MUTATORS | {"sort"}))
def test_a_frozen_list_refuses_every_mutator_of_list(name: str) -> None:
    frozen = frozen_list()
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        getattr(frozen, name)(0, 0)
    assert frozen == tree()["d"]


def set_item(frozen: Any) -> None:
    frozen["a"]["b"][1]["c"] = 0


def delete_item(frozen: Any) -> None:
    del frozen["a"]["b"][1]["c"]


def augment(frozen: Any) -> None:
    frozen["a"] |= {"x": 1}


def extend(frozen: Any) -> None:
    frozen["d"] += [1]


def set_slice(frozen: Any) -> None:
    frozen["d"][:] = []


def shuffle(frozen: Any) -> None:
    random.Random(1).shuffle(frozen["d"])


@pytest.mark.parametrize("edit", [set_item, delete_item, augment, extend, set_slice, shuffle])
def test_edits_are_refused_at_any_depth(edit: Callable[[Any], None]) -> None:
    frozen = frozen_dict()
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        edit(frozen)
    assert frozen == tree()


def is_frozen_throughout(value: Any) -> bool:
    if isinstance(value, dict):
        return type(value) is FrozenDict and all(map(is_frozen_throughout, value.values()))
    if isinstance(value, list):
        return type(value) is FrozenList and all(map(is_frozen_throughout, value))
    return True


def match_values(frozen: Any) -> list[Any]:
    match frozen:
        case {"a": {"b": [_, *rest]} as inner, **others}:
            return [inner, *rest, *others.values()]
    return ["no match"]


def updated_values(frozen: FrozenDict) -> list[Any]:
    plain: dict[str, Any] = {}
    plain.update(frozen)
    return list(plain.values())


def extended(frozen: FrozenList) -> list[Any]:
    plain: list[Any] = []
    plain.extend(frozen)
    return plain


READS_OF_A_DICT: dict[str, Callable[[FrozenDict], list[Any]]] = {
    "subscript": lambda frozen: [frozen["a"], frozen["d"]],
    "get": lambda frozen: [frozen.get("a"), frozen.get("d"), frozen.get("z", "default")],
    "values": lambda frozen: list(frozen.values()),
    "items": lambda frozen: [value for _, value in frozen.items()],
    "view after view": lambda frozen: list(frozen.keys().mapping.values()),
    "unpacking": lambda frozen: list({**frozen}.values()),
    "keywords": lambda frozen: list((lambda **given: given)(**frozen).values()),
    "constructor": lambda frozen: list(dict(frozen).values()),
    "update of a plain one": updated_values,
    "match": match_values,
}


@pytest.mark.parametrize("read", READS_OF_A_DICT.values(), ids=READS_OF_A_DICT)
def test_no_way_of_reading_a_dict_hands_out_a_child_that_can_be_edited(
    read: Callable[[FrozenDict], list[Any]],
) -> None:
    children = read(frozen_dict())
    assert any(isinstance(child, dict) for child in children)
    assert all(map(is_frozen_throughout, children))


READS_OF_A_LIST: dict[str, Callable[[FrozenList], list[Any]]] = {
    "subscript": lambda frozen: [frozen[0], frozen[-1]],
    "slice": lambda frozen: [frozen[:], frozen[::-1]],
    "iteration": lambda frozen: [child for child in frozen],  # noqa: C416  # list() is another way
    "list": lambda frozen: list(frozen),
    "tuple": lambda frozen: [*tuple(frozen)],
    "unpacking": lambda frozen: [*frozen],
    "assignment": lambda frozen: (lambda first, second: [first, second])(*frozen),
    "reversed": lambda frozen: list(reversed(frozen)),
    "sorted": lambda frozen: sorted(frozen, key=str),
    "zip": lambda frozen: [pair[0] for pair in zip(frozen, frozen, strict=True)],
    "extend of a plain one": extended,
    "concatenated slice": lambda frozen: [frozen[1:], frozen[:1]],
}


@pytest.mark.parametrize("read", READS_OF_A_LIST.values(), ids=READS_OF_A_LIST)
def test_no_way_of_reading_a_list_hands_out_a_child_that_can_be_edited(
    read: Callable[[FrozenList], list[Any]],
) -> None:
    children = read(frozen_list())
    assert children
    assert all(map(is_frozen_throughout, children))


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy method": lambda frozen: frozen.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "thaw": thaw,
    "or": lambda frozen: frozen | {},
    "ror": lambda frozen: {} | frozen,
    "or of two": lambda frozen: frozen | frozen_dict(),
}


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
def test_a_copy_of_a_dict_is_plain_deep_and_editable(duplicate: Callable[[Any], Any]) -> None:
    frozen = frozen_dict()
    frozen["a"]["b"]
    copied = duplicate(frozen)
    assert copied == tree()
    assert type(copied) is dict
    copied["a"]["b"][1]["c"] = "edited"
    copied["d"].append("edited")
    assert frozen == tree()


LIST_COPIES: dict[str, Callable[[Any], Any]] = {
    "copy method": lambda frozen: frozen.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "thaw": thaw,
    "add": lambda frozen: operator.add(frozen, []),
    "radd": lambda frozen: operator.add([], frozen),
    "add of two": lambda frozen: frozen + FrozenList(),
    "times": lambda frozen: frozen * 1,
    "rtimes": lambda frozen: 1 * frozen,
}


@pytest.mark.parametrize("duplicate", LIST_COPIES.values(), ids=LIST_COPIES)
def test_a_copy_of_a_list_is_plain_deep_and_editable(duplicate: Callable[[Any], Any]) -> None:
    frozen = frozen_list()
    frozen[1]
    copied = duplicate(frozen)
    assert copied == tree()["d"]
    assert type(copied) is list
    copied[1]["e"] = "edited"
    copied.append("edited")
    assert frozen == tree()["d"]


@pytest.mark.parametrize(
    ("combine", "left", "right"),
    [
        (operator.or_, frozen_dict(), []),
        (operator.or_, [], frozen_dict()),
        (operator.add, frozen_list(), ()),
        (operator.add, (), frozen_list()),
    ],
)
def test_operators_refuse_what_those_of_dicts_and_lists_refuse(
    combine: Callable[[Any, Any], Any], left: Any, right: Any
) -> None:
    with pytest.raises(TypeError, match=r"unsupported operand|can only concatenate"):
        combine(left, right)


def test_a_frozen_tree_is_a_dict_to_everyone_who_only_reads() -> None:
    frozen = frozen_dict()
    assert isinstance(frozen, dict)
    assert isinstance(frozen["d"], list)
    assert frozen == tree()
    assert tree() == frozen
    assert frozen["d"] == tree()["d"]
    assert repr(frozen) == repr(tree())
    assert list(frozen) == list(tree())
    assert "a" in frozen
    assert len(frozen["d"]) == 2
    assert [3] in frozen["d"]
    assert frozen["d"].index({"e": 4}) == 1
    assert json.dumps(frozen) == json.dumps(tree())
    assert msgspec.json.encode(frozen) == msgspec.json.encode(tree())
    assert msgspec.json.encode(frozen["d"]) == msgspec.json.encode(tree()["d"])


def test_a_missing_key_is_an_ordinary_key_error() -> None:
    with pytest.raises(KeyError, match="zzz"):
        frozen_dict()["zzz"]
    with pytest.raises(IndexError):
        frozen_list()[9]


def test_a_frozen_tree_can_be_pickled_and_stays_frozen() -> None:
    for frozen in (frozen_dict(), frozen_list()):
        twin = pickle.loads(pickle.dumps(frozen))
        assert twin == frozen
        assert is_frozen_throughout(twin)


def test_a_child_read_twice_is_the_same_child() -> None:
    frozen = frozen_dict()
    assert frozen["a"] is frozen["a"]
    assert frozen["d"][1] is frozen["d"][1]


def test_thaw_makes_lists_of_tuples_and_dicts_of_mappings() -> None:
    given = {"a": ({"b": 1},), "c": msgspec.UNSET}
    thawed = thaw(given)
    assert thawed == {"a": [{"b": 1}], "c": msgspec.UNSET}
    thawed["a"][0]["b"] = 2
    assert given["a"] == ({"b": 1},)


def test_thaw_refuses_a_tree_that_contains_itself() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(EncodeError, match="contains itself"):
        thaw(loop)


def test_values_that_are_no_container_are_frozen_already() -> None:
    for value in ("text", 1, 2.5, None, True):
        assert freeze(value) is value


# -- labels ----------------------------------------------------------------------------------------

TEXTS = {"app": "web", "tier": "front"}


@pytest.mark.parametrize("name", sorted(DICT_MUTATORS))
def test_frozen_texts_refuse_every_mutator_of_dict(name: str) -> None:
    frozen = FrozenValues(TEXTS)
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        getattr(frozen, name)("app", "x")
    assert frozen == TEXTS


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(dict, id="dict"),
        pytest.param(lambda texts: {**texts}, id="**"),
        pytest.param(lambda texts: texts | {}, id="or"),
        pytest.param(lambda texts: {} | texts, id="or, the other way"),
        pytest.param(lambda texts: texts.copy(), id="copy()"),
        pytest.param(copy.copy, id="copy.copy"),
        pytest.param(copy.deepcopy, id="copy.deepcopy"),
        pytest.param(thaw, id="thaw"),
        pytest.param(lambda texts: json.loads(json.dumps(texts)), id="json"),
        pytest.param(lambda texts: msgspec.json.decode(msgspec.json.encode(texts)), id="msgspec"),
    ],
)
def test_what_is_made_of_frozen_texts_is_plain_and_ones_own(
    read: Callable[[FrozenValues], dict[str, str]],
) -> None:
    frozen = FrozenValues(TEXTS)
    made = read(frozen)
    assert type(made) is dict
    assert made == TEXTS
    made["app"] = "x"
    assert frozen == TEXTS


def test_frozen_texts_are_plain_when_they_were_pickled() -> None:
    found = pickle.loads(pickle.dumps(FrozenValues(TEXTS)))
    assert type(found) is dict
    assert found == TEXTS
