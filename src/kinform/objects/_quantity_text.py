"""The text of quantities: parsing to an exact number, and Go's canonical form."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_UP, Context, Decimal
from typing import Literal

from kinform.errors import DecodeError

Format = Literal["binary", "decimal", "exponent"]
"""The suffixes of a quantity: ``Ki`` to ``Ei``, ``n`` to ``E``, or an exponent such as ``e3``."""

# Independent of the precision of the program's decimal context.
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_UP)

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?0*[0-9]{1,4}))?"
)
_BINARY = {f"{letter}i": Decimal(1024**power) for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL_EXPONENTS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES = {0: ""} | {power: suffix for suffix, power in _DECIMAL_EXPONENTS.items()}
_NANO = Decimal("1e-9")
_KIBI = Decimal(1024)
_MAX_BINARY = Decimal(2**63 - 1)


def parse_quantity(text: str) -> tuple[Decimal, Format]:
    """Return the number that a text stands for, as Go does, and the kind of its suffix.

    Numbers with digits below nano are rounded away from zero, and numbers with a binary suffix
    are limited to 2**63-1.

    Raises:
        DecodeError: The text is not a quantity, or its exponent has more than four digits.
    """
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise DecodeError(
            f"{text!r} is not a quantity; write a number with one of "
            f"{', '.join([*_BINARY, *_DECIMAL_EXPONENTS])} or an exponent after it, "
            "such as '500m' or '64Mi'"
        )
    digits, suffix, exponent = found.groups()
    number = Decimal(digits)
    if suffix in _BINARY:
        number = round_up(EXACT.multiply(number, _BINARY[suffix]))
        if number.copy_abs() > _MAX_BINARY:
            number = _MAX_BINARY.copy_sign(number)
        # Go writes fractions with decimal suffixes, also after arithmetic.
        return number, "decimal" if 0 < number.copy_abs() < 1 else "binary"
    power = _DECIMAL_EXPONENTS[suffix] if suffix else int(exponent or 0)
    number = round_up(EXACT.scaleb(number, power))
    return number, "decimal" if exponent is None else "exponent"


def round_up(number: Decimal) -> Decimal:
    """Round away from zero to a multiple of nano, the smallest quantity."""
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -9:
        return EXACT.quantize(number, _NANO)
    return number


def canonical_text(number: Decimal, form: Format) -> str:
    """Write a number without fraction digits and with the largest possible suffix."""
    if not number:
        return "0"
    whole = number.to_integral_value()  # without a fraction such as .0
    if form == "binary" and number == whole and number.copy_abs() >= _KIBI:
        return _binary_text(whole)
    sign, digits, exponent = EXACT.normalize(number).as_tuple()
    assert isinstance(exponent, int)  # quantities are finite
    padding = exponent % 3  # suffixes exist for every third power of ten
    power = exponent - padding
    mantissa = f"{'-' * sign}{''.join(map(str, digits))}{'0' * padding}"
    if form != "exponent" and power in _DECIMAL_SUFFIXES:
        return f"{mantissa}{_DECIMAL_SUFFIXES[power]}"
    return f"{mantissa}e{power}" if power else mantissa


def _binary_text(number: Decimal) -> str:
    best, mantissa = "", number
    for suffix, factor in _BINARY.items():
        quotient, rest = EXACT.divmod(number, factor)
        if rest:
            break
        best, mantissa = suffix, quotient
    return f"{mantissa:f}{best}"
