"""Lists of controllers: what is on, what is off, and what the first mention decides."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.controller_manager import (
    ControllerContext,
    ControllerDescriptor,
    ControllerRegistry,
    ControllerSelection,
)
from kinform.errors import ConfigError


def _nothing(context: ControllerContext) -> None:
    return None


REGISTRY = ControllerRegistry(
    [
        ControllerDescriptor(name="job-controller", build=_nothing, aliases=("job",)),
        ControllerDescriptor(name="node-controller", build=_nothing),
        ControllerDescriptor(name="token-controller", build=_nothing, default_on=False),
    ]
)


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ("*", "job node"),
        ("*,-job-controller", "node"),
        ("-job-controller,*", "node"),
        ("*,-job", "node"),
        ("*,token-controller", "job node token"),
        ("token-controller", "token"),
        ("job, token-controller", "job token"),
        ("-job", ""),
        ([], ""),
        (["job"], "job"),
        ("job,-job", "job"),
        ("-job,job", ""),
        ("-job,job,*", "node"),
        ("job,-job-controller,*", "job node"),
        ("*,*", "job node"),
    ],
)
def test_the_first_mention_of_a_controller_counts(given: str | list[str], chosen: str) -> None:
    found = ControllerSelection(given, REGISTRY).choose(REGISTRY)

    assert [each.name.partition("-")[0] for each in found] == chosen.split()


@pytest.mark.parametrize("given", ["jobs", "-jobs", "*,jobs", ["*", "--job"], "job*"])
def test_an_unknown_controller_is_an_error_that_lists_the_known_ones(given: Any) -> None:
    with pytest.raises(
        ConfigError, match="there are: job-controller, node-controller, token-controller"
    ):
        ControllerSelection(given, REGISTRY)


@pytest.mark.parametrize("given", ["", "*,", ",", ["job", ""], [None], "job,,node-controller"])
def test_an_empty_name_is_an_error(given: Any) -> None:
    with pytest.raises(ConfigError, match="has an empty name"):
        ControllerSelection(given, REGISTRY)


def test_what_is_not_a_list_of_names_is_an_error() -> None:
    wrong: Any = 3
    with pytest.raises(ConfigError, match="must be names such as"):
        ControllerSelection(wrong, REGISTRY)


def test_a_selection_shows_what_it_means() -> None:
    assert repr(ControllerSelection("*,-job", REGISTRY)) == (
        "<ControllerSelection *,-job-controller>"
    )
