"""Questions about access, and what the answers say."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVR
from kinform.cache._preflight import MissingAccess, PreflightResult, preflight
from kinform.errors import CacheError
from kinform.informers import Scope, Selectors
from kinform.objects import Unstructured
from tests.support.objects import record_of

PODS = GVR("", "v1", "pods")
DEPLOYMENTS = GVR("apps", "v1", "deployments")


class Reviewer:
    """Answers access reviews, and notes the questions."""

    def __init__(self, *refused: tuple[str, str, str]) -> None:
        self.refused = refused
        self.asked: list[dict[str, str]] = []

    async def create(self, review: dict[str, Any]) -> Unstructured:
        asked = review["spec"]["resourceAttributes"]
        self.asked.append(asked)
        question = (asked["resource"], asked["namespace"], asked["verb"])
        status = {"allowed": question not in self.refused}
        return Unstructured.over(record_of({**review, "metadata": {}, "status": status}))


async def test_each_verb_in_each_namespace_is_asked_for() -> None:
    reviewer: Any = Reviewer(
        ("pods", "a", "list"), ("pods", "a", "watch"), ("deployments", "", "watch")
    )
    several = (Selectors(labels="x=1"), Selectors(labels="x=2"))
    result = await preflight(
        reviewer,
        {
            PODS: Scope.of({"a": several, "b": Selectors()}),
            DEPLOYMENTS: Scope.of({"": Selectors()}),
        },
    )
    assert len(reviewer.asked) == 6
    assert {each["group"] for each in reviewer.asked} == {"", "apps"}
    assert result.missing == (
        MissingAccess(PODS, "a", ("list", "watch")),
        MissingAccess(DEPLOYMENTS, "", ("watch",)),
    )
    with pytest.raises(
        CacheError,
        match=r"list and watch v1/pods in namespace a; watch apps/v1/deployments in the whole",
    ):
        result.raise_for_missing()


def test_nothing_is_missing() -> None:
    result = PreflightResult([])
    assert result
    assert "nothing is missing" in repr(result)
    result.raise_for_missing()
