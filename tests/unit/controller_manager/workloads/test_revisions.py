"""Revisions of Deployments: which ReplicaSet is the new one, and what it is called."""

from __future__ import annotations

from typing import Any

from kinform.controller_manager.workloads._revisions import (
    HASH_LABEL,
    HISTORY,
    REVISION,
    new_replica_set,
    revision_of,
    split,
    superfluous,
    template_hash,
    update_new_set,
)
from kinform.controller_manager.workloads._rollout import Limits
from kinform.models.apps.v1 import Deployment, ReplicaSet
from tests.support.workloads import deployment, pod_template, replica_set

LIMITS = Limits(3, max_surge=1)


def web(image: str = "web:1", **spec: Any) -> Deployment:
    found = deployment(image=image, **spec)
    found.metadata.uid = "u1"
    return found


def a_set(name: str, image: str, revision: str = "", *, replicas: int = 0) -> ReplicaSet:
    template = pod_template(image)
    template["metadata"]["labels"][HASH_LABEL] = name
    found = replica_set(name, replicas=replicas, template=template)
    if revision:
        found.metadata.annotations = {REVISION: revision}
    return found


def test_new_set_has_the_template_of_the_deployment_but_for_the_hash() -> None:
    sets = [a_set("a", "web:1"), a_set("b", "web:2"), a_set("c", "web:1")]
    new, old = split(web("web:2"), sets)
    assert new is not None
    assert new.name == "b"
    assert [each.name for each in old] == ["a", "c"]
    # Of two equal ones, the older is chosen, here by name.
    assert split(web("web:1"), sets)[0] is sets[0]
    assert split(web("web:3"), sets)[0] is None


def test_hash_depends_on_the_template_and_on_collisions_alone() -> None:
    template = web().spec.template
    found = template_hash(template, 0)
    assert len(found) == 10
    assert found.isalnum()
    labelled = a_set("a", "web:1").spec.template
    assert template_hash(labelled, 0) == found
    assert template_hash(template, 1) != found
    assert template_hash(web("web:2").spec.template, 0) != found


def test_new_set_is_numbered_after_the_old_ones() -> None:
    old = [a_set("a", "web:1", "4"), a_set("b", "web:2", "x"), a_set("c", "web:3")]
    created = new_replica_set(web("web:9"), old, LIMITS, 1)
    assert revision_of(created) == 5
    assert HISTORY not in created.metadata.annotations
    assert created.name == "web-" + created.labels[HASH_LABEL]
    long = web()
    long.metadata.name = "w" * 253
    assert len(new_replica_set(long, [], LIMITS, 1).name) == 253


def test_set_that_is_rolled_back_to_remembers_its_revisions() -> None:
    again, other = a_set("a", "web:1", "1"), a_set("b", "web:2", "2")
    update_new_set(web(), again, [other])
    assert again.metadata.annotations == {REVISION: "3", HISTORY: "1"}
    update_new_set(web(), again, [other])
    assert again.metadata.annotations == {REVISION: "3", HISTORY: "1"}
    other.metadata.annotations = {REVISION: "4"}
    again.metadata.annotations[HISTORY] = ",".join(["1234"] * 400)
    update_new_set(web(), again, [other])
    assert again.metadata.annotations[HISTORY].endswith("1234,3")
    assert len(again.metadata.annotations[HISTORY]) <= 2000


def test_history_beyond_its_limit_is_superfluous_unless_it_has_pods() -> None:
    old = [a_set("a", "1", "3"), a_set("b", "2", "1", replicas=1), a_set("c", "3", "2")]
    found = superfluous(web(revisionHistoryLimit=1), old)
    assert [each.name for each in found] == ["c"]
    assert superfluous(web(revisionHistoryLimit=3), old) == []
    assert superfluous(web(revisionHistoryLimit=2**31 - 1), old) == []
