"""Argument types: parse and validate numbers and words, with an error message if invalid."""

from __future__ import annotations

import argparse


def port(text: str) -> int:
    number = _integer(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(
            f"{text} is not a port; ports range from 0 (any free port) to 65535"
        )
    return number


def count(text: str) -> int:
    number = _integer(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is too few; the minimum is 1")
    return number


def seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number


def token(text: str) -> str:
    if not text or not text.isascii() or any(c.isspace() or not c.isprintable() for c in text):
        raise argparse.ArgumentTypeError("a token must be printable ASCII without spaces")
    return text


def gates(text: str) -> tuple[str, ...]:
    """The enabled ones of ``A=true,B=false``."""
    chosen: dict[str, bool] = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        if not name or value not in ("true", "false"):
            raise argparse.ArgumentTypeError(f"{item!r} is not of the form NAME=true or NAME=false")
        chosen[name] = value == "true"
    return tuple(name for name, is_on in chosen.items() if is_on)


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
