"""A list that is fetched page by page, and goes on where it was when a connection is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kinform.api import ListOptions
from kinform.errors import DecodeError, ExpiredError, TruncatedResponseError
from kinform.informers.reflector._list_builder import ListBuilder
from kinform.informers.sources._listwatch import ListWatch
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)

_PAGE_SIZE = 500
_SMALLEST_PAGE = 10


class PagesExpiredError(Exception):
    """The pages are of several versions, or the server forgot theirs: they make no list."""


class PagedList(Generic[T]):
    """The pages of one list, all of one version.

    Call ``fetch`` again after a lost connection: the pages that came are kept. Where an answer
    broke off in the middle, the next page is half as large.

    Args:
        builder: Takes the objects.
        options: Of the first page.

    Attributes:
        pages: How many came.
        resource_version: The version of the list.
        was_cut: Whether an answer broke off in the middle.
    """

    def __init__(self, builder: ListBuilder[T], options: ListOptions) -> None:
        self.builder = builder
        self._options = options
        self.pages = 0
        self.resource_version = ""
        self.was_cut = False

    @property
    def is_resumable(self) -> bool:
        """Whether another ``fetch`` is better than another list."""
        return self.pages > 0 or self.was_cut

    async def fetch(self, source: ListWatch[T], *, on_page: Callable[[], object]) -> None:
        """Fetch the pages that are missing; ``on_page`` is called when one has come.

        Raises:
            PagesExpiredError: They cannot be completed; begin another list.
            ExpiredError: The server does not have the version that was asked for.
            DecodeError: What it sends is no list of objects.
            TransportError: A connection was lost; call this again.
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
            if page.continue_token == options.continue_token:
                raise DecodeError(
                    f"{source.name}: the server gives the same continue token again, "
                    "so its list has no end"
                )
            # The token holds the version; the server refuses both together.
            self._options = options.replace(
                continue_token=page.continue_token, resource_version="", resource_version_match=""
            )


def _smaller(options: ListOptions) -> ListOptions:
    """Half the page; and the newest version, for of others servers send everything at once."""
    return options.replace(
        limit=max((options.limit or _PAGE_SIZE) // 2, _SMALLEST_PAGE),
        resource_version="",
        resource_version_match="",
    )
