"""Label selectors: parsing, matching and formatting."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from kinform.api._validation import check_label_key, check_label_value
from kinform.errors import SelectorError


class Operator(StrEnum):
    """The operators of label selectors; the values are their spelling in the grammar."""

    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


_EQUALITY = frozenset({Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN})
_INEQUALITY = frozenset({Operator.NOT_EQUALS, Operator.NOT_IN})
_SETS = frozenset({Operator.IN, Operator.NOT_IN})
_PRESENCE = frozenset({Operator.EXISTS, Operator.DOES_NOT_EXIST})
_ORDER = frozenset({Operator.GREATER_THAN, Operator.LESS_THAN})


class Requirement(msgspec.Struct, frozen=True):
    """A condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        check_label_key(self.key)
        self._check_count()
        for value in self.values:
            if self.operator in _ORDER and _as_integer(value) is None:
                raise SelectorError(
                    f"{self.key}{self.operator.value}{value}: {value!r} is not a 64-bit integer"
                )
            check_label_value(value, of=self.key)

    def _check_count(self) -> None:
        count = len(self.values)
        if self.operator in _PRESENCE:
            if count:
                raise SelectorError(f"{self.operator.name} on {self.key!r} takes no values")
        elif self.operator in _SETS:
            if not count:
                raise SelectorError(
                    f"{self.operator.value!r} on {self.key!r} needs at least one value"
                )
        elif count != 1:
            raise SelectorError(f"{self.operator.value!r} on {self.key!r} needs exactly one value")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether the labels match; a missing label matches ``!=``, ``notin`` and ``!``."""
        value = labels.get(self.key)
        if self.operator in _EQUALITY:
            return value in self.values
        if self.operator in _INEQUALITY:
            return value not in self.values
        if self.operator is Operator.EXISTS:
            return value is not None
        if self.operator is Operator.DOES_NOT_EXIST:
            return value is None
        return self._matches_order(value)

    def _matches_order(self, value: str | None) -> bool:
        actual = None if value is None else _as_integer(value)
        bound = _as_integer(next(iter(self.values)))
        if actual is None or bound is None:
            return False
        return actual > bound if self.operator is Operator.GREATER_THAN else actual < bound

    def __str__(self) -> str:
        if self.operator is Operator.EXISTS:
            return self.key
        if self.operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator in _SETS:
            return f"{self.key} {self.operator.value} ({','.join(sorted(self.values))})"
        return f"{self.key}{self.operator.value}{next(iter(self.values))}"


class LabelSelector(msgspec.Struct, frozen=True):
    """Conditions on labels, all of which must hold. An empty selector matches everything."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Parse the syntax of ``kubectl -l``: ``app=web,tier in (a, b),!legacy,cores>4``.

        Raises:
            SelectorError: The syntax is invalid; the message shows the position.
        """
        if text == "":
            return cls()  # the most common case; avoids compiling the pattern
        return cls(_by_key(_LabelParser(text).parse()))

    @classmethod
    def from_labels(cls, labels: Mapping[str, str | Collection[str]]) -> LabelSelector:
        """Create a selector from a dict of labels.

        A string is the required value; a list, tuple or set contains the allowed values.

        Raises:
            SelectorError: A key or a value is not valid for a label.
        """
        return cls(_by_key(_from_label(key, wanted) for key, wanted in labels.items()))

    @classmethod
    def from_match(cls, match: Mapping[str, Any]) -> LabelSelector:
        """Create a selector from ``matchLabels`` and ``matchExpressions``, as used in objects.

        An empty selector matches everything. For the server an absent selector matches nothing;
        callers must handle that case themselves.

        Raises:
            SelectorError: An operator is not one of In, NotIn, Exists, DoesNotExist, or the
                structure is invalid.
        """
        exact = _shaped(match, Mapping, "a label selector").get("matchLabels") or {}
        requirements = [
            Requirement(key, Operator.EQUALS, frozenset({_shaped(value, str, f"label {key!r}")}))
            for key, value in _shaped(exact, Mapping, "matchLabels").items()
        ]
        expressions = _shaped(match.get("matchExpressions") or [], list, "matchExpressions")
        requirements.extend(map(_from_expression, expressions))
        return cls(_by_key(requirements))

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __bool__(self) -> bool:
        """Report whether the selector has any conditions."""
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


_MATCH_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}

_PUNCTUATION = frozenset({"=", "==", "!=", "!", "(", ")", ",", "<", ">"})
_SPACE = " \t\r\n"
_TOKEN = rf"==|!=|[=!(),<>]|[^{_SPACE}=!(),<>]+"


class _LabelParser:
    """A recursive descent parser; ``in`` and ``notin`` are keywords only after a key."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(found[0], found.start()) for found in re.finditer(_TOKEN, text)]
        self._next = 0

    def parse(self) -> Iterator[Requirement]:
        while self._peek():
            yield self._requirement()
            if not self._peek():
                return
            self._expect(",")
            if not self._peek():
                raise self._error("expected a label key after ','")

    def _requirement(self) -> Requirement:
        if absent := self._peek() == "!":
            self._take()
        start = self._column()
        key = self._word("a label key")
        operator, values = Operator.DOES_NOT_EXIST, frozenset[str]()
        if not absent:
            operator, values = self._restriction()
        try:
            return Requirement(key, operator, values)
        except SelectorError as error:
            raise SelectorError(
                f"label selector {self._text!r}: {error}, at column {start}"
            ) from None

    def _restriction(self) -> tuple[Operator, frozenset[str]]:
        following = self._peek()
        if following in ("", ","):
            return Operator.EXISTS, frozenset()
        if following in ("in", "notin"):
            return Operator(self._take()), self._value_set()
        if following in ("=", "==", "!=", ">", "<"):
            return Operator(self._take()), frozenset({self._value(end=",")})
        raise self._error("expected ',', '=', '==', '!=', '>', '<', 'in' or 'notin'")

    def _value_set(self) -> frozenset[str]:
        self._expect("(")
        values = {self._value(end=")")}
        while self._peek() == ",":
            self._take()
            values.add(self._value(end=")"))
        self._expect(")")
        return frozenset(values)

    def _value(self, *, end: str) -> str:
        """Parse a value, which may be empty as in ``a=``, ``a in ()`` and ``a in (x,)``."""
        return "" if self._peek() in ("", ",", end) else self._word("a label value")

    def _word(self, what: str) -> str:
        token = self._peek()
        if not token or token in _PUNCTUATION:
            raise self._error(f"expected {what}")
        return self._take()

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise self._error(f"expected {token!r}")
        self._take()

    def _peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1][0]

    def _column(self) -> int:
        at_end = self._next == len(self._tokens)
        return (len(self._text) if at_end else self._tokens[self._next][1]) + 1

    def _error(self, expectation: str) -> SelectorError:
        found = repr(self._peek()) if self._peek() else "the end"
        place = f"found {found} at column {self._column()}"
        return SelectorError(f"label selector {self._text!r}: {expectation}, {place}")


def _by_key(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    return tuple(sorted(requirements, key=lambda requirement: requirement.key))


def _from_label(key: str, wanted: Any) -> Requirement:
    if isinstance(wanted, str):
        return Requirement(key, Operator.EQUALS, frozenset({wanted}))
    if not isinstance(wanted, Collection) or isinstance(wanted, Mapping):
        raise SelectorError(f"label {key!r}: {wanted!r} must be a string or a list of strings")
    values = (_shaped(value, str, f"a value of {key!r}") for value in wanted)
    return Requirement(key, Operator.IN, frozenset(values))


def _from_expression(expression: Any) -> Requirement:
    expression = _shaped(expression, Mapping, "an item of matchExpressions")
    key = expression.get("key", "")
    operator = _MATCH_OPERATORS.get(str(expression.get("operator")))
    if operator is None:
        raise SelectorError(
            f"operator {expression.get('operator')!r} of {key!r} "
            f"is not one of {', '.join(_MATCH_OPERATORS)}"
        )
    values = _shaped(expression.get("values") or [], list, f"values of {key!r}")
    return Requirement(
        key, operator, frozenset(_shaped(value, str, f"a value of {key!r}") for value in values)
    )


def _shaped(value: Any, shape: type[Any], what: str) -> Any:
    """Return ``value`` if it has the expected type; it comes from an object and may be anything."""
    if not isinstance(value, shape):
        raise SelectorError(f"{what} must be a {shape.__name__}, not {value!r}")
    return value


def _as_integer(value: str) -> int | None:
    """Parse an integer by the rules of the server: decimal, 64 bits."""
    digits = re.fullmatch(r"([+-]?)0*([0-9]{1,19})", value)
    number = int(digits[1] + digits[2]) if digits else None
    return number if number is not None and -(2**63) <= number < 2**63 else None
