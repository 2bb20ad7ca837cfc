"""The LISTING phase: one list in pages, resumed after a lost connection."""

from __future__ import annotations

from typing import Generic, TypeVar

from kinform.api import ListOptions
from kinform.errors import DecodeError
from kinform.informers.reflector._context import ReflectorContext
from kinform.informers.reflector._event_applier import UNVERSIONED
from kinform.informers.reflector._list_builder import ListBuilder
from kinform.informers.reflector._paged_list import PAGE_SIZE, PagedList, PagesExpiredError
from kinform.informers.reflector._phases import ListPhase, PhaseState, PollPhase, WatchPhase
from kinform.informers.reflector._state import SyncMode
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class ListStep(Generic[T]):
    """Fills the target from a paged list, and learns whether the server pages known versions."""

    def __init__(self, context: ReflectorContext[T]) -> None:
        self._context = context
        self._server_pages = False

    async def run(self, phase: ListPhase) -> PhaseState:
        context = self._context
        started = context.state.clock()
        version = "" if phase.plan.newest else context.state.resource_version or "0"
        pages = await self._fetch_all(phase, self._options(version))
        phase.pages = None
        if version == "0" and pages.pages > 1 and not pages.was_cut:
            # The server pages despite its cache, or has no cache, so later lists can page too.
            self._server_pages = True
        context.replace(
            pages.builder,
            pages.resource_version,
            SyncMode.LIST,
            started=started,
            plan=phase.plan,
        )
        await context.target.wait_for_capacity()
        if context.may_watch:
            return WatchPhase(follows_list=True)
        context.recovery.recovered()
        return PollPhase()

    def _options(self, version: str) -> ListOptions:
        options = ListOptions(resource_version=version, limit=self._limit(version))
        if version not in UNVERSIONED and options.limit:
            # With a limit, a bare version would mean "exactly" instead of "at least".
            return options.replace(resource_version_match="NotOlderThan")
        return options

    def _limit(self, version: str) -> int | None:
        if self._context.options.page_size:
            return self._context.options.page_size
        if version in UNVERSIONED or self._server_pages:
            return PAGE_SIZE
        # The server serves a concrete version from its cache only without a limit.
        return None

    async def _fetch_all(self, phase: ListPhase, options: ListOptions) -> PagedList[T]:
        if phase.pages is None:
            phase.pages = self._new_list(phase, options)
        try:
            return await self._fetch(phase, phase.pages)
        except PagesExpiredError:
            # The version expired between two pages. A single request cannot expire midway.
            phase.pages = self._new_list(
                phase, options.replace(limit=None, resource_version_match="")
            )
        try:
            return await self._fetch(phase, phase.pages)
        except PagesExpiredError:
            raise DecodeError(
                f"{self._context.name}: the server split a list without a limit into pages"
            ) from None

    def _new_list(self, phase: ListPhase, options: ListOptions) -> PagedList[T]:
        builder = ListBuilder(self._context.admission, reuse_known=not phase.plan.went_back)
        return PagedList(builder, options)

    async def _fetch(self, phase: ListPhase, pages: PagedList[T]) -> PagedList[T]:
        contact = self._context.contact

        def page_received() -> None:
            phase.progressed = True
            contact.answered()

        await contact.admit()
        await pages.fetch(self._context.source, on_page=page_received)
        return pages
