"""Amounts stay as they were written, and become exact numbers when asked."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest

from kinform.errors import DecodeError
from kinform.objects import Quantity


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("0", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("-1.5", "-1.5"),
        (".5", "0.5"),
        ("1.", "1"),
        ("100n", "0.0000001"),
        ("100u", "0.0001"),
        ("500m", "0.5"),
        ("2k", "2000"),
        ("3M", "3000000"),
        ("4G", "4000000000"),
        ("5T", "5000000000000"),
        ("6P", "6000000000000000"),
        ("7E", "7000000000000000000"),
        ("1Ki", "1024"),
        ("64Mi", "67108864"),
        ("1.5Gi", "1610612736"),
        ("1Ti", "1099511627776"),
        ("1Pi", "1125899906842624"),
        ("1Ei", "1152921504606846976"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("12e-3", "0.012"),
        ("1E", "1000000000000000000"),
    ],
)
def test_an_amount_is_an_exact_number(written: str, number: str) -> None:
    assert Quantity(written).decimal == Decimal(number)


@pytest.mark.parametrize(
    "written",
    [
        "",
        " ",
        "1 ",
        "x",
        "1KB",
        "1ki",
        "1K",
        "1mi",
        "--1",
        "1e",
        "1.2.3",
        "1e3Ki",
        "1e99999999999999999999",
        "٣",
    ],
)
def test_rubbish_is_no_amount(written: str) -> None:
    with pytest.raises(DecodeError, match=r"is not a quantity.*500m"):
        _ = Quantity(written).decimal


def test_many_digits_are_kept() -> None:
    written = "123456789012345678901234567890.123456789"
    assert Quantity(written).decimal == Decimal(written)
    with localcontext(prec=2):
        assert Quantity("1234567890123456789Ki").decimal == 1234567890123456789 * 1024
        assert Quantity("-123.456m").decimal == Decimal("-0.123456")


def test_it_is_text_and_says_what_it_is() -> None:
    assert Quantity("500m") == "500m"
    assert Quantity("500m") != Quantity("0.5")
    assert repr(Quantity("500m")) == "Quantity('500m')"
    assert f"{Quantity('500m')}" == "500m"
