"""The record of an election, as client-go keeps it in the spec of a Lease."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from kinform.models.coordination.v1 import Lease, LeaseSpec
from kinform.models.meta.v1 import ObjectMeta

# In a released lease: the least that the server accepts.
_RELEASED_SECONDS = 1


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The holder of a Lease, and its times, in the fields that electors in Go use, too.

    The times come from the clock of the writer. They are for people, and never compared with a
    local clock; two records of one term have the same ``acquire_time``.

    Attributes:
        holder: The identity of the leader; empty if the lease was released.
        duration: Seconds that the lease is valid after a renewal; ``None`` if the record has none.
        acquire_time: When the holder became the leader.
        renew_time: When the holder renewed the lease.
        transitions: How often the lease has changed hands.
    """

    holder: str = ""
    duration: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    transitions: int = 0

    @classmethod
    def of(cls, lease: Lease) -> LeaseRecord:
        """Read the record of a Lease; fields that it lacks are empty."""
        spec = lease.spec
        return cls(
            holder=spec.holder_identity or "",
            duration=spec.lease_duration_seconds,
            acquire_time=spec.acquire_time,
            renew_time=spec.renew_time,
            transitions=spec.lease_transitions or 0,
        )

    @classmethod
    def acquired(cls, holder: str, *, seconds: int, transitions: int) -> LeaseRecord:
        """Return the record of a new leader."""
        now = datetime.now(UTC)
        return cls(
            holder=holder,
            duration=seconds,
            acquire_time=now,
            renew_time=now,
            transitions=transitions,
        )

    def renewed(self) -> LeaseRecord:
        """Return the record after a renewal."""
        return msgspec.structs.replace(self, renew_time=datetime.now(UTC))

    def released(self) -> LeaseRecord:
        """Return the record without a holder, which the next candidate may take at once."""
        now = datetime.now(UTC)
        return LeaseRecord(
            duration=_RELEASED_SECONDS,
            acquire_time=now,
            renew_time=now,
            transitions=self.transitions,
        )

    def new_lease(self, name: str, namespace: str, labels: Mapping[str, str]) -> Lease:
        """Return a Lease with this record, to be created."""
        metadata = ObjectMeta(name=name, namespace=namespace, labels=dict(labels))
        return Lease(metadata=metadata, spec=self._write(LeaseSpec()))

    def written_to(self, lease: Lease, labels: Mapping[str, str]) -> Lease:
        """Return a copy of a Lease with this record; everything else in it stays."""
        copy = lease.copy()
        self._write(copy.spec)
        if labels:
            copy.metadata.labels = {**copy.metadata.labels, **labels}
        return copy

    def _write(self, spec: LeaseSpec) -> LeaseSpec:
        spec.holder_identity = self.holder or None
        spec.lease_duration_seconds = self.duration
        spec.acquire_time = self.acquire_time
        spec.renew_time = self.renew_time
        spec.lease_transitions = self.transitions
        return spec
