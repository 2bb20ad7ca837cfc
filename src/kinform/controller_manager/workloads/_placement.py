"""On which nodes the pods of a DaemonSet belong: pure functions, without a cluster.

The controller creates one pod for each node, and leaves it to the scheduler to put it there. The
pod says so by a node affinity for the name of its node, which replaces the one of the template: the
controller has evaluated that already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kinform.models.core.v1 import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    Taint,
    Toleration,
)

_NAME = "metadata.name"
_PREFIX = "node.kubernetes.io/"
_NO_EXECUTE = "NoExecute"
_NO_SCHEDULE = "NoSchedule"


class Verdict(msgspec.Struct, frozen=True):
    """Whether a pod should be started on a node, and whether one that runs there may stay."""

    starts: bool
    stays: bool


def verdict(spec: PodSpec, node: Node) -> Verdict:
    """Decide whether pods of a template belong on a node.

    A taint that only keeps new pods away does not drive out the one that is there.
    """
    if spec.node_name not in ("", node.name) or not _fits(spec, node):
        return Verdict(starts=False, stays=False)
    tolerations = tolerations_of(spec)
    repelling = {each.effect for each in node.spec.taints if not _is_tolerated(each, tolerations)}
    return Verdict(
        starts=not repelling & {_NO_EXECUTE, _NO_SCHEDULE}, stays=_NO_EXECUTE not in repelling
    )


def tolerations_of(spec: PodSpec) -> list[Toleration]:
    """Return the tolerations of a template, and those that each pod of a DaemonSet has.

    A node that is in trouble keeps its daemons: there is no better place for them.
    """
    conditions = {
        "not-ready": _NO_EXECUTE,
        "unreachable": _NO_EXECUTE,
        "disk-pressure": _NO_SCHEDULE,
        "memory-pressure": _NO_SCHEDULE,
        "pid-pressure": _NO_SCHEDULE,
        "unschedulable": _NO_SCHEDULE,
    }
    if spec.host_network:
        conditions["network-unavailable"] = _NO_SCHEDULE
    found = list(spec.tolerations)
    for condition, effect in conditions.items():
        added = Toleration(key=_PREFIX + condition, operator="Exists", effect=effect)
        same = [index for index, each in enumerate(found) if _is_alike(each, added)]
        for index in same:
            found[index] = added
        if not same:
            found.append(added)
    return found


def _is_alike(one: Toleration, other: Toleration) -> bool:
    """Whether two tolerations differ in their time at most."""
    return (one.key, one.effect, one.operator, one.value) == (
        other.key,
        other.effect,
        other.operator,
        other.value,
    )


def _is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(
        each.effect in ("", taint.effect)
        and each.key in ("", taint.key)
        and (each.operator == "Exists" or _is_equal(each, taint))
        for each in tolerations
    )


def _is_equal(toleration: Toleration, taint: Taint) -> bool:
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def _fits(spec: PodSpec, node: Node) -> bool:
    """Whether a node has the labels that a template asks for."""
    if not spec.node_selector.items() <= node.labels.items():
        return False
    required = _required(spec)
    return required is None or any(_has(node, term) for term in required.node_selector_terms)


def _required(spec: PodSpec) -> NodeSelector | None:
    if spec.affinity is None or spec.affinity.node_affinity is None:
        return None
    return spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution


def _has(node: Node, term: NodeSelectorTerm) -> bool:
    """Whether a term matches a node. An empty one matches none."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {_NAME: node.name}
    return all(_is_met(each, node.labels) for each in term.match_expressions) and all(
        _is_met(each, fields) for each in term.match_fields
    )


def _is_met(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement.key), requirement.values
    match requirement.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _is_beyond(value, values, is_greater=requirement.operator == "Gt")
    return False


def _is_beyond(value: str | None, limits: Sequence[str], *, is_greater: bool) -> bool:
    try:
        number, limit = int(value or ""), int(limits[0])
    except (ValueError, IndexError):
        return False
    return number > limit if is_greater else number < limit


def pinned(affinity: Affinity | None, node: str) -> Affinity:
    """Return the affinity of a pod that belongs on one node."""
    name = NodeSelectorRequirement(key=_NAME, operator="In", values=[node])
    selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[name])])
    result = Affinity() if affinity is None else affinity.copy()
    within = NodeAffinity() if result.node_affinity is None else result.node_affinity.copy()
    within.required_during_scheduling_ignored_during_execution = selector
    result.node_affinity = within
    return result


def target_of(pod: Pod) -> str | None:
    """Return the name of the node that a pod is on or belongs on; ``None`` if it is unknown."""
    if pod.spec.node_name:
        return pod.spec.node_name
    required = _required(pod.spec)
    for term in [] if required is None else required.node_selector_terms:
        for each in term.match_fields:
            if each.key == _NAME and each.operator == "In":
                return each.values[0] if len(each.values) == 1 else None
    return None
