"""Which objects an owner keeps, adopts and releases."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import LabelSelector
from kinform.controller_manager.workloads._ownership import Claim, claim_of, selector_of
from kinform.models.core.v1 import Pod
from tests.support.workloads import replica_set

WEB = LabelSelector.from_labels({"app": "web"})
DELETED = {"deletionTimestamp": "2030-01-01T00:00:00Z"}


def pod(app: str, owner: str = "", **metadata: Any) -> Pod:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner}
    owners = [{**reference, "controller": True}] if owner else []
    metadata = {"name": "a", "labels": {"app": app}, "ownerReferences": owners, **metadata}
    return Pod.from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


@pytest.mark.parametrize(
    ("obj", "verdict", "verdict_of_deleted_owner"),
    [
        (pod("web", "own"), Claim.KEEP, Claim.KEEP),
        (pod("web", "own", **DELETED), Claim.KEEP, Claim.KEEP),
        (pod("db", "own"), Claim.RELEASE, Claim.IGNORE),
        (pod("web", "other"), Claim.IGNORE, Claim.IGNORE),
        (pod("web"), Claim.ADOPT, Claim.IGNORE),
        (pod("web", **DELETED), Claim.IGNORE, Claim.IGNORE),
        (pod("db"), Claim.IGNORE, Claim.IGNORE),
    ],
    ids=["own", "own, deleted", "own, other labels", "other's", "orphan", "deleted", "stranger"],
)
def test_verdict(obj: Pod, verdict: Claim, verdict_of_deleted_owner: Claim) -> None:
    owner = replica_set()
    owner.metadata.uid = "own"
    assert claim_of(owner, obj, WEB) is verdict
    tree = owner.to_dict()
    tree["metadata"].update(DELETED)
    assert claim_of(type(owner).from_dict(tree), obj, WEB) is verdict_of_deleted_owner


def test_empty_selector_is_no_selector() -> None:
    assert selector_of(replica_set(selector={})) is None
    assert selector_of(replica_set(selector=None)) is None
    assert str(selector_of(replica_set())) == "app=web"
