"""Keys, resources and resource versions of any content go there and back, and keep their order."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinform.api import GVR, ObjectName, compare_resource_versions, split_namespace_key
from kinform.errors import InvalidNameError

segments = st.text(min_size=1).filter(lambda text: "/" not in text)
labels = st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")
comparable = st.integers(1, 10**60).map(str)


@given(st.one_of(st.just(""), segments), segments)
def test_a_key_comes_back_as_the_name_it_was_made_of(namespace: str, name: str) -> None:
    assert split_namespace_key(ObjectName(namespace, name).key) == (namespace, name)


@given(st.lists(segments, min_size=3, max_size=5))
def test_more_than_one_slash_is_never_a_key(parts: list[str]) -> None:
    with pytest.raises(InvalidNameError, match="more than one slash"):
        split_namespace_key("/".join(parts))


@given(
    st.one_of(st.just(""), st.lists(labels, min_size=1, max_size=3).map(".".join)), labels, labels
)
def test_a_resource_comes_back_from_its_text(group: str, version: str, resource: str) -> None:
    gvr = GVR(group, version, resource)
    assert GVR.parse(str(gvr)) == gvr


@given(st.text(max_size=12))
def test_any_text_is_a_resource_or_an_invalid_name_error(text: str) -> None:
    with contextlib.suppress(InvalidNameError):
        assert str(GVR.parse(text)) in (text, text.removeprefix("/"))


@given(comparable, comparable)
def test_resource_versions_of_any_length_have_the_order_of_their_numbers(
    left: str, right: str
) -> None:
    order = compare_resource_versions(left, right)
    assert order == (int(left) > int(right)) - (int(left) < int(right))


@given(comparable, st.integers(1, 5))
def test_a_leading_zero_takes_the_order_away(version: str, zeros: int) -> None:
    padded = "0" * zeros + version
    assert compare_resource_versions(padded, version) is None
    assert compare_resource_versions(padded, padded) == 0


@given(st.text(), st.text())
def test_order_is_antisymmetric_and_equality_is_that_of_text(left: str, right: str) -> None:
    order, reverse = compare_resource_versions(left, right), compare_resource_versions(right, left)
    assert (order == 0) is (left == right)
    assert (order is None and reverse is None) or (
        order is not None and reverse is not None and order == -reverse
    )
