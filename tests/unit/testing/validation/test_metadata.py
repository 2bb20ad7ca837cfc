"""Names, labels and the like: which the server takes, and what it says of the others."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kinform.errors import BadRequestError
from kinform.testing.resources import ResourceRegistry, ServedResource
from kinform.testing.validation import (
    accept_metadata,
    generate_name,
    metadata_problems,
    name_problems,
)

REGISTRY = ResourceRegistry()


def _served(group: str = "", plural: str = "configmaps") -> ServedResource:
    served = REGISTRY.find(group, "v1", plural)
    assert served is not None
    return served


def _name_is_right(group: str, plural: str, name: str) -> bool:
    return not name_problems(_served(group, plural), {"name": name})


@pytest.mark.parametrize(
    ("group", "plural", "right", "wrong"),
    [
        ("", "configmaps", ["a", "a.b-c", "1", "a" * 253], ["", "A", "a_b", "-a", "a.", "a" * 254]),
        ("", "namespaces", ["a", "a-1", "a" * 63], ["a.b", "a" * 64, "a-"]),
        ("", "services", ["a1", "1a"], ["a.b", "a" * 64]),
        ("rbac.authorization.k8s.io", "roles", ["system:node", "A b"], ["a/b", "..", "50%"]),
    ],
)
def test_each_kind_has_its_rule_for_names(
    group: str, plural: str, right: list[str], wrong: list[str]
) -> None:
    assert [name for name in right if not _name_is_right(group, plural, name)] == []
    assert [name for name in wrong if _name_is_right(group, plural, name)] == []


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"labels": {"a b": "c"}}, "metadata.labels"),
        ({"labels": {"a": "no spaces"}}, "metadata.labels"),
        ({"labels": {"a": "x" * 64}}, "metadata.labels"),
        ({"labels": {"Prefix_/a": "x"}}, "metadata.labels"),
        ({"labels": {"/a": "x"}}, "metadata.labels"),
        ({"labels": {"prefix/": "x"}}, "metadata.labels"),
        ({"annotations": {"a b": "anything goes here"}}, "metadata.annotations"),
        ({"finalizers": ["not a name"]}, "metadata.finalizers"),
        ({"finalizers": ["unqualified"]}, "metadata.finalizers[0]"),
        ({"ownerReferences": [{"kind": "Pod"}]}, "metadata.ownerReferences[0].uid"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named(metadata: dict[str, Any], field: str) -> None:
    assert field in [problem.field for problem in metadata_problems(_served(), metadata)]


def test_what_is_right_is_taken() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    metadata = {
        "labels": {"a": "", "example.test/b": "c.d_e-f"},
        "annotations": {"example.test/B": "any\ntext"},
        "finalizers": ["example.test/f", "orphan"],
        "ownerReferences": [owner],
    }

    assert metadata_problems(_served(), metadata) == []


def test_what_was_there_before_is_not_judged_again() -> None:
    was = {"labels": {"not a name": "x"}}
    now = {"labels": {"not a name": "x", "neither is this": "y"}}

    assert metadata_problems(_served(), was, was) == []
    assert len(metadata_problems(_served(), now, was)) == 1


@pytest.mark.parametrize(
    "metadata",
    [5, {"labels": {"a": 1}}, {"labels": ["a"]}, {"finalizers": "a"}, {"name": 1}],
    ids=str,
)
def test_metadata_of_the_wrong_type_is_refused(metadata: object) -> None:
    with pytest.raises(BadRequestError, match="cannot unmarshal"):
        accept_metadata(metadata)


def test_only_what_is_known_and_not_empty_is_taken() -> None:
    given: dict[str, Any] = {
        "name": "a",
        "labels": {},
        "annotations": None,
        "selfLink": "/x",
        "bogus": 1,
    }

    assert accept_metadata(given) == {"name": "a"}
    assert accept_metadata(None) == {}


def test_generated_names_fit_and_differ() -> None:
    long, short = generate_name("x" * 70), generate_name("pod-")

    assert len(long) == 63
    assert re.fullmatch("pod-[bcdfghjklmnpqrstvwxz2456789]{5}", short)
    assert len({generate_name("pod-") for _ in range(50)}) > 45
