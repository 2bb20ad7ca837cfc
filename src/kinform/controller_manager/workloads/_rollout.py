"""The sizes of the ReplicaSets of a Deployment: pure functions, without a cluster.

A rolling update creates pods of the new template and deletes old ones, in many small steps. Each
step keeps two promises: there are never more than ``replicas + max_surge`` pods, and never fewer
than ``replicas - max_unavailable`` of them are available.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from kinform.models.apps.v1 import DeploymentSpec

_DEFAULT_LIMIT = "25%"

Sizes = dict[str, int]
"""The wanted number of pods by the name of the ReplicaSet."""


class Limits(msgspec.Struct, frozen=True):
    """How many pods a Deployment wants, and how far a rollout may deviate from it."""

    replicas: int
    max_surge: int = 0
    max_unavailable: int = 0
    is_rolling: bool = True

    @property
    def most(self) -> int:
        """The most pods that may exist."""
        return self.replicas + self.max_surge

    @property
    def fewest_available(self) -> int:
        """The fewest pods that must be available."""
        return self.replicas - self.max_unavailable


class SetSize(msgspec.Struct, frozen=True):
    """A ReplicaSet, as far as its size depends on it.

    Attributes:
        name: The name.
        replicas: The number of pods that it wants.
        available: The number of its pods that are available, according to its status.
        desired: The replicas of the Deployment when this size was set; ``None`` if unknown.
        most: The most pods of the Deployment when this size was set; ``None`` if unknown.
    """

    name: str
    replicas: int
    available: int = 0
    desired: int | None = None
    most: int | None = None

    @property
    def serving(self) -> int:
        """The available pods that will stay: a status may be older than the size."""
        return min(self.available, self.replicas)


def limits_of(spec: DeploymentSpec) -> Limits:
    """Return the limits of a Deployment, in pods.

    A surge is rounded up, unavailability down. If both are 0 then, one pod may be unavailable,
    because nothing could change otherwise.
    """
    replicas = 1 if spec.replicas is None else spec.replicas
    if spec.strategy.type == "Recreate":
        return Limits(replicas, is_rolling=False)
    rolling = spec.strategy.rolling_update
    surge = pods_of(None if rolling is None else rolling.max_surge, replicas, up=True)
    missing = pods_of(None if rolling is None else rolling.max_unavailable, replicas, up=False)
    if surge == 0 and missing == 0:
        missing = 1
    return Limits(replicas, max_surge=surge, max_unavailable=min(missing, replicas))


def pods_of(limit: int | str | None, replicas: int, *, up: bool) -> int:
    """Return a number of pods that is given as such or as a percentage of all, rounded up or down.

    Raises:
        ValueError: The limit is neither; a server accepts no such Deployment.
    """
    if limit is None:
        limit = _DEFAULT_LIMIT
    if isinstance(limit, int):
        return limit
    share = int(limit.removesuffix("%")) * replicas
    return -(-share // 100) if up else share // 100


def is_scaled(limits: Limits, sets: Sequence[SetSize]) -> bool:
    """Whether the Deployment wants another number of pods than when its sets got their sizes."""
    return any(
        each.replicas > 0 and each.desired is not None and each.desired != limits.replicas
        for each in sets
    )


def size_of_new_set(limits: Limits, new: int, old: int) -> int:
    """Return the size of the new set: as large as the surge allows.

    Args:
        limits: The limits of the Deployment.
        new: The current size of the new set.
        old: The sum of the sizes of the old sets.
    """
    if not limits.is_rolling or new >= limits.replicas:
        return limits.replicas
    return max(new, min(limits.replicas, limits.most - old))


def rolling_update(limits: Limits, new: SetSize, old: Sequence[SetSize]) -> Sizes:
    """Return the sizes after the next step of a rolling update; only those that change.

    The new set grows first. Old sets shrink when there is nothing to grow: first by their pods that
    are not available, which nobody misses, then by as many others as are available too many.

    Args:
        limits: The limits of the Deployment.
        new: The ReplicaSet of the current template.
        old: The other ReplicaSets, the oldest first.
    """
    grown = size_of_new_set(limits, new.replicas, sum(each.replicas for each in old))
    if grown != new.replicas:
        return {new.name: grown}
    sizes = {each.name: each.replicas for each in old}
    # Pods of the new set that are not available yet must not be made up for by old ones.
    spare = new.serving + sum(sizes.values()) - limits.fewest_available
    for each in old:
        broken = min(each.replicas - each.serving, max(0, spare))
        sizes[each.name] -= broken
        spare -= broken
    spare = new.serving + sum(each.serving for each in old) - limits.fewest_available
    for each in old:
        removed = min(sizes[each.name], max(0, spare))
        sizes[each.name] -= removed
        spare -= removed
    return _changed(sizes, old)


def recreate(
    limits: Limits, new: SetSize | None, old: Sequence[SetSize], *, is_over: bool
) -> Sizes:
    """Return the sizes after the next step of a recreation; only those that change.

    Args:
        limits: The limits of the Deployment.
        new: The ReplicaSet of the current template, if it exists.
        old: The other ReplicaSets.
        is_over: Whether no pod of an old set runs any more.
    """
    sizes = {each.name: 0 for each in old}
    if new is not None and is_over and not any(each.replicas for each in old):
        sizes[new.name] = limits.replicas
        return _changed(sizes, [*old, new])
    return _changed(sizes, old)


def scaled(limits: Limits, new: SetSize | None, old: Sequence[SetSize], total_before: int) -> Sizes:
    """Return the sizes after the Deployment was scaled, or while it is paused.

    If there is one set with pods, or none, it gets them all. If a rollout is under way, all sets
    grow or shrink in proportion, so that scaling neither hastens nor reverts it.

    Args:
        limits: The limits of the Deployment.
        new: The ReplicaSet of the current template, if it exists.
        old: The other ReplicaSets, the oldest first.
        total_before: The pods that the status of the Deployment counts.

    Returns:
        The sizes of all sets that have to know the new limits, changed or not.
    """
    everything = [*old, *([] if new is None else [new])]
    active = [each for each in everything if each.replicas > 0]
    if len(active) <= 1:
        only = active[0] if active else (everything[-1] if everything else None)
        if only is None or (
            only.replicas == limits.replicas and only.desired in (None, limits.replicas)
        ):
            return {}
        return {only.name: limits.replicas}
    if new is not None and _is_saturated(limits, new):
        return {each.name: 0 for each in old if each.replicas > 0}
    return _proportional(limits, active, total_before) if limits.is_rolling else {}


def _is_saturated(limits: Limits, new: SetSize) -> bool:
    return new.replicas == new.desired == new.available == limits.replicas


def _proportional(limits: Limits, active: Sequence[SetSize], total_before: int) -> Sizes:
    allowed = limits.most if limits.replicas > 0 else 0
    missing = allowed - sum(each.replicas for each in active)
    # Large sets first. Of equal ones, the newer grows first, and the older shrinks first.
    by_age = reversed(active) if missing > 0 else active
    ordered = sorted(by_age, key=lambda each: -each.replicas)
    sizes: Sizes = {}
    left = missing
    for each in ordered:
        share = _share(limits, each, total_before)
        part = 0
        if left != 0:
            part = min(share, left) if missing > 0 else max(share, left)
        sizes[each.name] = each.replicas + part
        left -= part
    # Rounding leaves a rest, for the largest set, unless that cannot give so many.
    for each in ordered:
        part = max(left, -sizes[each.name])
        sizes[each.name] += part
        left -= part
    return sizes


def _share(limits: Limits, each: SetSize, total_before: int) -> int:
    """Return by how many pods a set should grow, to keep its part of all pods."""
    if limits.replicas == 0:
        return -each.replicas
    before = each.most or total_before
    if before == 0:
        return 0
    return math.floor(each.replicas * limits.most / before + 0.5) - each.replicas


def _changed(sizes: Sizes, before: Sequence[SetSize]) -> Sizes:
    return {each.name: sizes[each.name] for each in before if sizes[each.name] != each.replicas}
