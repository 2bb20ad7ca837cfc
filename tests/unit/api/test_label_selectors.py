"""The label selector grammar: parsed, matched, printed back, built from dicts, refused."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import LabelSelector, Operator, Requirement
from kinform.errors import SelectorError

WEB = {"app": "web", "tier": "front", "cores": "8", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("   ", True),
        ("app=web", True),
        ("app=api", False),
        ("app==web", True),
        ("missing=web", False),
        ("app!=web", False),
        ("app!=api", True),
        ("missing!=web", True),
        ("app in (web, api)", True),
        ("app in (api)", False),
        ("missing in (web)", False),
        ("app notin (web)", False),
        ("app notin (api)", True),
        ("missing notin (web)", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("cores>7", True),
        ("cores>8", False),
        ("cores<9", True),
        ("cores<8", False),
        ("missing>0", False),
        ("missing<9", False),
        ("app>0", False),
        ("empty=", True),
        ("empty in ()", True),
        ("app=", False),
        ("empty in (x,)", True),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
    ],
)
def test_a_selector_matches_as_the_server_does(text: str, matches: bool) -> None:
    assert LabelSelector.parse(text).matches(WEB) is matches


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        ("a=b", "a=b"),
        ("a == b", "a==b"),
        ("a != b", "a!=b"),
        ("\ta\n=\r b ", "a=b"),
        ("a", "a"),
        ("! a", "!a"),
        ("a in (c,b,c)", "a in (b,c)"),
        ("a notin(b)", "a notin (b)"),
        ("a in ()", "a in ()"),
        ("a in (,)", "a in ()"),
        ("a in (,b)", "a in (,b)"),
        ("a in (b,,c)", "a in (,b,c)"),
        ("a>1", "a>1"),
        ("a < 007", "a<007"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("b=1,a=2", "a=2,b=1"),
        ("x.y/z=1", "x.y/z=1"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("in", "in"),
        ("!notin", "!notin"),
    ],
)
def test_a_selector_prints_back_in_its_normal_form(text: str, printed: str) -> None:
    selector = LabelSelector.parse(text)
    assert str(selector) == printed
    assert LabelSelector.parse(printed) == selector


@pytest.mark.parametrize(
    ("text", "complaint", "column"),
    [
        ("a=b,", "expected a label key after ','", 5),
        (",a", "expected a label key", 1),
        ("=b", "expected a label key", 1),
        ("a=b,,c", "expected a label key", 5),
        ("a b", "expected ','", 3),
        ("a=b c", "expected ','", 5),
        ("a in b", "expected '('", 6),
        ("a in", "expected '('", 5),
        ("a in (b", "expected ')'", 8),
        ("a in (b c)", "expected ')'", 9),
        ("a in (=)", "expected a label value", 7),
        ("a=)", "expected a label value", 3),
        ("a===b", "expected a label value", 4),
        ("a=!b", "expected a label value", 3),
        ("!a=b", "expected ','", 3),
        ("!a in (b)", "expected ','", 4),
        ("!", "expected a label key", 2),
        ("!!a", "expected a label key", 2),
        ("a exists", "expected ','", 3),
        ("ok,_a=b", "label key '_a'", 4),
        ("ok,a/b/c", "label key 'a/b/c'", 4),
        ("/a", "label key '/a'", 1),
        ("a/", "label key 'a/'", 1),
        ("A.b/c", "must be a DNS subdomain", 1),
        ("ok, a=-b", "value '-b'", 5),
        ("a=é", "value 'é'", 1),
        ("a\x0b=b", "label key 'a\\x0b'", 1),
        ("a\xa0=b", "label key 'a\\xa0'", 1),
        ("a\x00=b", "label key 'a\\x00'", 1),
        ("a>b", "'b' is not a 64-bit integer", 1),
        ("a>", "'' is not a 64-bit integer", 1),
        ("a<1.5", "'1.5' is not a 64-bit integer", 1),
        ("a>9223372036854775808", "is not a 64-bit integer", 1),
        (f"{'k' * 64}=b", "1 to 63", 1),
        (f"{'d' * 254}/k", "DNS subdomain", 1),
        (f"a={'v' * 64}", "up to 63", 1),
    ],
)
def test_an_illegal_selector_is_refused_at_its_column(
    text: str, complaint: str, column: int
) -> None:
    with pytest.raises(SelectorError) as caught:
        LabelSelector.parse(text)
    assert complaint in str(caught.value)
    assert f"at column {column}" in str(caught.value)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("label", "greater", "less"),
    [
        ("10", True, False),
        ("9", False, False),
        ("08", False, True),
        ("-5", False, True),
        ("+12", True, False),
        ("9223372036854775807", True, False),
        ("-9223372036854775808", False, True),
        # Beyond 64 bits it is no number to the server, so it is on neither side.
        ("9223372036854775808", False, False),
        ("-9223372036854775809", False, False),
        ("9" * 5000, False, False),
        ("0" * 5000 + "10", True, False),
        ("1_0", False, False),
        (" 10", False, False),
        ("1e3", False, False),
        ("٣٣", False, False),
        ("", False, False),
    ],
)
def test_order_is_that_of_64_bit_integers(label: str, greater: bool, less: bool) -> None:
    assert LabelSelector.parse("n>9").matches({"n": label}) is greater
    assert LabelSelector.parse("n<9").matches({"n": label}) is less


def test_an_empty_selector_is_falsy_and_matches_everything() -> None:
    assert not LabelSelector()
    assert LabelSelector().matches({})
    assert LabelSelector.parse("a")


def test_a_selector_is_a_value() -> None:
    assert len({LabelSelector.parse("a=1,b=2"), LabelSelector.parse("b=2, a=1")}) == 1
    with pytest.raises(AttributeError):
        LabelSelector().requirements = ()  # type: ignore[misc]  # that it is frozen is the point


def test_a_dict_of_labels_becomes_equalities_and_sets() -> None:
    selector = LabelSelector.from_labels(
        {"tier": ["front", "back"], "app": "web", "zone": {"a"}, "arch": ("arm64",)}
    )
    assert str(selector) == "app=web,arch in (arm64),tier in (back,front),zone in (a)"
    assert not LabelSelector.from_labels({})


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        ({"app": 7}, "must be a string or a list of strings"),
        ({"app": None}, "must be a string or a list of strings"),
        ({"app": {"in": "web"}}, "must be a string or a list of strings"),
        ({"app": [7]}, "a value of 'app' must be a str, not 7"),
        ({"app": [["web"]]}, "a value of 'app' must be a str, not ['web']"),
        ({"app": []}, "needs at least one value"),
        ({7: "web"}, "label key 7 must be a string"),
        ({"app": "not legal"}, "value 'not legal'"),
        ({"_": "web"}, "label key '_'"),
    ],
)
def test_labels_that_cannot_be_are_refused(labels: dict[Any, Any], complaint: str) -> None:
    with pytest.raises(SelectorError) as caught:
        LabelSelector.from_labels(labels)
    assert complaint in str(caught.value)


def test_the_selector_of_an_object_becomes_one_of_text() -> None:
    selector = LabelSelector.from_match(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["front", "back"]},
                {"key": "zone", "operator": "NotIn", "values": ["z9"]},
                {"key": "ready", "operator": "Exists"},
                {"key": "legacy", "operator": "DoesNotExist", "values": []},
            ],
        }
    )
    assert str(selector) == "app=web,!legacy,ready,tier in (back,front),zone notin (z9)"
    assert LabelSelector.parse(str(selector)) == selector


@pytest.mark.parametrize(
    "match", [{}, {"matchLabels": None, "matchExpressions": None}, {"matchLabels": {}}]
)
def test_an_empty_selector_of_an_object_matches_everything(match: dict[str, Any]) -> None:
    assert not LabelSelector.from_match(match)


@pytest.mark.parametrize(
    ("match", "complaint"),
    [
        (None, "a label selector must be a Mapping"),
        ("app=web", "a label selector must be a Mapping"),
        ({"matchLabels": ["app"]}, "matchLabels must be a Mapping"),
        ({"matchLabels": {"app": ["web"]}}, "label 'app' must be a str"),
        ({"matchExpressions": {"key": "a"}}, "matchExpressions must be a list"),
        ({"matchExpressions": ["a"]}, "an item of matchExpressions must be a Mapping"),
        ({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}, "'Gt' of 'a'"),
        ({"matchExpressions": [{"key": "a"}]}, "In, NotIn, Exists, DoesNotExist"),
        ({"matchExpressions": [{"key": "a", "operator": ["In"]}]}, "['In'] of 'a'"),
        ({"matchExpressions": [{"operator": "Exists"}]}, "label key ''"),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "needs at least one value"),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]},
            "values of 'a' must be a list",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": [{}]}]},
            "a value of 'a' must be a str",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
            "takes no values",
        ),
    ],
)
def test_a_malformed_selector_of_an_object_is_refused(match: Any, complaint: str) -> None:
    with pytest.raises(SelectorError) as caught:
        LabelSelector.from_match(match)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("operator", "values", "complaint"),
    [
        (Operator.EQUALS, (), "exactly one value"),
        (Operator.EQUALS, ("a", "b"), "exactly one value"),
        (Operator.NOT_EQUALS, ("a", "b"), "exactly one value"),
        (Operator.DOUBLE_EQUALS, (), "exactly one value"),
        (Operator.GREATER_THAN, ("1", "2"), "exactly one value"),
        (Operator.LESS_THAN, (), "exactly one value"),
        (Operator.IN, (), "at least one value"),
        (Operator.NOT_IN, (), "at least one value"),
        (Operator.EXISTS, ("a",), "takes no values"),
        (Operator.DOES_NOT_EXIST, ("a",), "takes no values"),
    ],
)
def test_each_operator_takes_its_number_of_values(
    operator: Operator, values: tuple[str, ...], complaint: str
) -> None:
    with pytest.raises(SelectorError, match=complaint):
        Requirement("key", operator, frozenset(values))


def test_every_operator_of_the_grammar_has_a_parsed_form() -> None:
    texts = ["a=1", "a==1", "a!=1", "a in (1)", "a notin (1)", "a", "!a", "a>1", "a<1"]
    parsed = [LabelSelector.parse(text).requirements[0].operator for text in texts]
    assert set(parsed) == set(Operator)
