"""Indexes of Jobs as sets and as text."""

from __future__ import annotations

import pytest

from kinform.controller_manager.workloads._job_indexes import (
    FAILURES,
    IGNORED_FAILURES,
    INDEX,
    duplicates,
    first_pending,
    format_indexes,
    index_of,
    indexed_pod,
    parse_indexes,
)
from kinform.models.batch.v1 import Job
from kinform.models.core.v1 import Pod


def pod(name: str, index: str | None) -> Pod:
    annotations = {} if index is None else {INDEX: index}
    metadata = {"name": name, "uid": name, "annotations": annotations}
    return Pod.from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


def job(name: str = "work") -> Job:
    container = {"name": "main", "image": "done", "env": [{"name": "A", "value": "1"}]}
    return Job.from_dict(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "default", "uid": "1"},
            "spec": {"template": {"spec": {"containers": [container]}}},
        }
    )


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([0, 1], "0,1"),
        ([2, 1, 0], "0-2"),
        ([0, 2, 3, 4, 7, 8], "0,2-4,7,8"),
    ],
)
def test_text_of_indexes(indexes: list[int], text: str) -> None:
    assert format_indexes(indexes) == text
    assert parse_indexes(text, 10) == set(indexes)


def test_indexes_out_of_range_are_left_out() -> None:
    assert parse_indexes("0,3-9,12", 6) == {0, 3, 4, 5}


def test_broken_parts_are_skipped() -> None:
    assert parse_indexes("x,1,2-y,3", 6) == {1, 3}


@pytest.mark.parametrize("text", [None, "", "x", "-1", "4"])
def test_pod_without_a_valid_index_has_none(text: str | None) -> None:
    assert index_of(pod("a", text), 4) is None


def test_lowest_free_indexes_come_first() -> None:
    assert first_pending(2, 5, {0, 2}) == [1, 3]
    assert first_pending(9, 5, {0, 2}) == [1, 3, 4]


def test_last_pod_of_an_index_stays() -> None:
    pods = [pod("a", "0"), pod("b", "0"), pod("c", None), pod("d", "7"), pod("e", "1")]
    assert [each.name for each in duplicates(pods, 3)] == ["a", "c", "d"]


def test_pod_knows_its_index() -> None:
    made = indexed_pod(job(), 3, None)
    assert made.metadata.labels[INDEX] == made.metadata.annotations[INDEX] == "3"
    assert made.metadata.generate_name == "work-3-"
    assert made.spec.hostname == "work-3"
    assert [each.name for each in made.spec.containers[0].env] == ["A", "JOB_COMPLETION_INDEX"]
    assert FAILURES not in made.metadata.annotations


def test_pod_inherits_failures_of_its_index() -> None:
    annotations = indexed_pod(job(), 3, (2, 1)).metadata.annotations
    assert annotations[FAILURES] == "2"
    assert annotations[IGNORED_FAILURES] == "1"


def test_long_name_keeps_the_index() -> None:
    made = indexed_pod(job("a" * 63), 12, None)
    assert made.metadata.generate_name == "a" * 54 + "-12-"
