"""What is kept of a Lease that several write, and what its record says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kinform.controllers import Leadership, LeaseRecord
from kinform.models.coordination.v1 import Lease
from kinform.testing import virtual_time
from tests.support.leases import NAME, NAMESPACE, LeaseServer, elector_of

TIME = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


async def nothing(leadership: Leadership) -> None:
    return


def test_record_survives_a_lease() -> None:
    record = LeaseRecord(holder="a", duration=15, acquire_time=TIME, renew_time=TIME, transitions=3)

    assert LeaseRecord.of(record.new_lease(NAME, NAMESPACE, {})) == record


def test_record_of_an_empty_lease_is_free() -> None:
    assert LeaseRecord.of(Lease()) == LeaseRecord()


def test_times_of_a_record() -> None:
    record = LeaseRecord.acquired("a", seconds=15, transitions=3)
    renewed, released = record.renewed(), record.released()

    assert record.acquire_time == record.renew_time == renewed.acquire_time
    assert renewed.renew_time is not None
    assert record.renew_time is not None
    assert renewed.renew_time - record.renew_time < timedelta(minutes=1)
    assert (released.holder, released.duration, released.transitions) == ("", 1, 3)


@virtual_time
async def test_labels_are_merged_and_everything_else_in_the_lease_stays() -> None:
    server = LeaseServer()
    foreign = LeaseRecord().new_lease(NAME, NAMESPACE, {"team": "web"}).copy()
    foreign.metadata.annotations = {"note": "ours"}
    server.api.create(foreign)
    await elector_of(server.client(), labels={"app": "shop"}).run(nothing)

    metadata = server.lease().metadata
    assert dict(metadata.labels) == {"team": "web", "app": "shop"}
    assert dict(metadata.annotations) == {"note": "ours"}


@virtual_time
async def test_fraction_of_a_lease_duration_is_rounded_up_in_the_lease() -> None:
    server = LeaseServer()
    elector = elector_of(
        server.client(), lease_duration=1.5, renew_deadline=1.0, retry_period=0.2, release=False
    )
    async with elector:
        await elector.elected
        assert elector.leadership is not None
        assert elector.leadership.remaining == pytest.approx(1.5)

    assert server.record().duration == 2
