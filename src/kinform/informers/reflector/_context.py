"""What the phases of one reflector share, and the steps that several of them take."""

from __future__ import annotations

import logging
import random
from collections.abc import Hashable
from typing import Generic, TypeVar

import msgspec

from kinform.api import ListOptions, is_older
from kinform.errors import CacheError, VersionRegressionError
from kinform.informers.reflector._admission import Admission
from kinform.informers.reflector._list_builder import ListBuilder
from kinform.informers.reflector._open_watch import OpenWatch
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._phases import ListPlan, PhaseState
from kinform.informers.reflector._recovery import Recovery
from kinform.informers.reflector._server_contact import ServerContact
from kinform.informers.reflector._silence_limit import SilenceLimit
from kinform.informers.reflector._state import Phase, ReflectorState, SyncMode
from kinform.informers.reflector._target import ReflectorTarget, TargetFailedError
from kinform.informers.reflector._version_regression import VERSIONS_WENT_BACK
from kinform.informers.sources import Source
from kinform.metrics import Metrics
from kinform.objects import Handle

logger = logging.getLogger("kinform.reflector")

T = TypeVar("T", bound=Handle)

VERY_SHORT = 1.0
"""A watch open for this many seconds counts as working, even if no event was received."""
# How long after its timeout a server may still end a watch.
_GRACE = 30.0
_SHORTEST_WATCH = 300.0


class ReflectorContext(msgspec.Struct, Generic[T], frozen=True, eq=False, kw_only=True):
    """The parts of a reflector. They last as long as it does."""

    name: str
    source: Source[T]
    target: ReflectorTarget[T]
    admission: Admission[T]
    options: ReflectorOptions
    state: ReflectorState
    recovery: Recovery
    contact: ServerContact
    metrics: Metrics
    silence_limit: SilenceLimit = msgspec.field(default_factory=SilenceLimit)

    # -- what the server supports --------------------------------------------------------------

    @property
    def may_stream(self) -> bool:
        """Whether to stream the next list; otherwise it is fetched in pages."""
        return (
            self.options.streaming
            and self.source.supports_streaming
            and self.options.capabilities.allows("stream", self._resource)
            and self.recovery.has_stream_attempts
        )

    @property
    def may_watch(self) -> bool:
        return self.options.capabilities.allows("watch", self._resource)

    def downgrade(self, phase: Phase) -> None:
        """Remember that the server does not support the request of this phase."""
        self.options.capabilities.downgrade(
            "stream" if phase is Phase.STREAMING else "watch", self._resource
        )

    @property
    def _resource(self) -> Hashable:
        return self.source.resource or self.name or self.source

    # -- watches -------------------------------------------------------------------------------

    async def open_watch(self, options: ListOptions) -> OpenWatch:
        lifetime = max(self.options.watch_timeout, _SHORTEST_WATCH) * (1 + random.random())
        options = options.replace(
            allow_watch_bookmarks=True, timeout_seconds=min(int(lifetime), 1 << 31)
        )
        watch = OpenWatch(
            what=self.name,
            resource_version=options.resource_version,
            lifetime=lifetime + _GRACE,
            silence_limit=self.silence_limit,
            reachability=self.contact.reachability,
        )
        await self.contact.admit()
        await watch.open(self.source, options)
        self.state.watch_opened(starts_with_list=options.send_initial_events is True)
        self.contact.answered()
        self.metrics.watch_opened(self.name)
        return watch

    async def close_watch(self, phase: PhaseState) -> None:
        """Close the watch of a phase, if it has one."""
        watch, phase.watch = phase.watch, None
        if watch is not None:
            self.state.watch_closed()
            short = watch.age < VERY_SHORT and not watch.events
            self.metrics.watch_closed(self.name, watch.age, watch.events, short)
            await watch.close()

    # -- complete states -----------------------------------------------------------------------

    def resume(self) -> None:
        """Notify the target that the objects it already has are a complete state.

        Raises:
            CacheError: The target failed.
        """
        version = self.state.resource_version
        try:
            self.target.resume(version)
        except TargetFailedError:
            raise
        except Exception as error:  # the target may be user code
            raise CacheError(f"{self.name}: the store failed: {error}") from error
        self.state.resumed()
        logger.debug("%s: resumed at version %s without a list", self.name, version)

    def replace(
        self,
        builder: ListBuilder[T],
        version: str,
        mode: SyncMode,
        *,
        started: float,
        plan: ListPlan,
    ) -> None:
        """Pass a complete list to the target.

        Raises:
            VersionRegressionError: The list is older than the store, and was not expected to be.
            CacheError: The target failed.
        """
        known = self.state.resource_version
        went_back = is_older(version, known)
        if went_back and not plan.went_back:
            raise VersionRegressionError(
                f"{self.name}: the server returned a list of version {version}, "
                f"behind the known version {known}"
            )
        objects = self.admission.listed(builder.records)
        try:
            self.target.replace(objects, version)
        except Exception as error:  # the store may be user code
            raise CacheError(f"{self.name}: the store rejected the list: {error}") from error
        self.admission.list_finished(builder.unreadable, namespace=self.source.namespace)
        if went_back:
            logger.warning(
                "%s: the server's versions went back from %s to %s, probably because it was "
                "restored from a backup; listed again: %d objects",
                self.name,
                known,
                version,
                len(objects),
            )
        state = self.state
        if state.synced:
            reason = VERSIONS_WENT_BACK if went_back else plan.reason or "unknown"
            state.relists[reason] += 1
            self.metrics.relisted(self.name, reason)
        state.listed(version, mode)
        self.recovery.synced(version)
        self.metrics.list_finished(self.name, state.clock() - started, len(objects))
        logger.debug(
            "%s: received %d objects by %s at version %s",
            self.name,
            len(objects),
            mode.value,
            version,
        )
