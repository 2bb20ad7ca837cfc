"""The reflector: lists and watches a source and keeps a store identical to the server."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

from kinform._checks import check_plain
from kinform._runtime import ReadOutcome
from kinform.api import ListOptions
from kinform.errors import (
    CacheError,
    ConfigError,
    DecodeError,
    KinformError,
    VeryShortWatchError,
    WatchError,
)
from kinform.informers.queue._delta_fifo import DeltaFIFO
from kinform.informers.reflector._admission import Admission, records_of
from kinform.informers.reflector._event_applier import FROM_ANYWHERE, WatchEventApplier
from kinform.informers.reflector._list_builder import ListBuilder
from kinform.informers.reflector._open_watch import OpenWatch
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._paged_list import PAGE_SIZE, PagedList, PagesExpiredError
from kinform.informers.reflector._quarantine import QuarantinedObject
from kinform.informers.reflector._recovery import Attempt, Recovery
from kinform.informers.reflector._silence_limit import SilenceLimit
from kinform.informers.reflector._state import (
    Phase,
    ReflectorState,
    ReflectorStatus,
    SyncMode,
    WatchFailure,
)
from kinform.informers.reflector._streamed_list import StreamedList
from kinform.informers.reflector._target import (
    PlainStore,
    ReflectorTarget,
    TargetFailedError,
    target_for,
)
from kinform.informers.reflector._verdicts import Pause, is_lost_connection
from kinform.informers.sources._listwatch import ListWatch
from kinform.metrics import NO_METRICS, Metrics, guarded
from kinform.objects import Handle

logger = logging.getLogger("kinform.reflector")

T = TypeVar("T", bound=Handle)
# A watch open for this long counts as working, even if no event was received.
_VERY_SHORT = 1.0
# How long after its timeout a server may still end a watch.
_GRACE = 30.0
_SHORTEST_WATCH = 300.0


class Reflector(Generic[T]):
    """Keeps a store identical to the state on the server.

    ============ ============================================ ===================================
    in           when                                         then
    ============ ============================================ ===================================
    NEW          always                                       STREAMING, or LISTING if the source
                                                              cannot stream or is known not to
    STREAMING    the end bookmark came                        WATCHING, on the same stream
    STREAMING    not supported; silent; closed early twice    LISTING, remembered for an hour
    STREAMING    cut after objects came                       STREAMING; LISTING after 2
    STREAMING    403 (listing may be allowed)                 LISTING
    STREAMING    410 or version too large                     STREAMING, asking for the newest
    STREAMING    401, 404, 429, 503                           WAITING, STREAMING
    STREAMING    anything else                                WAITING, STREAMING; LISTING after 3
    LISTING      all pages came                               WATCHING (or POLLING after a 405)
    LISTING      410 or version too large                     LISTING, asking for the newest
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
    WATCHING     over, and the source has no versions         NEW
    WATCHING     405                                          POLLING
    POLLING      the interval is over                         LISTING
    any          cancelled                                    STOPPED
    ============ ============================================ ===================================

    ``_verdicts.judge`` implements this table. A connection that made progress counts as
    healthy, however it ended: the next one is opened within 20 ms. Backoff is exponential with
    jitter and grows only over attempts without progress: up to 1.5 s if the server did not
    respond, up to a minute after refusals, and never less than Retry-After.

    Args:
        source: The resource to list and watch.
        store: The store to fill: a ``Store``, a ``DeltaFIFO``, a ``ReflectorTarget``, or any object
            with the methods of ``PlainStore``.
        name: The name used in logs and errors.
        admission: Prepares objects for the store: transform, quarantine, and reuse of known bytes.
        resource_version: The version of a store that is already filled; no list may be older.
        resync_period: Seconds between calls of the store's ``resync``; 0 disables them.
        should_resync: Called before each resync; the resync is skipped if it returns false.
        on_watch_error: Called for every lost connection and every refusal.
        options: Settings such as page size and backoff.
        metrics: Receives metrics of lists, watches and failures.
    """

    def __init__(
        self,
        source: ListWatch[T],
        store: ReflectorTarget[T] | DeltaFIFO[T] | PlainStore[T],
        *,
        name: str = "",
        admission: Admission[T] | None = None,
        resource_version: str = "",
        resync_period: float = 0.0,
        should_resync: Callable[[], bool] | None = None,
        on_watch_error: Callable[[WatchFailure], object] | None = None,
        options: ReflectorOptions | None = None,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        if not resync_period >= 0:
            raise ConfigError(f"resync_period must be 0 (never) or more, not {resync_period!r}")
        given: object = source
        if not isinstance(given, ListWatch):
            raise ConfigError(
                f"a reflector reads a ListWatch, not a {type(given).__name__}; "
                "ListWatch.for_resource(client, ...) and ListWatch(list, watch) make one"
            )
        target: ReflectorTarget[T] = target_for(store)
        options = options or ReflectorOptions()
        self._source = source
        self._target = target
        self.name = name or source.name
        self._admission = admission or Admission(source.form, known=records_of(store))
        self._streaming = options.streaming
        self._memory = options.memory
        self._page_size = options.page_size
        self._resync_period = resync_period
        self._should_resync = should_resync
        self._watch_timeout = max(options.watch_timeout, _SHORTEST_WATCH)
        self._poll_interval = options.poll_interval
        self._metrics = metrics = guarded(metrics)

        self._state = ReflectorState(resource_version=resource_version)
        self._reachability = source.reachability
        self._recovery = Recovery(self.name, self._state, options, self._reachability, metrics)
        self.set_watch_error_handler(on_watch_error)
        self._applier = WatchEventApplier(self.name, target, self._admission, self._state)
        self._silence_limit = SilenceLimit()
        self._open: OpenWatch | None = None
        self._paged: PagedList[T] | None = None
        self._relist_reason = ""
        self._version_unusable = False
        self._was_paged = False
        self._progressed = False
        self._was_woken = False
        self._just_listed = False
        self._fault: BaseException | None = None
        self._steps = {
            Phase.NEW: self._begin,
            Phase.STREAMING: self._stream,
            Phase.LISTING: self._list,
            Phase.WATCHING: self._watch,
            Phase.POLLING: self._poll,
        }

    # -- public ------------------------------------------------------------------------------

    @property
    def last_sync_resource_version(self) -> str:
        """The resource version the store has reached; empty before the first list."""
        return self._state.resource_version

    @property
    def staleness(self) -> float | None:
        """Seconds since the store was last known to be current; ``None`` before the first list."""
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
        me = asyncio.current_task()
        assert me is not None  # a coroutine that runs on a loop always has a task
        resync = asyncio.create_task(self._resync(me)) if self._resync_period else None
        phase = Phase.NEW
        try:
            while True:
                self._state.enter(phase)
                self._progressed = False
                try:
                    phase = await self._steps[phase]()
                except TargetFailedError as failed:
                    raise failed.__cause__ or failed from None
                except KinformError as error:
                    phase = await self._recover(phase, error)
                except Exception as error:  # source and store may be user code
                    wrapped = WatchError(f"{self.name}: {type(error).__name__}: {error}")
                    wrapped.__cause__ = error
                    phase = await self._recover(phase, wrapped)
        except asyncio.CancelledError:
            if self._fault is None:
                raise
            me.uncancel()
            raise self._fault from None
        finally:
            self._state.enter(Phase.STOPPED)
            self._state.retry_at = None
            if resync is not None:
                resync.cancel()
            await self._close_watch()

    async def _begin(self) -> Phase:
        await self._target.wait_until_empty()
        may_stream = (
            self._streaming
            and self._source.supports_streaming
            and self._memory.may_stream(self._memory_key("stream"))
            and self._recovery.may_stream
        )
        return Phase.STREAMING if may_stream else Phase.LISTING

    async def _recover(self, phase: Phase, error: KinformError) -> Phase:
        """Judge a failure, report it, wait if necessary, and return the next phase."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            # The source converted the cancellation into another error; it is still a cancellation.
            raise asyncio.CancelledError from error
        await self._close_watch()
        asks_for_version = phase is Phase.LISTING or bool(self._state.resource_version)
        attempt = Attempt(
            phase=phase,
            versioned=asks_for_version and not self._version_unusable,
            progressed=self._progressed,
            resumable=self._paged is not None and self._paged.is_resumable,
        )
        verdict, delay = self._recovery.judge(attempt, error)
        if not (verdict.next is Phase.LISTING and is_lost_connection(error)):
            self._paged = None
        if verdict.downgrade:
            self._memory.downgrade(
                self._memory_key("stream" if phase is Phase.STREAMING else "watch")
            )
        if verdict.forget_version:
            self._version_unusable = True
        if verdict.reason:
            self._relist_reason = verdict.reason
        if delay:
            await self._wait(delay, until_reachable=verdict.pause is Pause.RECONNECT)
        return verdict.next

    async def _wait(self, delay: float, *, until_reachable: bool = False) -> None:
        self._state.enter(Phase.WAITING)
        self._state.retry_at = self._state.clock() + delay
        if until_reachable and not self._was_woken:
            self._was_woken = await self._reachability.wait(delay)
        else:
            # Also after a wake-up that did not help this reflector: one is enough.
            self._was_woken = False
            await asyncio.sleep(delay)
        self._state.retry_at = None

    # -- streaming ---------------------------------------------------------------------------

    async def _stream(self) -> Phase:
        known = "" if self._version_unusable else self._state.resource_version
        watch = await self._open_watch(
            ListOptions(
                resource_version=known,
                resource_version_match="NotOlderThan",
                send_initial_events=True,
            )
        )
        started = self._state.clock()
        builder = ListBuilder(self.name, self._admission)
        try:
            version = await StreamedList(watch, builder, self._state).read(self.name)
        finally:
            self._progressed = bool(builder.records)
        self._replace(builder, version, SyncMode.STREAMING, started)
        await self._target.wait_for_capacity()
        return Phase.WATCHING

    # -- listing -----------------------------------------------------------------------------

    async def _list(self) -> Phase:
        started = self._state.clock()
        version = "" if self._version_unusable else self._state.resource_version or "0"
        options = ListOptions(resource_version=version, limit=self._limit(version))
        if version not in FROM_ANYWHERE and options.limit:
            # With a limit, a bare version would mean "exactly" instead of "at least".
            options = options.replace(resource_version_match="NotOlderThan")
        paged = self._paged or PagedList(ListBuilder(self.name, self._admission), options)
        try:
            await self._fetch(paged)
        except PagesExpiredError:
            # The version expired between two pages. A single request cannot expire midway.
            paged = PagedList(
                ListBuilder(self.name, self._admission),
                options.replace(limit=None, resource_version_match=""),
            )
            try:
                await self._fetch(paged)
            except PagesExpiredError:
                raise DecodeError(
                    f"{self.name}: the server pages a list that has no limit"
                ) from None
        self._paged = None
        if version == "0" and paged.pages > 1 and not paged.was_cut:
            # Pages came despite the cache, or there is no cache, so later lists can page too.
            self._was_paged = True
        self._replace(paged.builder, paged.resource_version, SyncMode.LIST, started)
        await self._target.wait_for_capacity()
        if self._memory.may_stream(self._memory_key("watch")):
            return Phase.WATCHING
        return Phase.POLLING

    async def _fetch(self, paged: PagedList[T]) -> None:
        self._paged = paged
        await self._reachability.admit()
        await paged.fetch(self._source, on_page=self._page_came)

    def _page_came(self) -> None:
        self._progressed = True
        self._reached()

    def _limit(self, version: str) -> int | None:
        if self._page_size:
            return self._page_size
        if version in FROM_ANYWHERE or self._was_paged:
            return PAGE_SIZE
        # The server serves a concrete version from its cache only without a limit.
        return None

    async def _poll(self) -> Phase:
        await asyncio.sleep(self._poll_interval * (1 + random.random() / 10))
        self._relist_reason = "poll"
        return Phase.LISTING

    def _replace(
        self, builder: ListBuilder[T], version: str, mode: SyncMode, started: float
    ) -> None:
        objects = self._admission.listed(builder.records)
        try:
            self._target.replace(objects, version)
        except Exception as error:  # the store may be user code
            raise CacheError(f"{self.name}: the store refused the list: {error}") from error
        self._admission.list_finished(builder.unreadable, namespace=self._source.namespace)
        state = self._state
        if state.synced:
            reason = self._relist_reason or "unknown"
            state.relists[reason] += 1
            self._metrics.relisted(self.name, reason)
        state.listed(version, mode)
        self._relist_reason = ""
        self._version_unusable = False
        self._just_listed = True
        self._recovery.synced(version)
        self._metrics.list_finished(self.name, state.clock() - started, len(objects))
        logger.debug("%s: %d objects by %s at %s", self.name, len(objects), mode.value, version)

    # -- watching ----------------------------------------------------------------------------

    async def _open_watch(self, options: ListOptions) -> OpenWatch:
        lifetime = self._watch_timeout * (1 + random.random())
        options = options.replace(
            allow_watch_bookmarks=True, timeout_seconds=min(int(lifetime), 1 << 31)
        )
        watch = OpenWatch(
            what=self.name,
            resource_version=options.resource_version,
            lifetime=lifetime + _GRACE,
            silence_limit=self._silence_limit,
            reachability=self._reachability,
        )
        await self._reachability.admit()
        await watch.open(self._source, options)
        self._open = watch
        self._state.watch_opened()
        self._reached()
        self._metrics.watch_opened(self.name)
        return watch

    def _reached(self) -> None:
        """Report that the server responded, so other reflectors can stop waiting."""
        self._was_woken = False
        self._reachability.answered()

    async def _watch(self) -> Phase:
        watch = self._open
        if watch is None:
            version = self._state.resource_version
            if not (version or self._just_listed):
                # Without versions, only a new list reveals what was deleted in the meantime.
                self._relist_reason = "no version"
                return Phase.NEW
            watch = await self._open_watch(ListOptions(resource_version=version))
            self._state.attempts = 0
        self._just_listed = False
        try:
            while await self._take_from(watch) is ReadOutcome.STOPPED:
                await self._target.wait_for_capacity()
        finally:
            self._progressed = watch.progressed or watch.watched_for >= _VERY_SHORT
        await self._close_watch()
        return await self._after_clean_close(watch)

    async def _take_from(self, watch: OpenWatch) -> ReadOutcome:
        """Apply events until the target needs a pause, or the watch has ended."""
        try:
            return await watch.read_into(partial(self._applier.take, watch=watch))
        except TargetFailedError:
            raise
        except Exception:
            # Events of the same batch before the failure were applied and are not sent again.
            await self._target.wait_for_capacity()
            raise

    async def _after_clean_close(self, watch: OpenWatch) -> Phase:
        if not self._progressed:
            raise VeryShortWatchError(
                f"{self.name}: the server closed the watch from version "
                f"{watch.opened_from or 'none'} at once, with nothing new"
            )
        await self._wait(self._recovery.watch_ended())
        return Phase.WATCHING

    async def _close_watch(self) -> None:
        watch, self._open = self._open, None
        if watch is not None:
            self._state.watch_closed()
            short = watch.age < _VERY_SHORT and not watch.events
            self._metrics.watch_closed(self.name, watch.age, watch.events, short)
            await watch.close()

    async def _resync(self, runner: asyncio.Task[Any]) -> None:
        while True:
            await asyncio.sleep(self._resync_period)
            try:
                if self._should_resync is None or self._should_resync():
                    self._target.resync()
                    await self._target.wait_for_capacity()
            except TargetFailedError as failed:
                self._fault = failed.__cause__ or failed
                runner.cancel()
            except Exception:  # user code must not end the watch or prevent the next resync
                logger.exception("%s: resync failed", self.name)

    def _memory_key(self, verb: str) -> tuple[str, object]:
        return (verb, self._source.resource or self.name or self._source)
