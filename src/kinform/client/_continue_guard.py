"""Detects lists whose pages never end."""

from __future__ import annotations

from typing import Any

from kinform.client._lists import ObjectList
from kinform.errors import DecodeError

# Servers send full pages, so even a few without a new object in a row are an error.
_MOST_STALE_PAGES = 100
# At the usual 500 objects per page, fifty million objects.
_MOST_PAGES = 100_000


class ContinueGuard:
    """Checks that each page of one list continues the list.

    Only hashes of tokens and of the first object of each page are kept: the pages of a list are
    in order, so a page that starts with an object of an earlier one brings nothing new.

    Args:
        what: The name of the list in errors.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._pages = 0
        self._tokens: set[int] = set()
        self._first_objects: set[int] = set()
        self._stale_pages = 0

    def check(self, page: ObjectList[Any]) -> None:
        """Check a page that is not the last one.

        Raises:
            DecodeError: The server repeats continue tokens or objects, or sends too many pages.
        """
        token = hash(page.continue_token)
        if token in self._tokens:
            raise DecodeError(
                f"{self._what}: the server repeated a continue token, so the list would never end"
            )
        self._tokens.add(token)
        self._pages += 1
        self._stale_pages = 0 if self._is_new(page) else self._stale_pages + 1
        if self._stale_pages >= _MOST_STALE_PAGES:
            raise DecodeError(
                f"{self._what}: the server sent {self._stale_pages} pages in a row without a new "
                "object, so the list would never end"
            )
        if self._pages >= _MOST_PAGES:
            raise DecodeError(
                f"{self._what}: the list has more than {_MOST_PAGES} pages; request larger pages"
            )

    def _is_new(self, page: ObjectList[Any]) -> bool:
        if page.records:
            first = hash(page.records[0].head.key)
        elif page.undecodable:
            first = hash(page.undecodable[0].payload)
        else:
            return False
        is_new = first not in self._first_objects
        self._first_objects.add(first)
        return is_new
