"""The golden files of all releases in Go's module cache, read into all forms, compared in pairs.

A file is an object of one kind with every field set, as JSON and as protobuf. Older releases have
fields and kinds that were removed since: kinform does not know them, and must not lose them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kinform.api import GVK
from kinform.models import model_for
from kinform.objects import (
    JSON,
    Handle,
    Model,
    PartialObjectMetadata,
    Record,
    TypedObject,
    Unstructured,
)
from kinform.protobuf import codec_for, unwrap
from tests.cluster.test_protobuf import as_servers_say, differences, exactly, without_nulls
from tests.support.built import parametrize_releases

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

AFTER = ".after_roundtrip"
ABSENT = "absent"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_releases(metafunc)


# -- comparisons -----------------------------------------------------------------------------


def hashed(value: Any) -> int | None:
    try:
        return hash(value)
    except TypeError:
        return None  # it can be edited, or has values that can


def is_equal(one: Any, other: Any) -> bool:
    """Compare with both operators, from both sides, and hash what can be hashed."""
    equal = one == other
    assert (other == one) is equal
    assert (one != other) is not equal
    assert (other != one) is not equal
    hashes = {hashed(one), hashed(other)} - {None}
    assert not equal or len(hashes) <= 1
    return bool(equal)


def check_parts(one: Any, other: Any, place: str) -> None:
    """Two equal values: so are all the models in them."""
    assert is_equal(one, other), place
    if isinstance(other, Model):
        empty = type(other)()
        assert is_equal(empty, one) is is_equal(empty, other), place
        for field in other.__struct_fields__:
            check_parts(getattr(one, field), getattr(other, field), f"{place}.{field}")
    elif isinstance(other, list):
        for mine, theirs in zip(one, other, strict=True):
            check_parts(mine, theirs, f"{place}[]")
    elif isinstance(other, Mapping):
        for key in other:
            check_parts(one[key], other[key], f"{place}[{key}]")


def check_pairs(forms: Mapping[str, Handle | dict[str, Any]]) -> None:
    """Forms are equal if they show the same, whatever they were read from."""
    trees = {
        name: form if isinstance(form, dict) else form.to_dict() for name, form in forms.items()
    }
    for one, other in itertools.combinations(forms, 2):
        expected = trees[one] == trees[other]
        assert is_equal(forms[one], forms[other]) is expected, (one, other)


# -- one file --------------------------------------------------------------------------------


class Difference(NamedTuple):
    """What protobuf does not show of an object, or shows in addition.

    Attributes:
        lost: Fields that were removed from Kubernetes; the message still has them.
        added: Fields that Kubernetes writes even if they are empty, and did not know then.
    """

    lost: list[str]
    added: list[str]

    @classmethod
    def between(cls, tree: Any, read: Any) -> Difference:
        found = Difference([], [])
        for place, was, now in differences(tree, read):
            assert now == ABSENT or (was == ABSENT and not now), (place, was, now)
            (found.lost if now == ABSENT else found.added).append(place)
        return found


@cache  # many files are the same in several releases
def check_file(gvk: GVK, text: bytes, message: bytes) -> None:
    codec, model = codec_for(gvk), model_for(gvk)
    assert codec is not None
    said = {"apiVersion": gvk.api_version, "kind": gvk.kind}
    tree = {**as_servers_say(json.loads(text)), **said}
    raw = unwrap(message).raw
    read = {**codec.decode(raw), **said}
    again = {**codec.decode(codec.encode(read)), **said}
    assert exactly(without_nulls(again)) == exactly(without_nulls(read))
    difference = Difference.between(tree, read)
    if model is None or "metadata" not in tree or not codec.has_objects:
        return
    ours, theirs = Record.read(raw, codec), Record.read(json.dumps(tree).encode(), JSON)
    assert ours.head == theirs.head
    check_that_nothing_is_lost(model.over(ours), model.over(theirs), tree, difference)
    check_pairs(dict(forms_of(model, ours, theirs), dict=tree))
    for part in model.parts.values():
        mine, other = (getattr(model.over(each), part.attribute) for each in (ours, theirs))
        check_parts(mine, other, part.name)
        for copied in (model.over(ours).copy(), model.from_dict(tree)):
            own = getattr(copied, part.attribute)
            assert is_equal(own, mine), part.name
            assert is_equal(own, other), part.name


def forms_of(
    model: type[TypedObject], ours: Record, theirs: Record
) -> Iterator[tuple[str, Handle]]:
    """One object as typed, untyped and metadata, from both formats, as a view and editable."""
    for name, record in (("protobuf", ours), ("json", theirs)):
        for form in (model, Unstructured, PartialObjectMetadata):
            yield f"{form.__name__} of {name}", form.over(record)
    yield "metadata of protobuf", PartialObjectMetadata.over(ours.only_metadata())
    yield "copy of protobuf", model.over(ours).copy()
    yield "copy of json", Unstructured.over(theirs).copy()
    changed = model.over(ours).copy()
    changed.name = "another"
    yield "changed copy", changed


def check_that_nothing_is_lost(
    ours: TypedObject, theirs: TypedObject, tree: dict[str, Any], difference: Difference
) -> None:
    """JSON shows fields that kinform does not know; protobuf keeps them, and a copy says so."""
    assert exactly(JSON.decode(theirs.copy().to_bytes())) == exactly(tree)
    copied = ours.copy()
    assert copied.is_incomplete is bool(difference.lost), difference
    if copied.is_incomplete:
        assert exactly(copied.completed(tree)) == exactly(tree)
    elif not difference.added:
        assert exactly(copied.to_dict()) == exactly(tree)


# -- all files -------------------------------------------------------------------------------


def files_of(release: Path) -> Iterator[tuple[GVK, Path]]:
    """The files whose kind is known, in both formats; others belong to kinds that were removed."""
    for message in sorted(release.glob("*.pb")):
        group, version, kind = message.stem.removesuffix(AFTER).rsplit(".", 2)
        gvk = GVK("" if group == "core" else group, version, kind)
        if codec_for(gvk) is not None and message.with_suffix(".json").exists():
            yield gvk, message


def test_all_forms_of_an_object_compare_by_what_they_show(release: Path) -> None:
    """18, golden files: both operators of every comparison, and nothing is lost."""
    seen = 0
    for gvk, file in files_of(release):
        try:
            check_file(gvk, file.with_suffix(".json").read_bytes(), file.read_bytes())
        except AssertionError as error:
            error.add_note(f"in {file}")
            raise
        seen += 1
    assert seen > 100
