"""The sizes of ReplicaSets, decided without a cluster."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinform.controller_manager.workloads._rollout import (
    Limits,
    SetSize,
    Sizes,
    is_scaled,
    limits_of,
    recreate,
    rolling_update,
    scaled,
    size_of_new_set,
)
from kinform.models.apps.v1 import DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment


def spec(replicas: int, surge: int | str | None, unavailable: int | str | None) -> DeploymentSpec:
    rolling = RollingUpdateDeployment(max_surge=surge, max_unavailable=unavailable)
    strategy = DeploymentStrategy(type="RollingUpdate", rolling_update=rolling)
    return DeploymentSpec(replicas=replicas, strategy=strategy)


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (10, 3, 2, (3, 2)),
        (4, None, None, (1, 1)),
        (1, "25%", "25%", (1, 0)),
        (1, "0%", "25%", (0, 1)),  # both would be 0, and nothing could change
        (2, 0, 5, (0, 2)),
        (0, "25%", "25%", (0, 0)),
        (3, "100%", "0%", (3, 0)),
    ],
)
def test_percentages_are_rounded_in_favour_of_the_promises(
    replicas: int, surge: int | str | None, unavailable: int | str | None, expected: tuple[int, int]
) -> None:
    found = limits_of(spec(replicas, surge, unavailable))
    assert (found.max_surge, found.max_unavailable) == expected


def test_recreate_has_no_limits() -> None:
    strategy = DeploymentStrategy(type="Recreate")
    assert limits_of(DeploymentSpec(strategy=strategy)) == Limits(1, is_rolling=False)


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [(0, 10, 3), (0, 13, 0), (5, 8, 5), (5, 6, 7), (8, 0, 10), (10, 0, 10), (12, 0, 10)],
)
def test_new_set_grows_as_far_as_the_surge_allows(new: int, old: int, expected: int) -> None:
    assert size_of_new_set(Limits(10, max_surge=3, max_unavailable=2), new, old) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        # Nothing is available of the new set: only the surge and the allowed two may go.
        (SetSize("new", 3), [SetSize("a", 10, 10)], {"a": 8}),
        (SetSize("new", 5), [SetSize("a", 8, 8)], {}),
        # Each available new pod replaces an old one.
        (SetSize("new", 5, 2), [SetSize("a", 8, 8)], {"a": 6}),
        # Pods that are not available go first, of the oldest set.
        (SetSize("new", 3, 3), [SetSize("a", 4, 0), SetSize("b", 6, 6)], {"a": 0, "b": 5}),
        (SetSize("new", 10, 10), [SetSize("a", 1, 1), SetSize("b", 2, 0)], {"a": 0, "b": 0}),
        # A status that is older than the size: pods that are going do not count.
        (SetSize("new", 5), [SetSize("a", 4, 6), SetSize("b", 4, 3)], {}),
        # One that has grown is written alone.
        (SetSize("new", 0), [SetSize("a", 10, 10)], {"new": 3}),
        (SetSize("new", 12, 12), [SetSize("a", 1, 1)], {"new": 10}),
        (SetSize("new", 10, 10), [SetSize("a", 0)], {}),
    ],
)
def test_step_of_a_rolling_update(new: SetSize, old: list[SetSize], expected: Sizes) -> None:
    assert rolling_update(Limits(10, max_surge=3, max_unavailable=2), new, old) == expected


def test_recreation_waits_for_old_pods() -> None:
    limits, old = Limits(3, is_rolling=False), [SetSize("a", 3), SetSize("b", 0)]
    assert recreate(limits, SetSize("new", 0), old, is_over=False) == {"a": 0}
    gone = [SetSize("a", 0), SetSize("b", 0)]
    assert recreate(limits, SetSize("new", 0), gone, is_over=False) == {}
    assert recreate(limits, SetSize("new", 0), gone, is_over=True) == {"new": 3}
    assert recreate(limits, SetSize("new", 3), gone, is_over=True) == {}
    assert recreate(limits, None, old, is_over=False) == {"a": 0}


def test_scaling_is_seen_by_what_sets_with_pods_have_noted() -> None:
    limits = Limits(5)
    assert is_scaled(limits, [SetSize("a", 3, desired=3)])
    assert not is_scaled(limits, [SetSize("a", 0, desired=3), SetSize("b", 5, desired=5)])
    assert not is_scaled(limits, [SetSize("a", 3)])


@pytest.mark.parametrize(
    ("limits", "new", "old", "expected"),
    [
        (Limits(10), None, [], {}),
        (Limits(10), SetSize("new", 4, desired=4), [SetSize("a", 0)], {"new": 10}),
        (Limits(10), SetSize("new", 0), [SetSize("a", 4)], {"a": 10}),
        (Limits(10), None, [SetSize("a", 0), SetSize("b", 0)], {"b": 10}),
        (Limits(10), SetSize("new", 10, desired=10), [], {}),
        # A saturated new set: adopted old ones lose their pods.
        (Limits(2), SetSize("new", 2, 2, desired=2), [SetSize("a", 3)], {"a": 0}),
        # In the middle of a rollout, all sets keep their part.
        (
            Limits(20, max_surge=5),
            SetSize("new", 5, desired=10, most=13),
            [SetSize("a", 8, desired=10, most=13)],
            {"a": 15, "new": 10},
        ),
        (
            Limits(5, max_surge=1),
            SetSize("new", 6, desired=10, most=12),
            [SetSize("a", 6, desired=10, most=12)],
            {"a": 3, "new": 3},
        ),
        (
            Limits(0, max_surge=0),
            SetSize("new", 2, desired=4, most=5),
            [SetSize("a", 3, desired=4, most=5)],
            {"a": 0, "new": 0},
        ),
        # What cannot be divided goes to the largest set.
        (
            Limits(6, max_surge=0),
            SetSize("new", 1, desired=5, most=5),
            [SetSize("a", 2, desired=5, most=5), SetSize("b", 2, desired=5, most=5)],
            {"a": 2, "b": 3, "new": 1},
        ),
    ],
)
def test_scaling(limits: Limits, new: SetSize | None, old: list[SetSize], expected: Sizes) -> None:
    assert scaled(limits, new, old, total_before=0) == expected


@given(
    replicas=st.integers(1, 50),
    surge=st.integers(0, 20),
    unavailable=st.integers(0, 20),
    old=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 60)), min_size=1, max_size=4),
    new=st.tuples(st.integers(0, 40), st.integers(1, 60)),
)
def test_scaling_a_rollout_never_exceeds_the_surge(
    replicas: int,
    surge: int,
    unavailable: int,
    old: list[tuple[int, int]],
    new: tuple[int, int],
) -> None:
    limits = Limits(replicas, surge, min(unavailable, replicas))
    sets = [SetSize(f"old-{at}", size, most=most) for at, (size, most) in enumerate(old)]
    newest = SetSize("new", new[0], most=new[1])
    sizes = scaled(limits, newest, sets, total_before=0)
    if sum(each.replicas > 0 for each in [*sets, newest]) > 1:
        assert sum(sizes.values()) == limits.most
    assert all(size >= 0 for size in sizes.values())


class Simulation:
    """Sets whose controllers and kubelets act whenever the test lets them.

    Attributes:
        wanted: The size of each set, as the Deployment's controller has written it.
        pods: For each set, whether each of its pods is available.
        reported: The available pods of each set according to its status, which may be old.
    """

    def __init__(self, limits: Limits, old: int) -> None:
        self.limits = limits
        share, rest = divmod(limits.replicas, old)
        sizes = [share + (at < rest) for at in range(old)]
        self.old = [f"old-{at}" for at in range(old)]
        self.wanted = dict(zip(self.old, sizes, strict=True)) | {"new": 0}
        self.pods = {name: [True] * size for name, size in self.wanted.items()}
        self.reported = dict(self.wanted)

    def size(self, name: str) -> SetSize:
        return SetSize(name, self.wanted[name], self.reported[name])

    def roll(self) -> bool:
        changes = rolling_update(self.limits, self.size("new"), [*map(self.size, self.old)])
        self.wanted.update(changes)
        return bool(changes)

    def reconcile(self, name: str) -> None:
        """What the controller of ReplicaSets does: pods that are not available go first."""
        pods = sorted(self.pods[name], reverse=True)[: self.wanted[name]]
        self.pods[name] = pods + [False] * (self.wanted[name] - len(pods))

    def report(self, name: str) -> None:
        self.reported[name] = sum(self.pods[name])

    def start_one(self, name: str) -> None:
        pods = self.pods[name]
        if False in pods:
            pods[pods.index(False)] = True

    def stop_one(self, name: str) -> None:
        pods = self.pods[name]
        if True in pods:
            pods[pods.index(True)] = False

    def check_surge(self) -> None:
        assert sum(self.wanted.values()) <= self.limits.most, vars(self)

    def check(self) -> None:
        self.check_surge()
        available = sum(sum(pods) for pods in self.pods.values())
        assert available >= self.limits.fewest_available, vars(self)


@settings(max_examples=300, deadline=None)
@given(
    replicas=st.integers(1, 12),
    surge=st.integers(0, 6),
    unavailable=st.integers(0, 12),
    old=st.integers(1, 3),
    data=st.data(),
)
def test_rolling_update_never_breaks_its_promises(
    replicas: int, surge: int, unavailable: int, old: int, data: st.DataObject
) -> None:
    """However late the sets act and report, and in whatever order pods become available."""
    unavailable = min(unavailable, replicas) if surge or unavailable else 1
    world = Simulation(Limits(replicas, surge, unavailable), old)
    names = [*world.old, "new"]
    acts = st.tuples(
        st.sampled_from(["roll", "reconcile", "report", "start_one"]), st.sampled_from(names)
    )
    for act, name in data.draw(st.lists(acts, max_size=60)):
        if act == "roll":
            world.roll()
        else:
            getattr(world, act)(name)
        world.check()
    come_to_an_end(world)


@settings(max_examples=200, deadline=None)
@given(replicas=st.integers(1, 12), surge=st.integers(0, 6), old=st.integers(1, 3), data=st.data())
def test_failing_pods_neither_exceed_the_surge_nor_block_an_update(
    replicas: int, surge: int, old: int, data: st.DataObject
) -> None:
    world = Simulation(Limits(replicas, surge, 0 if surge else 1), old)
    acts = st.tuples(
        st.sampled_from(["roll", "reconcile", "report", "start_one", "stop_one"]),
        st.sampled_from([*world.old, "new"]),
    )
    for act, name in data.draw(st.lists(acts, max_size=60)):
        if act == "roll":
            world.roll()
        else:
            getattr(world, act)(name)
        world.check_surge()
    come_to_an_end(world)


def come_to_an_end(world: Simulation) -> None:
    """Let everybody act, and check that the rollout ends."""
    replicas, names = world.limits.replicas, [*world.old, "new"]
    for _ in range(10 * replicas + 20):
        world.roll()
        for name in names:
            world.reconcile(name)
            world.start_one(name)
            world.report(name)
        world.check_surge()
    assert world.wanted == {**dict.fromkeys(world.old, 0), "new": replicas}
    assert all(world.pods["new"])
