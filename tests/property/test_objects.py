"""Over trees of any shape: readers never disturb each other, and nothing is lost on the way."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kinform.errors import DecodeError, ReadOnlyError
from kinform.objects import JSON, Record, Unstructured, freeze, thaw

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    text,
)
trees = st.recursive(
    scalars,
    lambda children: st.one_of(
        st.lists(children, max_size=4), st.dictionaries(text, children, max_size=4)
    ),
    max_leaves=20,
)
parts = st.dictionaries(
    text.filter(lambda part: part not in ("apiVersion", "kind", "metadata")), trees, max_size=4
)


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    metadata = {"name": "a", "labels": draw(st.dictionaries(text, text, max_size=3))}
    return {
        "apiVersion": "v1",
        "kind": "Thing",
        "metadata": metadata | {"annotations": draw(st.dictionaries(text, text, max_size=3))},
        **draw(parts),
    }


def record_of(tree: dict[str, Any]) -> Record:
    return Record.read(json.dumps(tree).encode(), JSON)


def vandalise(value: Any) -> None:
    """Try every edit that a careless reader might make, at every depth."""
    edits: list[Callable[[], object]]
    if isinstance(value, dict):
        children = list(value.values())
        edits = [value.clear, value.popitem, lambda: value.update(vandal=1)]
    elif isinstance(value, list):
        children = list(value)
        edits = [value.clear, value.reverse, lambda: value.append(1)]
    else:
        return
    for child in children:
        vandalise(child)
    for edit in edits:
        with contextlib.suppress(ReadOnlyError, KeyError):
            edit()


def handed_out(handle: Unstructured) -> list[Any]:
    """Whatever a handle gives to its reader, by every public way."""
    return [
        *(handle[part] for part in handle),
        *handle.values(),
        dict(handle),
        {**handle},
        *({**part} for part in handle.values() if isinstance(part, dict)),
        *([*part] for part in handle.values() if isinstance(part, list)),
        handle.to_dict(),
        handle.labels,
        handle.annotations,
        handle.finalizers,
        handle.owner_references,
        handle.metadata,
        handle.get_path("metadata"),
        copy.copy(handle).to_dict(),
        dict(handle.copy()),
        handle.metadata | {},
        thaw(handle.metadata),
    ]


@given(objects())
def test_whatever_a_reader_does_no_other_reader_and_no_byte_changes(tree: dict[str, Any]) -> None:
    record = record_of(tree)
    payload = bytes(bytearray(record.payload))
    victim, early = Unstructured.over(record), Unstructured.over(record)
    early.to_dict()
    list(early.values())
    for value in handed_out(victim):
        vandalise(value)
    late = Unstructured.over(record)
    for reader in (victim, early, late):
        assert reader == tree
        assert dict(reader) == tree
        assert reader.labels == tree["metadata"]["labels"]
    assert record.payload == payload
    assert dict(record.head.labels) == tree["metadata"]["labels"]


@given(objects(), parts)
def test_a_copy_can_be_edited_without_a_trace_in_its_original(
    tree: dict[str, Any], edits: dict[str, Any]
) -> None:
    handle = Unstructured.over(record_of(tree))
    copied = handle.copy()
    second = copied.copy()
    copied.update(edits)
    for part in list(copied):
        vandalise(copied[part])
    assert handle == tree
    assert second == tree


@given(objects(), text, trees)
def test_copy_edit_send_changes_only_what_was_edited(
    tree: dict[str, Any], member: str, value: Any
) -> None:
    copied = Unstructured.over(record_of(tree)).copy()
    copied.set_path(("spec-of-mine", f"x{member}"), value)
    expected = copy.deepcopy(tree)
    expected["spec-of-mine"] = {f"x{member}": value}
    assert JSON.decode(copied.to_bytes()) == expected


@given(objects())
def test_parts_one_by_one_are_the_whole(tree: dict[str, Any]) -> None:
    handle = Unstructured.over(record_of(tree))
    assert {part: handle[part] for part in tree} == tree
    assert all(part in handle for part in tree)
    assert Unstructured.over(record_of(tree)).to_dict() == tree


@given(trees)
def test_freezing_and_thawing_lose_nothing(tree: Any) -> None:
    frozen = freeze(copy.deepcopy(tree))
    assert frozen == tree
    assert thaw(frozen) == tree
    assert pickle.loads(pickle.dumps(frozen)) == tree
    assert json.loads(json.dumps(frozen)) == tree
    vandalise(frozen)
    assert frozen == tree


@given(trees)
def test_what_is_encoded_decodes_to_the_same(tree: Any) -> None:
    assert JSON.decode(JSON.encode({"tree": tree})) == {"tree": tree}


@given(st.binary(max_size=40), st.integers(0, 200), st.integers(0, 3))
def test_damaged_bytes_are_read_or_refused_and_nothing_else(
    junk: bytes, position: int, cut: int
) -> None:
    whole = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"b":"c"}},"spec":{}}'
    damaged = whole[:position] + junk + whole[position + cut :]
    with contextlib.suppress(DecodeError):
        handle = Unstructured.over(Record.read(damaged, JSON))
        assert handle.to_dict()["kind"] == handle.kind
    with contextlib.suppress(DecodeError, KeyError):
        JSON.decode_part(damaged, "spec")
    with contextlib.suppress(DecodeError):
        _, kept = JSON.keep_metadata(damaged)
        assert kept.startswith(b'{"kind":"PartialObjectMetadata"')
