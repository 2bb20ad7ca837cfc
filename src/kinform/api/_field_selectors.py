"""Field selectors: parsing, matching and formatting."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from kinform.api._validation import is_field
from kinform.errors import SelectorError

_TERM = r"(?s:\\.|[^\\,]|\\\Z)+"
_OPERATOR = r"!=|==|="
_VALUE = r"(?:\\[\\,=]|[^\\,=])*"


class FieldRequirement(msgspec.Struct, frozen=True):
    """A field that must, or must not, have a value."""

    field: str
    value: str
    negated: bool = False

    def __post_init__(self) -> None:
        if not is_field(self.field):
            raise SelectorError(
                f"{self.field!r} is not a field; write a path such as 'status.phase', "
                "without spaces, '!', '=', ',' or '\\'"
            )
        if not isinstance(self.value, str):
            raise SelectorError(
                f"field {self.field!r}: value {self.value!r} must be a string, "
                "as the server writes it ('true', '3')"
            )

    def matches(self, read: Callable[[str], str]) -> bool:
        return (read(self.field) == self.value) is not self.negated

    def __str__(self) -> str:
        escaped = re.sub(r"([\\,=])", r"\\\1", self.value)
        return f"{self.field}{'!=' if self.negated else '='}{escaped}"


class FieldSelector(msgspec.Struct, frozen=True):
    """Conditions on fields, all of which must hold. An empty selector matches everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """Parse ``spec.nodeName=n1,status.phase!=Running``; ``\\`` escapes ``,``, ``=`` and itself.

        Spaces are part of the value, as on the server. A field name cannot contain spaces.

        Raises:
            SelectorError: A term has no operator, or a value has an unescaped ``=`` or an invalid
                escape; the message shows the position.
        """
        if text == "":
            return cls()  # the most common case; avoids compiling the pattern
        terms = (_parse_term(term[0], term.start(), text) for term in re.finditer(_TERM, text))
        return cls(tuple(sorted(terms, key=str)))

    @classmethod
    def from_fields(cls, fields: Mapping[str, str]) -> FieldSelector:
        """Create a selector from a dict of fields and the values they must have."""
        requirements = (FieldRequirement(field, value) for field, value in fields.items())
        return cls(tuple(sorted(requirements, key=str)))

    def matches(self, read: Callable[[str], str]) -> bool:
        """Report whether an object matches; ``read`` returns a field as text, empty if absent."""
        return all(requirement.matches(read) for requirement in self.requirements)

    def __bool__(self) -> bool:
        """Report whether the selector has any conditions."""
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _parse_term(term: str, start: int, text: str) -> FieldRequirement:
    operator = re.search(_OPERATOR, term)
    if operator is None:
        raise _error(text, start, f"{term!r} is not field=value, field==value or field!=value")
    field, value = term[: operator.start()], term[operator.end() :]
    legal = re.match(_VALUE, value)
    assert legal is not None  # the pattern also matches the empty string
    if legal.end() < len(value):
        wrong = value[legal.end() : legal.end() + 2]
        complaint = "'=' in a value must be written '\\='"
        if wrong[0] == "\\":
            complaint = f"{wrong!r} is not an escape; there are '\\,', '\\=' and '\\\\'"
        raise _error(text, start + operator.end() + legal.end(), complaint)
    try:
        return FieldRequirement(field, re.sub(r"\\(.)", r"\1", value), negated=operator[0] == "!=")
    except SelectorError as error:
        raise _error(text, start, str(error)) from None


def _error(text: str, position: int, complaint: str) -> SelectorError:
    return SelectorError(f"field selector {text!r}: {complaint}, at column {position + 1}")
