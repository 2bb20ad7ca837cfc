"""Leader election: of several processes, at most one works at a time."""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from kinform._checks import check_callable, check_plain
from kinform._runtime import Latch, Lifecycle
from kinform.controllers.election._arguments import (
    check_identity,
    check_labels,
    checked_client,
    checked_namespace,
)
from kinform.controllers.election._clock import boot_time
from kinform.controllers.election._leadership import Leadership
from kinform.controllers.election._lease_lock import LeaseClient, LeaseLock, LeaseTakenError
from kinform.controllers.election._status import ElectionState, ElectionStatus
from kinform.controllers.election._term import LeaderWork, Term
from kinform.controllers.election._timing import ElectionTiming
from kinform.errors import AlreadyStartedError, LeadershipLostError
from kinform.metrics import NO_METRICS, Metrics, guarded

logger = logging.getLogger("kinform.election")


class LeaderElector:
    """Campaigns for a Lease, and runs work only while this process has it.

        elector = LeaderElector(client, "web-controller")
        await elector.run(work)      # async def work(leadership): ...

    Candidates in Go (client-go) and in Python can share a Lease. It can be run again after it has
    ended. ``async with elector:`` campaigns in the background instead; ``await elector.elected``
    waits for the leadership, and ``elector.leadership`` is the current one.

    Safety depends on local clocks that run equally fast, not on equal times: a leader stops its
    work ``renew_deadline`` after the last renewal, and its leadership is not valid any more
    ``lease_duration`` after it, while other candidates wait at least ``lease_duration`` after they
    have seen it.

    Args:
        client: The client; its reads must not come from a cache. For ``cache.client()``, the live
            client behind it is used.
        name: The name of the Lease.
        namespace: The namespace of the Lease; defaults to that of the client.
        identity: The name of this candidate, unique among all; defaults to the host name and a
            random part.
        lease_duration: Seconds that others wait after the last renewal of a leader. The Lease has
            whole seconds, so this is rounded up there.
        renew_deadline: Seconds without a renewal after which a leader stops its work.
        retry_period: Seconds between renewals. Candidates wait 1 to 2.2 times as long.
        release: Whether to give the lease up after the work has stopped, so that the next leader
            need not wait until it runs out.
        labels: Labels of the Lease.
        on_new_leader: Called with the identity of each new leader, on the event loop.
        metrics: Receives ``leader_status`` and ``leader_slow_path``.
        clock: Returns the local time in seconds, for tests in virtual time.

    Raises:
        ConfigError: An argument is invalid.
        InvalidNameError: A name is invalid.

    Attributes:
        name: The name of the Lease.
        namespace: The namespace of the Lease.
        identity: The name of this candidate.
    """

    def __init__(
        self,
        client: LeaseClient,
        name: str,
        *,
        namespace: str | None = None,
        identity: str | None = None,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        release: bool = True,
        labels: Mapping[str, str] | None = None,
        on_new_leader: Callable[[str], object] | None = None,
        metrics: Metrics = NO_METRICS,
        clock: Callable[[], float] = boot_time,
    ) -> None:
        live = checked_client(client)
        self.name = name
        self.namespace = checked_namespace(live, name, namespace)
        self.identity = f"{socket.gethostname()}_{uuid.uuid4()}" if identity is None else identity
        check_identity(self.identity)
        self._timing = ElectionTiming(
            lease_duration=lease_duration, renew_deadline=renew_deadline, retry_period=retry_period
        )
        self._timing.check()
        check_plain("on_new_leader", on_new_leader)
        check_callable("clock", clock)
        self._release = release
        self._on_new_leader = on_new_leader
        self._metrics = guarded(metrics, name)
        self._clock = clock
        self._lock = LeaseLock(
            live,
            name,
            self.namespace,
            self.identity,
            timing=self._timing,
            labels=check_labels(labels),
            clock=clock,
            on_observed=self._report_leader,
            on_slow_path=lambda: self._metrics.leader_slow_path(name),
        )
        self._title = f"election {self.namespace}/{name}"
        self._lifecycle = Lifecycle(
            self._title, self._run, prepare=self._prepare, conclude=self._conclude
        )
        self._work: LeaderWork = _hold
        self._again = True
        self._failure: BaseException | None = None
        self._term: Term | None = None
        self._elected = self._new_latch()
        self._reported_leader = ""
        self._elections = 0
        self._losses = 0
        self._last_error = ""

    # -- the state ---------------------------------------------------------------------------

    @property
    def leadership(self) -> Leadership | None:
        """The current term of this process; ``None`` if it is not the leader."""
        term = self._term
        return None if term is None else term.leadership

    @property
    def is_leader(self) -> bool:
        """Whether this process is the leader, judged by the local clock."""
        leadership = self.leadership
        return leadership is not None and leadership.is_valid

    @property
    def leader(self) -> str:
        """The identity of the leader, as last observed; empty if there is none."""
        return self._lock.holder

    @property
    def elected(self) -> Latch:
        """Set when this process becomes the leader. After a loss, this is another latch."""
        return self._elected

    @property
    def is_running(self) -> bool:
        return self._lifecycle.is_running

    @property
    def stopped(self) -> Latch:
        """Set when the run has ended: the work has stopped, and the lease was released."""
        return self._lifecycle.stopped

    def status(self) -> ElectionStatus:
        """Return what is known about the election. Callable from any thread."""
        leadership = self.leadership
        return ElectionStatus(
            name=self.name,
            namespace=self.namespace,
            identity=self.identity,
            state=self._state(),
            leader=self.leader,
            token=None if leadership is None else leadership.token,
            remaining=0.0 if leadership is None else leadership.remaining,
            elections=self._elections,
            losses=self._losses,
            last_error=self._last_error,
        )

    def problems(self) -> tuple[str, ...]:
        """Return why the process should be restarted; empty if it is healthy. Any thread.

        A candidate is healthy. A leader is not if its work goes on although the lease has run out:
        it ignores its cancellation, or it blocks the event loop.
        """
        leadership = self.leadership
        late = None if leadership is None else leadership.overdue
        if late is None or late <= self._timing.retry_period:
            return ()
        return (f"{self._title}: the work goes on {late:.1f} s after its lease ended",)

    # -- lifecycle ---------------------------------------------------------------------------

    async def run(self, work: LeaderWork, *, again: bool = True) -> None:
        """Campaign, and run the work while this process is the leader.

        If the leadership is lost, the work is cancelled, and the next campaign starts after it has
        stopped. If the work returns, the lease is released and the call returns. Cancelling the
        call stops the work, then releases the lease.

        Args:
            work: An async function, called with the ``Leadership`` of each term.
            again: Whether to campaign again after the leadership is lost.

        Raises:
            AlreadyStartedError: It is running.
            LeadershipLostError: The leadership was lost, and ``again`` is false.
            ConfigError: ``work`` is not an async function.
        """
        check_callable("work", work)
        self._check_not_running()
        self._work, self._again = work, again
        try:
            await self._lifecycle.run()
        finally:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Campaign in the background, again after each loss. May be called after a stop.

        Args:
            loop: The event loop to run on; defaults to the running one.

        Raises:
            AlreadyStartedError: It is running.
            StateError: There is no event loop to run on.
        """
        self._check_not_running()
        self._work, self._again = _hold, True
        self._lifecycle.start(loop)

    def stop(self) -> None:
        """Request a stop, from any thread: of the work, then of the leadership."""
        self._lifecycle.stop()

    async def close(self) -> None:
        """Stop, and return when the work has stopped and the lease is released. Idempotent."""
        self.stop()
        if self.is_running:
            await self.stopped

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<LeaderElector {self.identity} of {self.namespace}/{self.name}, {self._state()}>"

    def _check_not_running(self) -> None:
        if self.is_running:
            raise AlreadyStartedError(f"{self._title} is already running")

    def _prepare(self) -> None:
        self._failure = None
        if self._lifecycle.was_started:
            self._renew_latch()

    def _conclude(self) -> None:
        self._elected.give_up(f"{self._title} has stopped before {self.identity} was elected")

    def _renew_latch(self) -> None:
        self._elected = self._new_latch()

    def _new_latch(self) -> Latch:
        return Latch(f"{self.identity} is the leader of {self.namespace}/{self.name}")

    def _state(self) -> ElectionState:
        term = self._term
        if term is not None:
            return "stopping" if term.is_stopping else "leader"
        return "candidate" if self.is_running else "stopped"

    # -- the election ------------------------------------------------------------------------

    async def _run(self) -> None:
        self._metrics.leader_status(self.name, False)
        try:
            while True:
                leadership, sent = await self._campaign()
                if not await self._lead(leadership, sent):
                    return
        except asyncio.CancelledError:
            raise
        except BaseException as failure:  # of the work; raised by run()
            self._failure = failure

    async def _campaign(self) -> tuple[Leadership, float]:
        """Attempt to become the leader until it succeeds."""
        logger.info("%s: %s is a candidate", self._title, self.identity)
        try:
            while True:
                sent = await self._attempt_to_acquire()
                # The process may have been suspended since the write.
                if sent is not None and self._clock() < sent + self._timing.renew_deadline:
                    valid_until = sent + self._timing.lease_duration
                    token = self._lock.transitions
                    return self._new_leadership(token, valid_until), sent
                await asyncio.sleep(self._timing.candidate_delay(self._lock.expires_in))
        except asyncio.CancelledError:
            if self._lock.may_be_held:
                await self._give_up_lease()
            raise

    async def _attempt_to_acquire(self) -> float | None:
        try:
            async with asyncio.timeout(self._timing.attempt_timeout):
                sent = await self._lock.try_acquire()
        except Exception as error:
            self._note_failure("cannot acquire the lease", error)
            return None
        self._note_success()
        return sent

    def _new_leadership(self, token: int, valid_until: float) -> Leadership:
        return Leadership(
            self.identity,
            token,
            lease=f"{self.namespace}/{self.name}",
            valid_until=valid_until,
            clock=self._clock,
        )

    async def _lead(self, leadership: Leadership, sent: float) -> bool:
        """Run the work for one term; return whether to campaign again."""
        term = Term(
            self._title,
            leadership,
            self._work,
            lambda: self._keep_renewing(leadership, sent),
            on_stopping=self._renew_latch,
            reminder_interval=self._timing.lease_duration,
        )
        self._term = term
        self._elections += 1
        logger.info("%s: %s is the leader, token %s", self._title, self.identity, leadership.token)
        self._metrics.leader_status(self.name, True)
        self._elected.set()
        try:
            await term.run()
        finally:
            leadership._end()
            self._term = None
            self._metrics.leader_status(self.name, False)
            if term.lost_because:
                self._losses += 1
            elif self._release:
                await self._give_up_lease()
        if term.lost_because and not self._again:
            raise LeadershipLostError(
                f"{self._title}: {self.identity} lost the leadership: {term.lost_because}"
            )
        return bool(term.lost_because)

    async def _keep_renewing(self, leadership: Leadership, sent: float) -> str:
        """Renew the lease until it is lost; return why."""
        timing = self._timing
        attempted = renewed = sent
        while True:
            deadline = renewed + timing.renew_deadline
            pause = min(attempted + timing.retry_period, deadline) - self._clock()
            await asyncio.sleep(max(0.0, pause))
            attempted = self._clock()
            if attempted >= deadline:
                return (
                    f"no renewal for {attempted - renewed:.1f} s: "
                    f"{self._last_error or 'the process or its event loop was blocked'}"
                )
            try:
                async with asyncio.timeout(min(timing.attempt_timeout, deadline - attempted)):
                    renewed = await self._lock.renew()
            except LeaseTakenError as error:
                leadership._end()
                return f"{error}"
            except Exception as error:
                self._note_failure("cannot renew the lease", error)
            else:
                self._note_success()
                leadership._extend(renewed + timing.lease_duration)

    async def _give_up_lease(self) -> None:
        try:
            async with asyncio.timeout(self._timing.attempt_timeout):
                if await self._lock.release():
                    logger.info("%s: %s released the lease", self._title, self.identity)
        except Exception as error:
            logger.warning(
                "%s: cannot release the lease, which will run out: %s",
                self._title,
                _describe(error, self._timing),
            )

    def _note_failure(self, what: str, error: Exception) -> None:
        level = logging.DEBUG if self._last_error else logging.WARNING
        self._last_error = _describe(error, self._timing)
        logger.log(level, "%s: %s %s: %s", self._title, self.identity, what, self._last_error)

    def _note_success(self) -> None:
        if self._last_error:
            logger.info("%s: requests of %s succeed again", self._title, self.identity)
        self._last_error = ""

    def _report_leader(self) -> None:
        leader = self._lock.holder
        if leader == self._reported_leader:
            return
        self._reported_leader = leader
        if not leader:
            return
        logger.info("%s: the leader is %s", self._title, leader)
        if self._on_new_leader is not None:
            try:
                self._on_new_leader(leader)
            except Exception:  # user code
                logger.exception("%s: on_new_leader failed", self._title)


async def _hold(leadership: Leadership) -> None:
    """The work of an elector in the background: keep the leadership."""
    await leadership.lost


def _describe(error: Exception, timing: ElectionTiming) -> str:
    if isinstance(error, TimeoutError):
        return f"no response within {timing.attempt_timeout:g} s"
    return str(error) or type(error).__name__
