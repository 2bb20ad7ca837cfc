"""18.4: quantities behave like the fractions that they stand for."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from kinform.objects import Quantity

_FACTORS = {
    "": Fraction(1),
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", start=1)},
    **{letter: Fraction(1, 1000**power) for power, letter in enumerate("mun", start=1)},
    **{f"{letter}{power}": Fraction(10) ** power for letter in "eE" for power in range(-12, 25)},
}
_CANONICAL = re.compile(r"(0|-?[1-9][0-9]*)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|e-?[0-9]+|)")


class Written:
    """A quantity as text, and the fraction that it stands for."""

    def __init__(self, sign: str, whole: int, decimals: str, suffix: str) -> None:
        self.text = f"{sign}{whole}.{decimals}{suffix}" if decimals else f"{sign}{whole}{suffix}"
        digits = Fraction(f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}")
        self.value = _rounded_up(digits * _FACTORS[suffix])
        if suffix.endswith("i"):
            self.value = max(min(self.value, Fraction(2**63 - 1)), Fraction(1 - 2**63))

    def __repr__(self) -> str:
        return self.text


def _rounded_up(value: Fraction) -> Fraction:
    size = Fraction(math.ceil(abs(value) * 10**9), 10**9)
    return size if value >= 0 else -size


_wholes = st.integers(0, 2000) | st.integers(0, 10**20)
written = st.builds(
    Written,
    st.sampled_from(["", "-", "+"]),
    _wholes | st.integers(0, 2000).map(lambda each: 1024 * each),
    st.text("0123456789", max_size=12),
    st.sampled_from([*_FACTORS]),
)


def value_of(quantity: Quantity) -> Fraction:
    return Fraction(quantity.decimal)


@given(written)
def test_the_number_is_that_of_the_text(one: Written) -> None:
    quantity = Quantity(one.text)
    assert value_of(quantity) == one.value
    assert str(quantity) == one.text
    assert bool(quantity) == bool(one.value)


@given(written, written)
def test_the_order_is_that_of_the_numbers(one: Written, other: Written) -> None:
    left, right = Quantity(one.text), Quantity(other.text)
    assert (left < right, left <= right) == (one.value < other.value, one.value <= other.value)
    assert (left > right, left >= right) == (one.value > other.value, one.value >= other.value)
    assert (left == right) == (one.value == other.value)
    assert left != right or hash(left) == hash(right)


@given(written)
def test_the_canonical_text_has_the_same_value_hash_and_canonical_text(one: Written) -> None:
    quantity = Quantity(one.text)
    again = Quantity(quantity.canonical)
    assert again == quantity
    assert hash(again) == hash(quantity)
    assert again.canonical == quantity.canonical


@given(written)
def test_the_suffix_of_the_canonical_text_is_the_largest(one: Written) -> None:
    quantity = Quantity(one.text)
    found = _CANONICAL.fullmatch(quantity.canonical)
    assert found is not None
    mantissa, suffix = found.groups()
    step = 1024 if suffix.endswith("i") else 1000
    assert mantissa == "0" or suffix == "Ei" or int(mantissa) % step or _is_plain_binary(one)


def _is_plain_binary(one: Written) -> bool:
    """A number with a binary suffix that no binary suffix divides has no suffix."""
    return one.text.endswith("i") and one.value % 1024 != 0


@given(written, written, st.integers(-(10**6), 10**6), st.decimals(-1000, 1000, places=6))
def test_arithmetic_is_exact(one: Written, other: Written, whole: int, part: object) -> None:
    left, right = Quantity(one.text), Quantity(other.text)
    assert value_of(left + right) == one.value + other.value
    assert value_of(left - right) == one.value - other.value
    assert value_of(left + whole) == value_of(whole + left) == one.value + whole
    assert value_of(whole - left) == whole - one.value
    assert value_of(left * whole) == value_of(whole * left) == one.value * whole
    factor = Fraction(str(part))
    assert value_of(left * Quantity(str(part)).decimal) == _rounded_up(one.value * factor)
    for result in (left + right, left - right, left * whole):
        assert Quantity(str(result)) == result or abs(result) > 2**63 - 1


@given(st.text("0123456789.+-eEinumkKMGTP", max_size=8))
def test_any_text_from_a_server_can_be_compared_and_printed(text: str) -> None:
    quantity = Quantity.from_wire(text)
    assert str(quantity) == text
    assert quantity == Quantity.from_wire(text)
    assert hash(quantity) == hash(Quantity.from_wire(text))
