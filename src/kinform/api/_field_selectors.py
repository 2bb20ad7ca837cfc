"""Field selector text or dicts in; something that matches fields, and prints back, out."""

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
    """One field that must, or must not, have one value."""

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
    """Conditions on fields that must all hold. The empty one matches everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """From ``spec.nodeName=n1,status.phase!=Running``; ``\\`` escapes ``,`` ``=`` and itself.

        Spaces belong to the value, as they do for the server; a field has none.

        Raises:
            SelectorError: A part has no operator, or a value has a bare ``=`` or a bad escape;
                the message points at the place.
        """
        if text == "":
            return cls()  # as most do, and no pattern need be compiled for it
        terms = (_parse_term(term[0], term.start(), text) for term in re.finditer(_TERM, text))
        return cls(tuple(sorted(terms, key=str)))

    @classmethod
    def from_fields(cls, fields: Mapping[str, str]) -> FieldSelector:
        """From a dict of fields that must be equal."""
        requirements = (FieldRequirement(field, value) for field, value in fields.items())
        return cls(tuple(sorted(requirements, key=str)))

    def matches(self, read: Callable[[str], str]) -> bool:
        """Whether it holds, where ``read`` gives a field's value as text, empty if absent."""
        return all(requirement.matches(read) for requirement in self.requirements)

    def __bool__(self) -> bool:
        """Whether it asks for anything at all."""
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _parse_term(term: str, start: int, text: str) -> FieldRequirement:
    operator = re.search(_OPERATOR, term)
    if operator is None:
        raise _error(text, start, f"{term!r} is not field=value, field==value or field!=value")
    field, value = term[: operator.start()], term[operator.end() :]
    legal = re.match(_VALUE, value)
    assert legal is not None  # it may be empty
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
