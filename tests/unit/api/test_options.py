"""Every list and watch parameter, as the server's query spells it."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import FieldSelector, LabelSelector, ListOptions
from kinform.errors import SelectorError

# One value for each option, and the query parameter it becomes.
PARAMETERS: dict[str, tuple[Any, str, str]] = {
    "label_selector": (LabelSelector.parse("app in (b, a)"), "labelSelector", "app in (a,b)"),
    "field_selector": (FieldSelector.parse("a==b"), "fieldSelector", "a=b"),
    "resource_version": ("0", "resourceVersion", "0"),
    "resource_version_match": ("NotOlderThan", "resourceVersionMatch", "NotOlderThan"),
    "limit": (500, "limit", "500"),
    "continue_token": ("abc", "continue", "abc"),
    "timeout_seconds": (300, "timeoutSeconds", "300"),
    "allow_watch_bookmarks": (True, "allowWatchBookmarks", "true"),
    "send_initial_events": (True, "sendInitialEvents", "true"),
    "shard_selector": ("x", "shardSelector", "x"),
}


def test_no_options_leave_everything_to_the_server() -> None:
    assert ListOptions().to_query() == {}


def test_every_option_is_tried_here() -> None:
    assert PARAMETERS.keys() == set(ListOptions.__struct_fields__)


@pytest.mark.parametrize("option", PARAMETERS)
def test_an_option_becomes_its_parameter_and_nothing_else(option: str) -> None:
    value, parameter, text = PARAMETERS[option]
    assert ListOptions(**{option: value}).to_query() == {parameter: text}


def test_all_options_together_lose_none() -> None:
    options = ListOptions(**{option: value for option, (value, _, _) in PARAMETERS.items()})
    assert options.to_query() == {name: text for _, name, text in PARAMETERS.values()}


@pytest.mark.parametrize(
    ("options", "query"),
    [
        (ListOptions(send_initial_events=False), {"sendInitialEvents": "false"}),
        (ListOptions(timeout_seconds=0), {"timeoutSeconds": "0"}),
        (ListOptions(limit=0), {}),
        (ListOptions(allow_watch_bookmarks=False), {}),
        (ListOptions(label_selector="a  in (c,b)"), {"labelSelector": "a  in (c,b)"}),
        (ListOptions(field_selector="a!=b"), {"fieldSelector": "a!=b"}),
        (ListOptions(label_selector=LabelSelector()), {}),
    ],
)
def test_values_near_to_nothing_mean_what_they_say(
    options: ListOptions, query: dict[str, str]
) -> None:
    assert options.to_query() == query


def test_replace_changes_only_what_is_named() -> None:
    options = ListOptions(limit=10, label_selector="a=b")
    assert options.replace(continue_token="x").to_query() == {
        "limit": "10",
        "labelSelector": "a=b",
        "continue": "x",
    }
    assert options.to_query() == {"limit": "10", "labelSelector": "a=b"}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"label_selector": "a in b"}, "expected '('"),
        ({"field_selector": "a"}, "is not field=value"),
        # Their text would travel as "{'app': 'web'}" and match nothing.
        ({"label_selector": {"app": "web"}}, "LabelSelector.from_labels()"),
        ({"field_selector": {"a": "b"}}, "FieldSelector.from_fields()"),
        ({"label_selector": FieldSelector.parse("a=b")}, "neither text nor a LabelSelector"),
        ({"label_selector": None}, "neither text nor a LabelSelector"),
    ],
)
def test_an_illegal_selector_is_refused_before_it_travels(
    options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(SelectorError) as caught:
        ListOptions(**options)
    assert complaint in str(caught.value)


def test_an_illegal_selector_is_refused_by_replace_too() -> None:
    with pytest.raises(SelectorError):
        ListOptions().replace(label_selector="=")
