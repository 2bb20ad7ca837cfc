"""Quantities of resources, such as ``500m`` or ``64Mi``: numbers that keep their text."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

from kinform.errors import ConfigError, DecodeError
from kinform.objects._quantity_text import (
    EXACT,
    Format,
    canonical_text,
    parse_quantity,
    round_up,
)

_LONGEST_SHARED = 32


class Quantity:
    """An exact number of cores, bytes or anything else: ``Quantity("500m")``, ``Quantity(2)``.

    Quantities are compared, hashed, added, subtracted and multiplied by value, as in Go:
    ``Quantity("1") == Quantity("1000m")``. An int or a Decimal can be the other operand; a float
    or a str cannot, and is never equal. ``str(quantity)`` and objects that are sent contain the
    text as it was written; results of arithmetic have Go's canonical text.

    A quantity that a server sent may be malformed. It keeps its text, equals only quantities with
    the same text, and is true; ordering and arithmetic with it raise a DecodeError.

    Args:
        value: The text, or a number. The default is Go's zero value, ``0``.

    Raises:
        DecodeError: The text is not a quantity.
        ConfigError: The value has another type, or is not finite.
    """

    __slots__ = ("_parsed", "_text")

    _text: str
    _parsed: tuple[Decimal, Format] | None

    def __init__(self, value: str | int | Decimal | Quantity = "0") -> None:
        given: object = value
        if isinstance(given, Quantity):
            self._text, self._parsed = given._text, given._parsed
        elif isinstance(given, str):
            self._text = str.__str__(given)
            self._parsed = parse_quantity(self._text)
        elif (number := _number(given)) is not None:
            number = round_up(number)
            self._text, self._parsed = canonical_text(number, "decimal"), (number, "decimal")
        else:
            raise ConfigError(
                f"Quantity takes a str, an int or a finite Decimal, not {given!r}; "
                "write a fraction as text, such as '0.5' or '500m'"
            )

    @staticmethod
    def from_wire(text: str) -> Quantity:
        """Return the quantity that a server sent; the text is not checked until it is used."""
        return _shared(text) if len(text) <= _LONGEST_SHARED else _unchecked(text)

    # -- the number --------------------------------------------------------------------------

    @property
    def decimal(self) -> Decimal:
        """The exact number. As in Go, it is rounded up to a multiple of nano.

        Raises:
            DecodeError: The text, which a server sent, is not a quantity.
        """
        return self._parse()[0]

    @property
    def canonical(self) -> str:
        """The text that Go writes: no fraction, and the largest possible suffix. Raises as above.

        ``"1.5Gi"`` becomes ``"1536Mi"``, and ``"1000m"`` becomes ``"1"``.
        """
        return canonical_text(*self._parse())

    def _parse(self) -> tuple[Decimal, Format]:
        # Not parsed when received, because most quantities are never compared.
        if self._parsed is None:
            self._parsed = parse_quantity(self._text)
        return self._parsed

    def _comparable(self) -> Decimal | str:
        try:
            return self.decimal
        except DecodeError:
            return self._text

    # -- comparison --------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Quantity):
            return self._text == other._text or self._comparable() == other._comparable()
        number = _number(other)
        return NotImplemented if number is None else self._comparable() == number

    def __hash__(self) -> int:
        return hash(self._comparable())

    def __bool__(self) -> bool:
        return bool(self._comparable())

    def __lt__(self, other: Quantity | int | Decimal) -> bool:
        number = _operand(other)
        return NotImplemented if number is None else self.decimal < number

    def __le__(self, other: Quantity | int | Decimal) -> bool:
        number = _operand(other)
        return NotImplemented if number is None else self.decimal <= number

    def __gt__(self, other: Quantity | int | Decimal) -> bool:
        number = _operand(other)
        return NotImplemented if number is None else self.decimal > number

    def __ge__(self, other: Quantity | int | Decimal) -> bool:
        number = _operand(other)
        return NotImplemented if number is None else self.decimal >= number

    # -- arithmetic --------------------------------------------------------------------------

    def __add__(self, other: Quantity | int | Decimal) -> Quantity:
        number = _operand(other)
        if number is None:
            return NotImplemented
        return _result(EXACT.add(self.decimal, number), self._format_with(other))

    def __radd__(self, other: int | Decimal) -> Quantity:
        return self + other  # used by sum(), which starts with 0

    def __sub__(self, other: Quantity | int | Decimal) -> Quantity:
        number = _operand(other)
        if number is None:
            return NotImplemented
        return _result(EXACT.subtract(self.decimal, number), self._format_with(other))

    def __rsub__(self, other: int | Decimal) -> Quantity:
        return -self + other

    def __mul__(self, other: int | Decimal) -> Quantity:
        number = _number(other)
        if number is None:
            return NotImplemented
        return _result(EXACT.multiply(self.decimal, number), self._parse()[1])

    __rmul__ = __mul__

    def __neg__(self) -> Quantity:
        return _result(self.decimal.copy_negate(), self._parse()[1])

    def __abs__(self) -> Quantity:
        return -self if self.decimal < 0 else self

    def _format_with(self, other: object) -> Format:
        """Return the format of a sum: that of the first operand, unless it is zero."""
        number, form = self._parse()
        return other._parse()[1] if isinstance(other, Quantity) and not number else form

    # -- text --------------------------------------------------------------------------------

    def __str__(self) -> str:
        return self._text

    def __format__(self, spec: str) -> str:
        return format(self._text, spec)

    def __repr__(self) -> str:
        return f"Quantity({self._text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unchecked, (self._text,)


def _unchecked(text: str) -> Quantity:
    quantity = Quantity.__new__(Quantity)
    quantity._text, quantity._parsed = text, None
    return quantity


# The same few quantities occur in every object.
_shared = lru_cache(maxsize=4096)(_unchecked)


def _result(number: Decimal, form: Format) -> Quantity:
    quantity = Quantity.__new__(Quantity)
    number = round_up(number)
    quantity._text, quantity._parsed = canonical_text(number, form), (number, form)
    return quantity


def _number(value: object) -> Decimal | None:
    """Return a number as a Decimal, or ``None`` if it is not an exact, finite one."""
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    is_int = isinstance(value, int) and not isinstance(value, bool)
    return Decimal(value) if is_int else None  # type: ignore[arg-type]  # it is an int


def _operand(value: object) -> Decimal | None:
    return value.decimal if isinstance(value, Quantity) else _number(value)
