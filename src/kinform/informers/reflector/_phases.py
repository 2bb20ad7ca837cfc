"""The phases of a reflector as data: each carries what it needs, and what its attempt achieved."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from kinform.errors import KinformError
from kinform.informers.reflector._open_watch import OpenWatch
from kinform.informers.reflector._paged_list import PagedList
from kinform.informers.reflector._state import Phase
from kinform.informers.reflector._verdicts import Verdict, is_lost_connection


class ListPlan(msgspec.Struct, frozen=True):
    """What the next list is for. It lasts from the decision to list until a list is complete.

    Attributes:
        newest: Request the newest state, because the known version is unusable.
        went_back: The server's versions went back, or seem so: the list may be older than the
            store, and the same version of an object may be another state.
        reason: The reason for a relist; empty for the first list.
    """

    newest: bool = False
    went_back: bool = False
    reason: str = ""

    def after(self, verdict: Verdict) -> ListPlan:
        return ListPlan(
            newest=self.newest or verdict.forget_version,
            went_back=self.went_back or verdict.went_back,
            reason=verdict.reason or self.reason,
        )


class PhaseState(msgspec.Struct, eq=False, kw_only=True):
    """One pass through a phase.

    Attributes:
        progressed: Whether this attempt received something new; see ``Facts``.
        watch: The open watch. If the phase does not pass it on, it is closed after the phase.
    """

    phase: ClassVar[Phase]
    progressed: bool = False
    watch: OpenWatch | None = None

    @property
    def is_resumable(self) -> bool:
        """Whether the same attempt can continue after a lost connection."""
        return False

    @property
    def is_unconfirmed(self) -> bool:
        """Whether it is unknown if the server continues from the version of the target."""
        return False

    def is_versioned(self, known_version: str) -> bool:
        """Whether the attempt requested a version, so that it can be retried without one."""
        return bool(known_version)

    def after(self, verdict: Verdict, error: KinformError) -> PhaseState:
        """Return the phase that follows a failure in this one."""
        plan = self.plan_of_list().after(verdict)
        if verdict.next is Phase.NEW:
            return StartPhase(plan=plan)
        if verdict.next is Phase.STREAMING:
            return StreamPhase(plan=plan)
        if verdict.next is Phase.LISTING:
            pages = self.received_pages() if is_lost_connection(error) else None
            return ListPhase(plan=plan, pages=pages)
        if verdict.next is Phase.POLLING:
            return PollPhase()
        return self.watch_again()

    def plan_of_list(self) -> ListPlan:
        return ListPlan()

    def received_pages(self) -> PagedList[Any] | None:
        return None

    def watch_again(self) -> WatchPhase:
        """Return a watch from the version that the target has reached."""
        return WatchPhase()


class _PlannedPhase(PhaseState, kw_only=True):
    """A phase on the way to a complete list."""

    plan: ListPlan = ListPlan()

    def is_versioned(self, known_version: str) -> bool:
        return bool(known_version) and not self.plan.newest

    def plan_of_list(self) -> ListPlan:
        return self.plan


class StartPhase(_PlannedPhase, kw_only=True):
    """A complete list is needed; ``Reflector`` chooses a stream or pages."""

    phase = Phase.NEW


class StreamPhase(_PlannedPhase, kw_only=True):
    """Receives a list as the initial events of a watch."""

    phase = Phase.STREAMING


class ListPhase(_PlannedPhase, kw_only=True):
    """Fetches a list in pages.

    Attributes:
        pages: The list in progress; ``None`` before its first request.
    """

    phase = Phase.LISTING
    pages: PagedList[Any] | None = None

    @property
    def is_resumable(self) -> bool:
        return self.pages is not None and self.pages.is_resumable

    def is_versioned(self, known_version: str) -> bool:
        return not self.plan.newest  # without a known version, it requests any ("0")

    def received_pages(self) -> PagedList[Any] | None:
        return self.pages


class WatchPhase(PhaseState, kw_only=True):
    """Applies the changes after the version that the target has reached.

    Attributes:
        follows_list: Whether nothing was missed since the last list, although it had no version.
        resume_from: The version of a target that was filled elsewhere, until it is known that the
            server continues from it; otherwise empty.
    """

    phase = Phase.WATCHING
    follows_list: bool = False
    resume_from: str = ""

    @property
    def is_unconfirmed(self) -> bool:
        return bool(self.resume_from)

    def watch_again(self) -> WatchPhase:
        return WatchPhase(follows_list=self.follows_list, resume_from=self.resume_from)


class PollPhase(PhaseState, kw_only=True):
    """Waits for the next list of a resource that cannot be watched."""

    phase = Phase.POLLING


class WaitPhase(PhaseState, kw_only=True):
    """Waits before the next attempt.

    Attributes:
        delay: Seconds to wait.
        until_reachable: Stop waiting when another reflector of the client reaches the server.
        then: The phase that follows.
    """

    phase = Phase.WAITING
    delay: float
    then: PhaseState
    until_reachable: bool = False
