"""Finished Jobs are deleted after their time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinform.controller_manager.workloads import ttl_after_finished_controller
from kinform.controller_manager.workloads._ownership import is_being_deleted
from kinform.controller_manager.workloads.ttl_after_finished import time_left
from kinform.models.batch.v1 import Job
from tests.support.workloads import running_workloads

END = datetime(2026, 1, 1, tzinfo=UTC)


def job(type: str = "Complete", *, ttl: int | None = 10, name: str = "work", **more: Any) -> Job:
    end = END.isoformat().replace("+00:00", "Z")
    condition = {"type": type, "status": "True", "lastTransitionTime": end, **more}
    return Job.from_dict(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"ttlSecondsAfterFinished": ttl},
            "status": {"conditions": [condition]},
        }
    )


@pytest.mark.parametrize("type", ["Complete", "Failed"])
def test_time_counts_from_the_end(type: str) -> None:
    assert time_left(job(type), END + timedelta(seconds=4)) == 6
    assert time_left(job(type), END + timedelta(seconds=11)) == 0


@pytest.mark.parametrize(
    "found", [job(ttl=None), job("SuccessCriteriaMet"), job("Suspended"), job(status="False")]
)
def test_other_jobs_stay(found: Job) -> None:
    assert time_left(found, END + timedelta(days=1)) is None


def test_job_that_is_being_deleted_is_not_deleted_again() -> None:
    found = job()
    found.metadata.deletion_timestamp = END
    assert time_left(found, END + timedelta(days=1)) is None


async def test_finished_job_is_deleted() -> None:
    async with running_workloads([ttl_after_finished_controller()]) as cluster:
        for found in (job(ttl=None, name="kept"), job()):
            await cluster.client.create(found)
            await cluster.client.patch(
                Job,
                found.name,
                {"status": found.to_dict()["status"]},
                namespace="default",
                subresource="status",
            )
        # In the foreground: the Job stays until its pods are gone.
        found = await cluster.wait(Job, "work", is_being_deleted)
        assert found.metadata.finalizers == ["foregroundDeletion"]
        kept = await cluster.client.get(Job, "kept", namespace="default")
        assert not is_being_deleted(kept)
