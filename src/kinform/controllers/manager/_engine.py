"""The run of a manager: the order in which everything starts and stops."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from kinform._runtime import Latch, Lifecycle, running_loop
from kinform.controllers.manager._clusters import ClusterSet
from kinform.controllers.manager._component import Component
from kinform.controllers.manager._grace_period import GracePeriod
from kinform.controllers.manager._group import ComponentGroup, start_task
from kinform.controllers.manager._http_server import HttpServer
from kinform.controllers.manager._protocols import ManagedElector, ManagedRecorder
from kinform.controllers.manager._shutdown import stop_components
from kinform.controllers.manager._status import ManagerState
from kinform.controllers.manager._supervisor import Supervisor, describe
from kinform.errors import AlreadyStoppedError, ConfigError, ShutdownTimeoutError, StateError

logger = logging.getLogger("kinform.manager")


class Engine:
    """Starts and stops what a manager owns, once.

    The order of the start: server, caches, warm-up of all controllers, components without
    leadership, election, leader-only components. The order of the stop: controllers finish their
    current keys, everything else is cancelled, caches, server, the lease, events.

    Args:
        name: The name of the manager.
        clusters: The clusters with their caches.
        server: The HTTP server.
        election: The elector; without one, this is the leader.
        exit_on_lost_lease: Whether a lost lease stops the manager.
        recorder: The recorder of events.
        grace: Seconds for the whole shutdown.
        sync_timeout: Seconds that caches may take.

    Attributes:
        state: What it does now.
        failure: The error that stopped it.
        ready: Set when caches have synced and controllers are warm.
        elected: Set when leader-only components were first started.
    """

    def __init__(
        self,
        name: str,
        *,
        clusters: ClusterSet,
        server: HttpServer | None,
        election: ManagedElector | None,
        exit_on_lost_lease: bool,
        recorder: ManagedRecorder,
        grace: float | None,
        sync_timeout: float | None,
    ) -> None:
        self.name = name
        self.lifecycle = Lifecycle(
            name, self._run, prepare=self._require_first_start, conclude=self._conclude
        )
        self.state: ManagerState = "new"
        self.failure: Exception | None = None
        self.ready = Latch(f"{name} is ready")
        self.elected = Latch(f"{name} was elected")
        self._clusters = clusters
        self._server = server
        self._election = election
        self._exits = exit_on_lost_lease
        self._recorder = recorder
        self._grace = grace
        self._sync_timeout = sync_timeout
        self._members: dict[str, Supervisor] = {}
        self._always = ComponentGroup(self._member_failed)
        self._leaders = ComponentGroup(self._member_failed)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending = asyncio.Event()
        self._may_release = asyncio.Event()
        self._campaign: asyncio.Task[None] | None = None
        self._brings_up = False
        self._owns_recorder = False
        self._has_seen_stop = False

    # -- components --------------------------------------------------------------------------

    @property
    def members(self) -> tuple[Supervisor, ...]:
        return tuple(self._members.values())

    @property
    def is_leader(self) -> bool:
        return self._leaders.is_open

    @property
    def leadership(self) -> Any:
        return self._leaders.leadership

    def _is_stopping(self) -> bool:
        return self.state in ("stopping", "stopped")

    def add(self, component: Component) -> None:
        """Add a component, and start it if the manager runs."""
        self.require_open("add a component to it")
        if component.name in self._members:
            raise ConfigError(
                f"{self.name} has a component {component.name!r} already; choose another name"
            )
        member = self._members[component.name] = Supervisor(component)
        if self._brings_up:
            self._bring_up(member)

    async def remove(self, *members: Supervisor) -> None:
        """Stop components, and forget them."""
        for member in members:
            self._members.pop(member.name, None)
            member.tried.set()  # the start does not wait for it
        grace = GracePeriod(self._grace)
        await stop_components(members, grace)
        for member in members:
            self._always.remove(member)
            self._leaders.remove(member)
        self.raise_if_late(grace)
        if grace.was_interrupted:
            raise asyncio.CancelledError

    def find(self, name: str) -> Supervisor:
        found = self._members.get(name)
        if found is None:
            known = ", ".join(self._members) or "none"
            raise ConfigError(f"{self.name} has no component {name!r}; added: {known}")
        return found

    def require_open(self, action: str) -> None:
        """Require that the manager has not begun to stop, and that this is its loop.

        Raises:
            AlreadyStoppedError: It has.
            StateError: This is another thread.
        """
        if self._is_stopping():
            raise AlreadyStoppedError(f"{self.name} is {self.state}; you cannot {action}")
        if self._loop is not None and running_loop() is not self._loop:
            raise StateError(
                f"{self.name} runs on another thread; {action} there, "
                "with loop.call_soon_threadsafe"
            )

    # -- start -------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.state = "starting"
        logger.info("%s starts with %d components", self.name, len(self._members))
        start = asyncio.create_task(self._start(), name=f"start of {self.name}")
        try:
            await self._ending.wait()
        except asyncio.CancelledError:
            self._has_seen_stop = True
        await self._stop(start)

    async def _start(self) -> None:
        try:
            await self._start_in_order()
        except Exception as error:
            self._fail(error, "the start")

    async def _start_in_order(self) -> None:
        if not self._recorder.is_running:
            self._recorder.start()
            self._owns_recorder = True
        # First, so that probes are answered, with reasons, while caches fill.
        if self._server is not None:
            await self._server.start()
        self._clusters.start()
        await self._clusters.wait_until_synced(self._sync_timeout)
        self._brings_up = True
        self._always.open()
        if self._election is None:
            self._leaders.open()
        for member in self.members:
            self._bring_up(member)
        for member in self.members:
            await member.tried
        if any(each.state == "failed" for each in self.members):
            return
        self.state = "running"
        self.ready.set()
        logger.info("%s is ready", self.name)
        if self._election is None:
            self.elected.set()
            return
        # Only now: a replica that is not warm must not take the lease from one that is.
        self._campaign = asyncio.create_task(
            self._elect(self._election), name=f"election of {self.name}"
        )

    def _bring_up(self, member: Supervisor) -> None:
        async def warm_up() -> None:
            await member.warm_up()
            group = self._leaders if member.component.needs_leader else self._always
            group.admit(member)

        start_task(member, warm_up(), self._member_failed)

    # -- leadership --------------------------------------------------------------------------

    async def _elect(self, election: ManagedElector) -> None:
        try:
            await election.run(self._lead, again=not self._exits)
        except Exception as error:
            self._fail(error, "the election")

    async def _lead(self, leadership: Any) -> None:
        if self._is_stopping():
            return
        logger.info("%s is the leader", self.name)
        self._leaders.open(leadership)
        self.elected.set()
        try:
            await self._may_release.wait()
        finally:
            if not self._is_stopping():
                logger.warning("%s is not the leader any more", self.name)
            elif self._campaign is not None and not self._may_release.is_set():
                self._campaign.cancel()  # the lease was lost while stopping: no more campaigns
            # Cancelled if the lease is lost. The elector waits for this, so that never two work.
            await self._leaders.cancel()

    # -- failures ----------------------------------------------------------------------------

    def _member_failed(self, member: Supervisor, error: Exception) -> None:
        member.last_error, member.state = error, "failed"
        self._fail(error, member.name)

    def _fail(self, error: Exception, origin: str) -> None:
        if self.failure is not None or self._is_stopping():
            logger.error("%s: %s failed while stopping: %s", self.name, origin, describe(error))
            return
        self.failure = error
        logger.error(
            "%s stops because %s failed: %s", self.name, origin, describe(error), exc_info=error
        )
        self._ending.set()

    # -- stop --------------------------------------------------------------------------------

    async def _stop(self, start: asyncio.Task[None]) -> None:
        was_leader = self._election is not None and self._leaders.is_open
        self.state = "stopping"
        logger.info("%s stops", self.name)
        grace = GracePeriod(self._grace, self._is_expected_cancellation)
        start.cancel()
        if self._campaign is not None and not was_leader:
            self._campaign.cancel()  # a standby that stops must not become the leader
        self._always.shut()
        self._leaders.shut()
        await grace.let_end([start])
        await stop_components(self.members, grace)
        await self._clusters.stop(grace)
        if self._server is not None:
            await grace.clean_up({"HTTP server": self._server.stop()})
        self._may_release.set()
        if self._campaign is not None and not await grace.let_end([self._campaign]):
            grace.late["election"] = "holds the lease, because leader-only work has not ended"
        if self._owns_recorder:
            self._recorder.stop()
            await grace.clean_up({"event recorder": _wait_for(self._recorder.stopped)})
        self._note_late(grace)

    def _is_expected_cancellation(self) -> bool:
        """Whether a cancellation is the first call of ``stop``, during a stop after a failure."""
        is_expected = self.lifecycle.is_stopping and not self._has_seen_stop
        self._has_seen_stop = True
        return is_expected

    def _note_late(self, grace: GracePeriod) -> None:
        try:
            self.raise_if_late(grace)
        except ShutdownTimeoutError as error:
            logger.error("%s", error)
            if self.failure is None:
                self.failure = error
            else:
                self.failure.add_note(str(error))

    def raise_if_late(self, grace: GracePeriod) -> None:
        """Raise if something did not stop in time.

        Raises:
            ShutdownTimeoutError: Names it.
        """
        if not grace.late:
            return
        late = "; ".join(f"{name} {what}" for name, what in grace.late.items())
        limit = f"within {grace.grace:g} s" if grace.grace else "in time"
        raise ShutdownTimeoutError(f"{self.name} did not stop {limit}: {late}")

    def _require_first_start(self) -> None:
        if self.lifecycle.was_started:
            raise StateError(f"{self.name} was started before; create another manager")

    def _conclude(self) -> None:
        self.state = "stopped"
        why = f": {describe(self.failure)}" if self.failure is not None else ""
        self.ready.give_up(f"{self.name} stopped before it was ready{why}")
        self._clusters.started.give_up(f"{self.name} stopped before informers were started{why}")
        self.elected.give_up(f"{self.name} stopped before it was elected{why}")


async def _wait_for(latch: Latch) -> None:
    await latch
