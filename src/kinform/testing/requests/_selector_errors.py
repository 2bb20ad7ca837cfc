"""The error messages of kube-apiserver for invalid label selectors.

It is only used for selectors that are known to be invalid, and follows the server's parser up
to the first error.
"""

from __future__ import annotations

import re

from kinform.errors import SelectorError

_TOKEN = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_SYMBOLS = frozenset({"=", "==", "!=", "!", "(", ")", ",", "<", ">"})
_OPERATORS = "in, notin, =, ==, !=, gt, lt"


class _SelectorSyntaxError(Exception):
    """The first error in a selector."""


def label_selector_error(text: str, error: SelectorError) -> str:
    """Return the server's message for ``error``, with which ``text`` failed to parse."""
    try:
        _Reader(text).read()
    except _SelectorSyntaxError as error_text:
        return str(error_text)
    # The syntax is valid, so a key or a value is not.
    return f"unable to parse requirement: {error}"


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = [found[1] for found in _TOKEN.finditer(text.rstrip())]

    def read(self) -> None:
        while token := self._peek():
            if token in _SYMBOLS and token != "!":
                raise _SelectorSyntaxError(
                    f"found '{token}', expected: !, identifier, or 'end of string'"
                )
            try:
                self._requirement()
            except _SelectorSyntaxError as error:
                raise _SelectorSyntaxError(f"unable to parse requirement: {error}") from None
            if not (token := self._take()):
                return
            if token != ",":
                raise _SelectorSyntaxError(f"found '{token}', expected: ',' or 'end of string'")
            following = self._peek()
            if not following or (following in _SYMBOLS and following != "!"):
                raise _SelectorSyntaxError(f"found '{following}', expected: identifier after ','")

    def _requirement(self) -> None:
        negated = self._peek() == "!"
        if negated:
            self._take()
        self._identifier()
        if negated or self._peek() in ("", ","):
            return
        operator = self._take()
        if operator in ("in", "notin"):
            self._values()
        elif operator in ("=", "==", "!=", "<", ">"):
            self._value(operator)
        else:
            raise _SelectorSyntaxError(f"found '{operator}', expected: {_OPERATORS}")

    def _identifier(self) -> str:
        token = self._take()
        if not token or token in _SYMBOLS:
            raise _SelectorSyntaxError(f"found '{token}', expected: identifier")
        return token

    def _value(self, operator: str) -> None:
        if self._peek() in ("", ","):
            return
        value = self._identifier()
        if operator in "<>" and not re.fullmatch(r"[+-]?[0-9]+", value):
            raise _SelectorSyntaxError(
                f'values[0]: Invalid value: "{value}": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            )

    def _values(self) -> None:
        if (token := self._take()) != "(":
            raise _SelectorSyntaxError(f"found '{token}' expected: '('")
        token = self._peek()
        if not token or (token in _SYMBOLS and token not in (",", ")")):
            raise _SelectorSyntaxError(f"found '{token}', expected: ',', ')' or identifier")
        while (token := self._take()) != ")":
            if token == ",":
                continue
            if not token or token in _SYMBOLS:
                raise _SelectorSyntaxError(f"found '{token}', expected: ',', or identifier")
            if (following := self._peek()) not in (",", ")"):
                raise _SelectorSyntaxError(f"found '{following}', expected: ',' or ')'")

    def _peek(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _take(self) -> str:
        return self._tokens.pop(0) if self._tokens else ""
