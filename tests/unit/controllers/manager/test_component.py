"""Components: what can be added, under which names."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from kinform.errors import ConfigError
from kinform.metrics import NO_METRICS
from tests.support.managed_fakes import FakeController, new_manager


async def sweep() -> None:
    return


async def sweep_all(limit: int) -> None:
    return


class Sweeper:
    needs_leader = False

    async def run(self) -> None:
        return


def _added(*given: Any, **options: Any) -> Any:
    manager = new_manager()
    for each in given:
        manager.add(each, **options)
    return manager.status().components[0]


def test_functions_and_objects_have_names_of_their_own() -> None:
    assert _added(sweep).name == "sweep"
    assert _added(functools.partial(sweep_all, 3)).name == "sweep_all"
    assert _added(Sweeper()).name == "Sweeper"
    assert _added(Sweeper(), name="night").name == "night"


def test_functions_need_leadership_unless_told_otherwise() -> None:
    assert _added(sweep).needs_leader
    assert not _added(sweep, needs_leader=False).needs_leader
    assert not _added(Sweeper()).needs_leader


def test_controllers_decide_by_themselves_unless_overridden() -> None:
    assert not _added(FakeController("web", [], needs_leader=False)).needs_leader
    assert _added(FakeController("web", [], needs_leader=False), needs_leader=True).needs_leader


def test_a_controller_without_metrics_receives_those_of_the_manager() -> None:
    web, own = FakeController("web", []), FakeController("own", [])
    web.metrics = None  # type: ignore[attr-defined]
    own.metrics = "own"  # type: ignore[attr-defined]
    manager = new_manager(metrics=NO_METRICS)
    manager.add(web)
    manager.add(own)

    assert web.metrics is NO_METRICS  # type: ignore[attr-defined]
    assert own.metrics == "own"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (print, "print, which is not async"),
        (Sweeper, "the class Sweeper; pass an instance"),
        (FakeController, "the class FakeController; pass an instance"),
        (7, "not 7"),
        (sweep_all, "sweep_all must not require arguments .*use functools.partial"),
    ],
)
def test_anything_else_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _added(given)


def test_a_controller_keeps_its_name() -> None:
    with pytest.raises(ConfigError, match="'web' has a name already, so name='api'"):
        _added(FakeController("web", []), name="api")


def test_an_unknown_cluster_is_refused() -> None:
    with pytest.raises(ConfigError, match="there is no cluster 'west'; added: none"):
        _added(sweep, cluster="west")
