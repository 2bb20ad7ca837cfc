"""The field selector grammar and its escapes: parsed, matched, printed back, refused."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import FieldRequirement, FieldSelector
from kinform.errors import SelectorError

POD = {"metadata.name": "web", "status.phase": "Running", "spec.nodeName": ""}


def read(field: str) -> str:
    return POD.get(field, "")


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        (",", True),
        ("metadata.name=web", True),
        ("metadata.name==web", True),
        ("metadata.name!=web", False),
        ("metadata.name=api", False),
        ("metadata.name!=api", True),
        ("spec.nodeName=", True),
        ("spec.nodeName!=", False),
        ("absent=", True),
        ("metadata.name=web,status.phase=Running", True),
        ("metadata.name=web,status.phase!=Running", False),
        ("metadata.name= web", False),
    ],
)
def test_a_selector_matches_fields_as_the_server_does(text: str, matches: bool) -> None:
    assert FieldSelector.parse(text).matches(read) is matches


@pytest.mark.parametrize(
    ("text", "field", "value", "printed"),
    [
        (r"a=b\,c", "a", "b,c", r"a=b\,c"),
        (r"a=b\=c", "a", "b=c", r"a=b\=c"),
        (r"a=b\\", "a", "b\\", r"a=b\\"),
        (r"a==\\\,\=", "a", "\\,=", r"a=\\\,\="),
        ("a=b!c", "a", "b!c", "a=b!c"),
        ("a= b ", "a", " b ", "a= b "),
        ("a=é\n", "a", "é\n", "a=é\n"),
        ("a=", "a", "", "a="),
    ],
)
def test_escapes_are_undone_and_redone(text: str, field: str, value: str, printed: str) -> None:
    selector = FieldSelector.parse(text)
    assert selector.requirements == (FieldRequirement(field, value),)
    assert str(selector) == printed
    assert FieldSelector.parse(printed) == selector


def test_a_negated_requirement_prints_its_operator() -> None:
    assert str(FieldSelector.parse("a!=b")) == "a!=b"
    assert FieldSelector.parse("a!=b").requirements == (FieldRequirement("a", "b", negated=True),)


def test_requirements_are_printed_in_one_order_however_they_were_written() -> None:
    one, other = FieldSelector.parse("b=1,,a==2,a=1"), FieldSelector.parse("a=1,a=2,b==1")
    assert one == other
    assert str(one) == "a=1,a=2,b=1"


@pytest.mark.parametrize(
    ("text", "complaint", "column"),
    [
        ("a", "'a' is not field=value", 1),
        ("a=b,c", "'c' is not field=value", 5),
        ("a!", "is not field=value", 1),
        ("a=b=c", "'=' in a value must be written '\\='", 4),
        ("a===b", "'=' in a value must be written '\\='", 4),
        ("x=y,a=b\\c", "'\\\\c' is not an escape", 8),
        ("a=b\\", "'\\\\' is not an escape", 4),
        ("=b", "'' is not a field", 1),
        ("a=b, c=d", "' c' is not a field", 5),
        ("a b=c", "'a b' is not a field", 1),
        ("a!b=c", "'a!b' is not a field", 1),
        ("a\\,b=c", "is not a field", 1),
    ],
)
def test_an_illegal_selector_is_refused_at_its_column(
    text: str, complaint: str, column: int
) -> None:
    with pytest.raises(SelectorError) as caught:
        FieldSelector.parse(text)
    assert complaint in str(caught.value)
    assert str(caught.value).endswith(f"at column {column}")
    assert repr(text) in str(caught.value)


def test_the_first_mistake_in_the_text_is_the_one_reported() -> None:
    with pytest.raises(SelectorError, match=r"'z' is not field=value.*column 1$"):
        FieldSelector.parse("z,a")


def test_a_dict_of_fields_becomes_equalities() -> None:
    selector = FieldSelector.from_fields({"status.phase": "Running", "metadata.name": "a,b"})
    assert str(selector) == r"metadata.name=a\,b,status.phase=Running"
    assert not FieldSelector.from_fields({})


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"spec.unschedulable": True}, "value True must be a string"),
        ({"a": None}, "value None must be a string"),
        ({"": "x"}, "'' is not a field"),
        ({7: "x"}, "7 is not a field"),
    ],
)
def test_fields_that_cannot_be_are_refused(fields: dict[Any, Any], complaint: str) -> None:
    with pytest.raises(SelectorError) as caught:
        FieldSelector.from_fields(fields)
    assert complaint in str(caught.value)


def test_an_empty_selector_is_falsy() -> None:
    assert not FieldSelector.parse("")
    assert FieldSelector.parse("a=b")
