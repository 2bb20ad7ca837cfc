"""The registry: names, aliases, gates, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kinform.controller_manager import (
    ControllerContext,
    ControllerDescriptor,
    ControllerRegistry,
    default_registry,
)
from kinform.errors import ConfigError


def _nothing(context: ControllerContext) -> None:
    return None


def _descriptor(name: str, *aliases: str, **options: Any) -> ControllerDescriptor:
    return ControllerDescriptor(name=name, build=_nothing, aliases=aliases, **options)


def test_controllers_are_found_by_name_and_alias_in_the_order_of_their_addition() -> None:
    job, web = _descriptor("job-controller", "job"), _descriptor("a-controller")
    registry = ControllerRegistry([job, web])

    assert registry.names == ("job-controller", "a-controller")
    assert list(registry) == [job, web]
    assert registry.find("job") is registry.find("job-controller") is job
    assert "job" in registry
    assert "cron" not in registry
    assert len(registry) == 2


def test_the_decorator_adds_a_controller_and_returns_the_function() -> None:
    registry = ControllerRegistry()

    @registry.controller(
        "job-controller", aliases=["job"], gates=["Jobs"], default_on=False, summary="runs jobs"
    )
    def build(context: ControllerContext) -> None:
        return None

    found = registry.find("job")
    assert found.build is build
    assert (found.gates, found.default_on, found.summary) == (("Jobs",), False, "runs jobs")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (_descriptor("job-controller"), "cannot be called 'job-controller'"),
        (_descriptor("job"), "'job'.*a name of controller 'job-controller'"),
        (_descriptor("other", "job-controller"), "'other' cannot be called 'job-controller'"),
        (_descriptor("other", "job"), "'other' cannot be called 'job'"),
        (_descriptor("other", "twice", "twice"), "a name of controller 'other' already"),
        (_descriptor("other", "other"), "a name of controller 'other' already"),
    ],
    ids=["name", "name is an alias", "alias is a name", "alias", "alias twice", "alias of itself"],
)
def test_no_name_means_two_controllers(second: ControllerDescriptor, message: str) -> None:
    registry = ControllerRegistry([_descriptor("job-controller", "job")])

    with pytest.raises(ConfigError, match=message):
        registry.add(second)
    assert registry.names == ("job-controller",)
    assert "twice" not in registry


@pytest.mark.parametrize("name", ["", "Job", "-job", "job-", "*", "a,b", "a b", "a/b", None, 3])
def test_names_that_flags_and_paths_cannot_have_are_refused(name: Any) -> None:
    with pytest.raises(ConfigError, match=re.escape(repr(name))):
        _descriptor(name)
    with pytest.raises(ConfigError, match=re.escape(repr(name))):
        _descriptor("job-controller", name)


def test_what_is_not_a_controller_is_refused() -> None:
    nothing: Any = None

    async def build(context: ControllerContext) -> None:
        return None

    with pytest.raises(ConfigError, match="a function that builds it"):
        ControllerDescriptor(name="a", build=nothing)
    with pytest.raises(ConfigError, match="must not be async"):
        ControllerDescriptor(name="a", build=build)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="takes a ControllerDescriptor, not None"):
        ControllerRegistry().add(nothing)
    with pytest.raises(ConfigError, match="aliases of controller 'a' must be a tuple"):
        ControllerRegistry().controller("a", aliases="job")(_nothing)
    with pytest.raises(ConfigError, match="the name 'a b' is invalid"):
        _descriptor("a", gates=("a b",))


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    registry = ControllerRegistry([_descriptor("job-controller", "job"), _descriptor("a")])

    with pytest.raises(ConfigError, match=r"no controller 'jobs'; there are: a, job-controller$"):
        registry.find("jobs")


def test_all_gates_of_a_controller_must_be_enabled() -> None:
    gated = _descriptor("a", gates=("One", "Two"))

    assert gated.missing_gates(["Two", "Three"]) == ("One",)
    assert gated.missing_gates(["Two", "One"]) == ()
    assert _descriptor("b").missing_gates([]) == ()


def test_shipped_controllers_have_consistent_names() -> None:
    """What kube-controller-manager requires of its own: TestControllerNamesConsistency."""
    for each in default_registry():
        assert each.name.endswith("-controller"), each.name
        assert not any(alias.endswith("-controller") for alias in each.aliases), each.name
    assert default_registry() is not default_registry()
