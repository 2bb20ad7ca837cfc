"""Quantities of resources, such as ``500m`` or ``64Mi``."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation

from kinform.errors import DecodeError

_AMOUNT = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?[0-9]+))?"
)
_BINARY = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {
    letter: Decimal(1000) ** power
    for power, letter in ((-3, "n"), (-2, "u"), (-1, "m"), (1, "k"), *enumerate("MGTPE", start=2))
}
_FACTORS = _BINARY | _DECIMAL
# Independent of the precision of the program's decimal context.
_EXACTLY = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


class Quantity(str):
    """A quantity: ``"500m"``, ``"64Mi"``, ``"1e3"``. The text stays as it was written.

    Different spellings of a quantity are different strings; compare their ``decimal``.
    """

    __slots__ = ()

    @property
    def decimal(self) -> Decimal:
        """The exact number: cores, bytes or a count.

        Raises:
            DecodeError: The text is not a quantity.
        """
        found = _AMOUNT.fullmatch(self)
        if found is None:
            raise self._error()
        number, suffix, exponent = found.groups()
        try:
            amount = Decimal(number if exponent is None else f"{number}e{exponent}")
        except InvalidOperation as error:  # the exponent is out of range
            raise self._error() from error
        return _EXACTLY.multiply(amount, _FACTORS[suffix]) if suffix else amount

    def _error(self) -> DecodeError:
        return DecodeError(
            f"{str(self)!r} is not a quantity; write a number with one of "
            f"{', '.join(_FACTORS)} or an exponent after it, such as '500m' or '64Mi'"
        )

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"
