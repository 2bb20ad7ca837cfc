"""Resource versions have the order that the server documents, or none."""

from __future__ import annotations

import pytest

from kinform.api import compare_resource_versions, is_comparable


@pytest.mark.parametrize("version", ["1", "10", "18446744073709551616", "9" * 500])
def test_digits_without_a_leading_zero_have_an_order(version: str) -> None:
    assert is_comparable(version)


@pytest.mark.parametrize(
    "version", ["", "0", "01", "-1", "+1", "1.0", "1e3", " 1", "1\n", "abc", "٣", "²", "1_0"]
)
def test_anything_else_is_opaque(version: str) -> None:
    assert not is_comparable(version)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("1", "2", -1),
        ("2", "1", 1),
        ("9", "10", -1),
        ("10", "9", 1),
        ("5", "5", 0),
        ("18446744073709551615", "18446744073709551616", -1),
        ("1" + "0" * 400, "9" * 400, 1),
    ],
)
def test_a_longer_version_is_newer_and_equal_lengths_compare_digit_by_digit(
    left: str, right: str, order: int
) -> None:
    assert compare_resource_versions(left, right) == order


@pytest.mark.parametrize(
    ("left", "right"), [("abc", "1"), ("1", "abc"), ("01", "1"), ("0", "1"), ("", "1"), ("a", "b")]
)
def test_different_versions_have_no_order_if_one_is_opaque(left: str, right: str) -> None:
    assert compare_resource_versions(left, right) is None


@pytest.mark.parametrize("version", ["abc", "0", "", "007"])
def test_an_opaque_version_equals_itself(version: str) -> None:
    assert compare_resource_versions(version, version) == 0
