"""The requests that acquire, renew and release a Lease, and what is known about it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from kinform.client import Reader, Writer
from kinform.controllers.election._lease_record import LeaseRecord
from kinform.controllers.election._timing import ElectionTiming
from kinform.errors import ApiError, ConflictError, NotFoundError
from kinform.models.coordination.v1 import Lease

logger = logging.getLogger("kinform.election")

# Between two attempts to release a lease that somebody else has just changed.
_CONFLICT_DELAY = 0.01
# Writes that may still be carried out after their requests have timed out.
_REMEMBERED_TERMS = 64


class LeaseClient(Reader, Writer, Protocol):
    """What an elector needs of a client: reads and writes that bypass every cache."""


class LeaseTakenError(Exception):
    """The lease belongs to another process, or to none."""


class LeaseLock:
    """One Lease, as a lock. All changes depend on the version that was last read or written.

    Only the local clock decides: a lease runs out when its record has not changed for its duration
    since it was first seen, whatever times the record has.

    Args:
        client: Sends the requests.
        name: The name of the Lease.
        namespace: The namespace of the Lease.
        identity: The identity of this candidate.
        timing: The durations of the election.
        labels: Labels of the Lease.
        clock: Returns the local time.
        on_observed: Called after each response, when the holder may have changed.
        on_slow_path: Called when a renewal had to read the Lease first.
    """

    def __init__(
        self,
        client: LeaseClient,
        name: str,
        namespace: str,
        identity: str,
        *,
        timing: ElectionTiming,
        labels: Mapping[str, str],
        clock: Callable[[], float],
        on_observed: Callable[[], None],
        on_slow_path: Callable[[], None],
    ) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace
        self._identity = identity
        self._timing = timing
        self._labels = labels
        self._clock = clock
        self._on_observed = on_observed
        self._on_slow_path = on_slow_path
        self._lease: Lease | None = None
        self._record = LeaseRecord()
        self._observed_at = 0.0
        self._highest_transitions = -1
        # The terms that this process started, or may have: a write without a response may have
        # been carried out. The identity alone proves nothing, since two processes may share it.
        self._own_terms: deque[datetime | None] = deque(maxlen=_REMEMBERED_TERMS)
        self._write_in_doubt = False

    @property
    def holder(self) -> str:
        """The identity of the leader, as last observed; empty if there is none."""
        return self._record.holder

    @property
    def transitions(self) -> int:
        """The ``leaseTransitions`` that were last observed."""
        return self._record.transitions

    @property
    def may_be_held(self) -> bool:
        """Whether this process has the lease, or a write without a response may have got it."""
        return self._write_in_doubt or self._is_own

    @property
    def expires_in(self) -> float | None:
        """Seconds until the lease of another process runs out; ``None`` if there is no such."""
        if not self.holder or self._is_own:
            return None
        seconds = self._record.duration
        duration = self._timing.lease_duration if seconds is None else seconds
        return self._observed_at + duration - self._clock()

    async def try_acquire(self) -> float | None:
        """Take the lease if it is free, has run out, or is left from an earlier term.

        Returns:
            The time when the successful write was sent; ``None`` if another process has the lease.

        Raises:
            KinformError: A request failed; among others if another candidate was faster.
        """
        try:
            lease = await self._get()
        except NotFoundError:
            # Somebody deleted the Lease of a leader, who may not have noticed yet.
            return None if self._is_held_by_another else await self._store(self._new_term(), None)
        self._observe(lease)
        if self._is_held_by_another:
            return None
        return await self._store(self._new_term(), lease)

    async def renew(self) -> float:
        """Renew the lease that this process has, with one request if nobody else changed it.

        Returns:
            The time when the successful write was sent.

        Raises:
            LeaseTakenError: The lease belongs to another process, or was taken from this one.
            KinformError: A request failed.
        """
        term = self._record
        if self._lease is not None:
            try:
                return await self._store(term.renewed(), self._lease)
            except ApiError as error:
                logger.debug("the lease %s could not be renewed directly: %s", self._name, error)
        self._on_slow_path()
        try:
            lease = await self._get()
        except NotFoundError:
            # Deleted: continue the term in a new Lease, unless a candidate is faster.
            self._lease = None
            return await self._store(term.renewed(), None)
        self._observe(lease)
        if not self._is_own:
            raise LeaseTakenError(
                f"{self.holder} has it" if self.holder else "somebody removed its holder"
            )
        return await self._store(term.renewed(), lease)

    async def release(self) -> bool:
        """Give the lease up, so that others need not wait for its end.

        Returns:
            Whether this process had the lease.

        Raises:
            KinformError: A request failed.
        """
        delay = _CONFLICT_DELAY
        while True:
            try:
                lease = await self._get()
            except NotFoundError:
                return False
            self._observe(lease)
            if not self._is_own:
                return False
            try:
                await self._store(self._record.released(), lease)
            except ConflictError:
                await asyncio.sleep(delay)
                delay *= 2
            else:
                return True

    @property
    def _is_own(self) -> bool:
        record = self._record
        return record.holder == self._identity and record.acquire_time in self._own_terms

    @property
    def _is_held_by_another(self) -> bool:
        expires_in = self.expires_in
        return expires_in is not None and expires_in > 0

    def _new_term(self) -> LeaseRecord:
        record = LeaseRecord.acquired(
            self._identity,
            seconds=self._timing.recorded_seconds,
            transitions=self._highest_transitions + 1,
        )
        self._own_terms.append(record.acquire_time)
        return record

    async def _get(self) -> Lease:
        return await self._client.get(Lease, self._name, namespace=self._namespace)

    async def _store(self, record: LeaseRecord, lease: Lease | None) -> float:
        """Create the Lease, or update the one that was read; return when it was sent."""
        sent = self._clock()
        self._write_in_doubt = True
        try:
            if lease is None:
                new = record.new_lease(self._name, self._namespace, self._labels)
                stored = await self._client.create(new)
            else:
                stored = await self._client.update(record.written_to(lease, self._labels))
        except ApiError as error:
            self._write_in_doubt = error.code >= 500
            raise
        self._observe(stored)
        return sent

    def _observe(self, lease: Lease) -> None:
        record = LeaseRecord.of(lease)
        self._lease = lease
        self._write_in_doubt = False
        if record != self._record or self._highest_transitions < 0:
            self._record = record
            # After the response, so later than the write of its holder: never too early.
            self._observed_at = self._clock()
            self._highest_transitions = max(self._highest_transitions, record.transitions)
        self._on_observed()
