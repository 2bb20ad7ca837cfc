"""The reflector: lists and watches a source and keeps a store identical to the server."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from kinform._checks import check_plain, expect
from kinform.errors import ConfigError, KinformError, WatchError
from kinform.informers.queue import DeltaFIFO
from kinform.informers.reflector._admission import Admission
from kinform.informers.reflector._context import ReflectorContext
from kinform.informers.reflector._list_step import ListStep
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._phases import (
    ListPhase,
    ListPlan,
    PhaseState,
    StartPhase,
    StreamPhase,
    WaitPhase,
    WatchPhase,
)
from kinform.informers.reflector._quarantine import QuarantinedObject
from kinform.informers.reflector._recovery import Attempt, Recovery
from kinform.informers.reflector._server_contact import ServerContact
from kinform.informers.reflector._side_task import SideTask
from kinform.informers.reflector._state import Phase, ReflectorState, ReflectorStatus, WatchFailure
from kinform.informers.reflector._stream_step import StreamStep
from kinform.informers.reflector._target import (
    PlainStore,
    ReflectorTarget,
    TargetFailedError,
    target_for,
)
from kinform.informers.reflector._verdicts import Pause
from kinform.informers.reflector._watch_step import WatchStep
from kinform.informers.sources import Source
from kinform.metrics import NO_METRICS, Metrics, guarded
from kinform.objects import Handle

logger = logging.getLogger("kinform.reflector")

T = TypeVar("T", bound=Handle)


class Reflector(Generic[T]):
    """Keeps a store identical to the state on the server.

    ============ ============================================ ===================================
    in           when                                         then
    ============ ============================================ ===================================
    NEW          first, with ``resume_from``                  WATCHING from that version
    NEW          otherwise                                    STREAMING, or LISTING if the source
                                                              cannot stream or is known not to
    STREAMING    end bookmark received                        WATCHING, on the same stream
    STREAMING    not supported; silent; closed early twice    LISTING, remembered for an hour
    STREAMING    cut after objects were received              STREAMING; LISTING after 2
    STREAMING    403 (listing may be allowed)                 LISTING
    STREAMING    410 or version too large                     STREAMING the newest
    STREAMING    401, 404, 429, 503                           WAITING, STREAMING
    STREAMING    anything else                                WAITING, STREAMING; LISTING after 3
    LISTING      all pages received                           WATCHING (or POLLING after a 405)
    LISTING      410 or version too large                     LISTING the newest
    LISTING      a continue token expired                     LISTING, in one request
    LISTING      cut                                          LISTING the rest, in smaller pages
    LISTING      anything else                                WAITING, NEW
    WATCHING     the server ended it                          WATCHING from the last version
    WATCHING     connection lost after progress               WATCHING from the last version
    WATCHING     410; replayed events                         NEW (the newest, if no progress)
    WATCHING     either again without progress                WAITING, NEW
    WATCHING     closed at once                               WAITING, WATCHING; NEW after 3
    WATCHING     silence                                      WATCHING from the last version
    WATCHING     connection lost, 401, 403, 429, 503          WAITING, WATCHING
    WATCHING     500 three times, 504 too large twice         WAITING, NEW
    WATCHING     404; other refusals; the store failed        WAITING, NEW
    WATCHING     the server's versions went back              NEW, the newest
    any list     older than the store                         the same, the newest
    WATCHING     over, and the source has no versions         NEW
    WATCHING     405                                          POLLING
    WATCHING     403 or 405, before it is resumed             NEW
    POLLING      the interval is over                         LISTING
    any          cancelled                                    STOPPED
    ============ ============================================ ===================================

    ``_verdicts.judge`` implements this table. A connection that made progress counts as
    healthy, however it ended: the next one is opened within 20 ms. Backoff is exponential with
    jitter and grows only over attempts without progress: up to 1.5 s if the server did not
    respond, up to a minute after refusals, and never less than Retry-After.

    A reflector with ``resume_from`` counts as synced 0.1 s after the first watch was opened, if
    the server has not refused the version until then, or when a second watch continues after
    events of the first. Servers refuse an expired version at once, in the response or in the
    first event. ``staleness`` is ``None`` until the missed events have been received. A version
    that the server has not reached yet is not refused: such a watch is silent, and
    ``_version_regression`` checks the server's version.

    Args:
        source: The resource to list and watch.
        store: The store to fill: a ``Store``, a ``DeltaFIFO``, a ``ReflectorTarget``, or any object
            with the methods of ``PlainStore``.
        name: The name used in logs, errors and metrics.
        admission: Prepares objects for the store: transform, quarantine, and reuse of known bytes.
        resource_version: The version of a store that is already filled; no list may be older.
        resume_from: The version of the objects that the store already has, from a snapshot or
            another process. The first request is a watch from it instead of a list. If the server
            refuses the version, a list replaces the objects.
        resync_period: Seconds between calls of the store's ``resync``; 0 disables them.
        should_resync: Called before each resync; the resync is skipped if it returns false.
        on_watch_error: Called for every lost connection and every refusal.
        options: Settings such as page size and backoff.
        metrics: Receives metrics of lists, watches and failures.
    """

    def __init__(
        self,
        source: Source[T],
        store: ReflectorTarget[T] | DeltaFIFO[T] | PlainStore[T] | None = None,
        *,
        name: str = "",
        admission: Admission[T] | None = None,
        resource_version: str = "",
        resume_from: str = "",
        resync_period: float = 0.0,
        should_resync: Callable[[], bool] | None = None,
        on_watch_error: Callable[[WatchFailure], object] | None = None,
        options: ReflectorOptions | None = None,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        period: object = resync_period  # callers may be untyped
        if not isinstance(period, int | float) or not period >= 0:
            raise ConfigError(f"resync_period must be 0 (never) or more, not {resync_period!r}")
        expect(
            source,
            Source,
            receiver="Reflector",
            expected="a ListWatch",
            hint="create one with ListWatch.for_resource(client, ...) or ListWatch(list, watch)",
        )
        if store is None:
            raise ConfigError(
                "Reflector needs a store to fill: pass a Store(), a DeltaFIFO() or your own as the "
                "second argument"
            )
        if resume_from and resource_version:
            raise ConfigError("pass resume_from or resource_version, not both")
        if resume_from == "0":
            raise ConfigError(
                "resume_from must be the version of the objects in the store; "
                "'0' means any version, so the server would send all objects again"
            )
        self.name = name or source.name
        options = options or ReflectorOptions()
        metrics = guarded(metrics, name or source.metrics_name)
        target: ReflectorTarget[T] = target_for(store)
        self._target = target
        self._admission = admission or Admission(source.form, known=target.known_records())
        self._resync_period = resync_period
        self._should_resync = should_resync
        self._poll_interval = options.poll_interval
        self._resume_from = resume_from
        self._state = ReflectorState(
            resource_version=resource_version or resume_from, moved=bool(resume_from)
        )
        self._contact = ServerContact(source.reachability)
        self._recovery = Recovery(self.name, self._state, options, source.reachability, metrics)
        self.set_watch_error_handler(on_watch_error)
        self._context = context = ReflectorContext(
            name=self.name,
            source=source,
            target=target,
            admission=self._admission,
            options=options,
            state=self._state,
            recovery=self._recovery,
            contact=self._contact,
            metrics=metrics,
        )
        self._streaming = StreamStep(context)
        self._listing = ListStep(context)
        self._watching = WatchStep(context)

    # -- public ------------------------------------------------------------------------------

    @property
    def last_sync_resource_version(self) -> str:
        """The resource version the store has reached; empty before the first list."""
        return self._state.resource_version

    @property
    def staleness(self) -> float | None:
        """Seconds since the store was last known to be current; ``None`` if it never was."""
        return self._state.staleness()

    @property
    def quarantine(self) -> Mapping[str, QuarantinedObject]:
        """Objects on the server that could not be decoded or transformed, by key."""
        return self._admission.quarantine

    def status(self) -> ReflectorStatus:
        """Return a snapshot of the current state. Thread-safe."""
        return self._state.status()

    def set_watch_error_handler(self, handler: Callable[[WatchFailure], object] | None) -> None:
        """Set the callback for lost connections and refusals. It runs on the loop: keep it short.

        Raises:
            ConfigError: The callback is async.
        """
        check_plain("on_watch_error", handler)
        self._recovery.on_error = handler

    # -- state machine -----------------------------------------------------------------------

    async def run(self) -> None:
        """Run until cancelled. Failures are reported and retried with backoff."""
        loop = asyncio.get_running_loop()
        self._state.clock = loop.time
        self._state.phase_since = loop.time()
        try:
            async with SideTask(self._resync if self._resync_period else None):
                await self._run_phases(self._first_phase())
        except TargetFailedError as failed:
            raise failed.__cause__ or failed from None

    def _first_phase(self) -> PhaseState:
        if self._resume_from and not self._state.synced and self._context.may_watch:
            return WatchPhase(resume_from=self._resume_from)
        return StartPhase()

    async def _run_phases(self, phase: PhaseState) -> None:
        try:
            while True:
                self._state.enter(phase.phase)
                try:
                    phase = await self._run_phase(phase)
                except TargetFailedError:
                    raise
                except KinformError as error:
                    phase = await self._recover(phase, error)
                except Exception as error:  # source and store may be user code
                    wrapped = WatchError(f"{self.name}: {type(error).__name__}: {error}")
                    wrapped.__cause__ = error
                    phase = await self._recover(phase, wrapped)
        finally:
            self._state.enter(Phase.STOPPED)
            self._state.retry_at = None
            await self._context.close_watch(phase)

    async def _run_phase(self, phase: PhaseState) -> PhaseState:
        """Run one phase and return the next one."""
        match phase:
            case WatchPhase():
                return await self._watching.run(phase)
            case WaitPhase():
                return await self._wait(phase)
            case StartPhase():
                await self._target.wait_until_empty()
                next_phase = StreamPhase if self._context.may_stream else ListPhase
                return next_phase(plan=phase.plan)
            case StreamPhase():
                return await self._streaming.run(phase)
            case ListPhase():
                return await self._listing.run(phase)
            case _:
                await asyncio.sleep(self._poll_interval * (1 + random.random() / 10))
                return ListPhase(plan=ListPlan(reason="poll"))

    async def _wait(self, phase: WaitPhase) -> PhaseState:
        self._state.retry_at = self._state.clock() + phase.delay
        await self._contact.wait(phase.delay, until_reachable=phase.until_reachable)
        self._state.retry_at = None
        return phase.then

    async def _recover(self, phase: PhaseState, error: KinformError) -> PhaseState:
        """Judge and report a failure, and return the next phase."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            # The source converted the cancellation into another error; it is still a cancellation.
            raise asyncio.CancelledError from error
        await self._context.close_watch(phase)
        attempt = Attempt(
            phase=phase.phase,
            versioned=phase.is_versioned(self._state.resource_version),
            progressed=phase.progressed,
            resumable=phase.is_resumable,
            unconfirmed=phase.is_unconfirmed,
        )
        verdict, delay = self._recovery.judge(attempt, error)
        if verdict.downgrade:
            self._context.downgrade(phase.phase)
        then = phase.after(verdict, error)
        if not delay:
            return then
        return WaitPhase(delay=delay, then=then, until_reachable=verdict.pause is Pause.RECONNECT)

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(self._resync_period)
            try:
                if self._should_resync is None or self._should_resync():
                    self._target.resync()
                    await self._target.wait_for_capacity()
            except TargetFailedError:
                raise
            except Exception:  # user code must not end the watch or prevent the next resync
                logger.exception("%s: resync failed", self.name)
