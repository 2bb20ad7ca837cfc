"""A list fetched in pages, which resumes after a lost connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kinform.api import ListOptions
from kinform.client import ContinueGuard
from kinform.errors import ExpiredError, TruncatedResponseError
from kinform.informers.reflector._list_builder import ListBuilder
from kinform.informers.sources import Source
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)

PAGE_SIZE = 500
"""The number of objects in a page unless the user chose another."""
_SMALLEST_PAGE = 10


class PagesExpiredError(Exception):
    """The version of the list expired, or pages have different versions: start a new list."""


class PagedList(Generic[T]):
    """The pages of one list, all of one version.

    Call ``fetch`` again after a lost connection: received pages are kept. After a truncated
    response, the next page is half as large.

    Args:
        builder: Receives the objects.
        options: The options of the first page.

    Attributes:
        pages: The number of pages received.
        resource_version: The version of the list.
        was_cut: Whether a response was truncated.
    """

    def __init__(self, builder: ListBuilder[T], options: ListOptions) -> None:
        self.builder = builder
        self._options = options
        self.pages = 0
        self.resource_version = ""
        self.was_cut = False
        self._continue_guard: ContinueGuard | None = None

    @property
    def is_resumable(self) -> bool:
        """Whether to resume with ``fetch`` instead of starting another list."""
        return self.pages > 0 or self.was_cut

    async def fetch(self, source: Source[T], *, on_page: Callable[[], object]) -> None:
        """Fetch the missing pages; ``on_page`` is called after each.

        Raises:
            PagesExpiredError: The list cannot be completed; start another one.
            ExpiredError: The server does not have the requested version.
            DecodeError: The response is not a list of objects, or the pages would never end.
            TransportError: The connection was lost; call this again.
        """
        while True:
            options = self._options
            try:
                page = await source.page(options)
            except ExpiredError as error:
                if not options.continue_token:
                    raise
                raise PagesExpiredError from error
            except TruncatedResponseError:
                self._options = _smaller(options)
                self.was_cut = True
                raise
            if self.pages and page.resource_version != self.resource_version:
                raise PagesExpiredError
            self.resource_version = page.resource_version
            await self.builder.take_page(page)
            self.pages += 1
            on_page()
            if not page.continue_token:
                return
            self._guard(source.name).check(page)
            # The token contains the version; servers reject requests with both.
            self._options = options.replace(
                continue_token=page.continue_token, resource_version="", resource_version_match=""
            )

    def _guard(self, name: str) -> ContinueGuard:
        if self._continue_guard is None:
            self._continue_guard = ContinueGuard(name)
        return self._continue_guard


def _smaller(options: ListOptions) -> ListOptions:
    """Halve the page size and request the newest version: servers do not page cached versions."""
    return options.replace(
        limit=max((options.limit or PAGE_SIZE) // 2, _SMALLEST_PAGE),
        resource_version="",
        resource_version_match="",
    )
