"""Values in structs: times, amounts, bytes and the rest, from JSON and back to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from kinform.errors import DecodeError, EncodeError
from kinform.models.coordination.v1 import Lease, LeaseSpec
from kinform.models.core.v1 import (
    Container,
    ContainerPort,
    EmptyDirVolumeSource,
    Event,
    HTTPGetAction,
    PodPhase,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Secret,
    ServicePort,
    Volume,
)
from kinform.models.meta.v1 import ManagedFieldsEntry, ObjectMeta
from kinform.objects import Always, FieldsV1, Model, Quantity


class TestTimes:
    def test_they_are_aware_and_travel_in_utc(self) -> None:
        meta = ObjectMeta.from_dict({"creationTimestamp": "2026-01-02T03:04:05Z"})
        assert meta.creation_timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        east = timezone(timedelta(hours=2))
        meta.deletion_timestamp = datetime(2026, 1, 2, 3, 4, 5, tzinfo=east)
        assert meta.to_dict()["deletionTimestamp"] == "2026-01-02T01:04:05Z"

    def test_one_without_a_zone_is_refused_by_its_path(self) -> None:
        status = PodStatus.from_dict({"containerStatuses": [{"state": {"running": {}}}]})
        running = status.container_statuses[0].state.running
        assert running is not None
        running.started_at = datetime(2026, 1, 2)
        place = r"containerStatuses\[0\]\.state\.running\.startedAt: 2026.* has no time zone"
        with pytest.raises(EncodeError, match=f"^{place}"):
            status.to_dict()

    def test_a_micro_time_always_has_its_microseconds(self) -> None:
        lease = Lease(spec=LeaseSpec(renew_time=datetime(2026, 1, 2, tzinfo=UTC)))
        assert lease.to_dict()["spec"]["renewTime"] == "2026-01-02T00:00:00.000000Z"
        event = Event(event_time=datetime(2026, 1, 2, tzinfo=UTC))
        assert event.to_dict()["eventTime"] == "2026-01-02T00:00:00.000000Z"

    def test_the_first_year_has_four_digits(self) -> None:
        meta = ObjectMeta(creation_timestamp=datetime(1, 1, 1, tzinfo=UTC))
        assert meta.to_dict() == {"creationTimestamp": "0001-01-01T00:00:00Z"}

    @pytest.mark.parametrize(
        "written",
        [
            "2026-01-02T03:04:05.000000Z",
            "2026-01-02T03:04:05.123456789Z",
            "2026-01-02T05:04:05+02:00",
            "2026-01-02T03:04:05",
        ],
    )
    def test_one_that_nobody_changed_goes_as_it_came(self, written: str) -> None:
        metadata = {"name": "a", "creationTimestamp": written}
        event = Event.from_dict({"metadata": metadata, "lastTimestamp": written})
        assert event.to_dict()["metadata"] == metadata
        assert event.to_dict()["lastTimestamp"] == written
        event.last_timestamp = datetime(2026, 1, 2, tzinfo=UTC)
        assert event.to_dict()["lastTimestamp"] == "2026-01-02T00:00:00Z"

    def test_rubbish_is_named_by_its_path(self) -> None:
        with pytest.raises(DecodeError, match="ObjectMeta: creationTimestamp: invalid RFC3339"):
            ObjectMeta.from_dict({"creationTimestamp": "yesterday"})


class TestOtherValues:
    def test_amounts_are_quantities_however_they_were_written(self) -> None:
        limits: dict[str, Any] = {"cpu": "500m", "memory": 1024, "share": 0.5}
        read = ResourceRequirements.from_dict({"limits": limits})
        assert {name: type(each) for name, each in read.limits.items()} == dict.fromkeys(
            limits, Quantity
        )
        assert str(read.limits["memory"].decimal) == "1024"

    def test_numbers_or_names(self) -> None:
        assert ServicePort.from_dict({"targetPort": 80}).target_port == 80
        assert ServicePort.from_dict({"targetPort": "http"}).target_port == "http"
        assert HTTPGetAction(port="http").to_dict() == {"port": "http"}
        with pytest.raises(DecodeError, match=r"targetPort: expected int \| str, got array"):
            ServicePort.from_dict({"targetPort": []})

    def test_bytes_are_base64_on_the_wire(self) -> None:
        secret = Secret.from_dict({"data": {"a": "AP8=", "b": ""}})
        assert secret.data == {"a": b"\x00\xff", "b": b""}
        secret.data["c"] = b"new"
        assert secret.to_dict()["data"] == {"a": "AP8=", "b": "", "c": "bmV3"}
        with pytest.raises(DecodeError, match=r"data\[a\]: invalid base64"):
            Secret.from_dict({"data": {"fine": "", "a": "no"}})

    def test_owned_fields_stay_text_until_wanted(self) -> None:
        owned: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}}}}
        entry = ManagedFieldsEntry.from_dict({"manager": "me", "fieldsV1": owned})
        assert isinstance(entry.fields_v1, FieldsV1)
        assert msgspec.json.decode(entry.fields_v1) == owned
        assert entry.to_dict() == {"manager": "me", "fieldsV1": owned}
        assert ManagedFieldsEntry(manager="me").to_dict() == {"manager": "me"}

    def test_members_of_enums_are_text_and_so_are_unknown_values(self) -> None:
        status = PodStatus(phase=PodPhase.RUNNING)
        assert status.phase == "Running"
        written = status.to_dict()
        assert written == {"phase": "Running"}
        assert type(written["phase"]) is str
        assert PodStatus.from_dict({"phase": "FromTheFuture"}).phase == "FromTheFuture"

    def test_zero_is_absent_where_absent_is_zero_and_written_where_it_is_not(self) -> None:
        assert ContainerPort(container_port=0, name="").to_dict() == {}
        spec = PodSpec(termination_grace_period_seconds=0, automount_service_account_token=False)
        assert spec.to_dict() == {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
        }
        assert Volume(empty_dir=EmptyDirVolumeSource()).to_dict() == {"emptyDir": {}}


class TestStructs:
    def test_from_a_dict_and_back(self) -> None:
        tree = {"name": "main", "ports": [{"containerPort": 80}], "resources": {"limits": {}}}
        read = Container.from_dict(tree)
        assert read == Container(name="main", ports=[ContainerPort(container_port=80)])
        assert read.to_dict() == {"name": "main", "ports": [{"containerPort": 80}]}

    def test_nulls_read_as_absent_at_every_depth(self) -> None:
        tree = {"name": None, "ports": [{"name": None}], "resources": None, "env": None}
        assert Container.from_dict(tree) == Container(ports=[ContainerPort()])

    def test_a_copy_shares_nothing(self) -> None:
        original = Container(name="a", args=["x"], ports=[ContainerPort(container_port=80)])
        copied = original.copy()
        copied.args.append("y")
        copied.ports[0].container_port = 81
        assert original == Container(name="a", args=["x"], ports=[ContainerPort(container_port=80)])

    @pytest.mark.parametrize(
        ("tree", "complaint"),
        [
            ({"args": "x"}, r"^Container: args: expected array, got str"),
            ({"ports": [{}, {"containerPort": "80"}]}, r"ports\[1\]\.containerPort: expected int"),
            ({"resources": {"limits": {"a": "1", "b.c/d": []}}}, r"resources\.limits\[b\.c/d\]: "),
        ],
    )
    def test_a_value_of_another_type_is_named_by_its_path(
        self, tree: dict[str, Any], complaint: str
    ) -> None:
        with pytest.raises(DecodeError, match=complaint):
            Container.from_dict(tree)

    def test_one_with_a_default_of_its_own_writes_what_differs_from_absent(self) -> None:
        class Ratio(Model):
            needed: int
            share: int = 5

        assert Ratio(needed=0, share=0).to_dict() == {"needed": 0, "share": 0}
        assert Ratio.from_dict(Ratio(needed=0, share=0).to_dict()) == Ratio(needed=0, share=0)

    def test_one_that_contains_itself_is_refused(self) -> None:
        cycle: dict[str, Any] = {}
        cycle["again"] = cycle
        with pytest.raises(EncodeError, match="contains itself"):
            Container.from_dict({"name": cycle})


class Demanding(Model):
    replicas: Always[int] = 0
    items: Always[list[str]] = msgspec.field(default_factory=list)
    note: str = ""


class Demand(Model):
    spec: Demanding = msgspec.field(default_factory=Demanding)


def test_what_a_server_demands_is_written_even_if_it_is_empty() -> None:
    assert Demanding().to_dict() == {"replicas": 0, "items": []}
    assert Demand(spec=Demanding(replicas=2)).to_dict() == {"spec": {"replicas": 2, "items": []}}
