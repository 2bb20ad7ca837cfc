"""A list fetched page by page: what is asked for next, and what is kept when a page fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import pytest

from kinform.api import ListOptions
from kinform.errors import DecodeError, ExpiredError, TransportError, TruncatedResponseError
from kinform.informers import ListWatch
from kinform.informers.reflector._admission import Admission
from kinform.informers.reflector._list_builder import ListBuilder
from kinform.informers.reflector._paged_list import PagedList, PagesExpiredError
from kinform.objects import Unstructured
from tests.support.answers import pod, pod_list

CUT = TransportError("cut")
TRUNCATED = TruncatedResponseError("broke off")
EXPIRED = ExpiredError("too old", code=410)
FIRST = ListOptions(resource_version="7", resource_version_match="NotOlderThan", limit=100)


class Pages:
    """Answers in their order, and what was asked for."""

    def __init__(self, *answers: Mapping[str, Any] | Exception) -> None:
        self._answers = deque(answers)
        self.asked: list[ListOptions] = []
        self.source: ListWatch[Unstructured] = ListWatch(self._list, self._list, name="pods")

    async def _list(self, options: ListOptions) -> Mapping[str, Any]:
        self.asked.append(options)
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer


def paged_list(options: ListOptions = FIRST) -> PagedList[Unstructured]:
    return PagedList(ListBuilder(Admission(Unstructured)), options)


def page(name: str, *, more: str = "", rv: str = "10") -> dict[str, Any]:
    return pod_list(pod(name), rv=rv, continue_token=more)


async def fetch(paged: PagedList[Unstructured], pages: Pages) -> None:
    before, came = paged.pages, []
    try:
        await paged.fetch(pages.source, on_page=lambda: came.append(paged.pages))
    finally:
        assert came == list(range(before + 1, paged.pages + 1))


def keys(paged: PagedList[Unstructured]) -> list[str]:
    return list(paged.builder.records)


async def test_pages_are_fetched_until_there_is_no_token() -> None:
    pages, paged = Pages(page("a", more="1"), page("b", more="2"), page("c")), paged_list()
    await fetch(paged, pages)
    assert keys(paged) == ["default/a", "default/b", "default/c"]
    assert (paged.pages, paged.resource_version) == (3, "10")
    next_page = ListOptions(limit=100, continue_token="1")
    assert pages.asked == [FIRST, next_page, next_page.replace(continue_token="2")]


async def test_a_lost_page_is_asked_for_again_and_the_others_are_kept() -> None:
    pages, paged = Pages(page("a", more="1"), CUT, CUT, page("b")), paged_list()
    for _ in range(2):
        with pytest.raises(TransportError):
            await fetch(paged, pages)
        assert (paged.pages, keys(paged)) == (1, ["default/a"])
    await fetch(paged, pages)
    assert keys(paged) == ["default/a", "default/b"]
    assert pages.asked[1:] == [ListOptions(limit=100, continue_token="1")] * 3


async def test_a_lost_first_page_is_asked_for_in_the_same_way() -> None:
    pages, paged = Pages(CUT, page("a")), paged_list()
    with pytest.raises(TransportError):
        await fetch(paged, pages)
    assert paged.pages == 0
    await fetch(paged, pages)
    assert pages.asked == [FIRST, FIRST]


async def test_a_truncated_page_is_asked_for_in_half_the_size_with_its_token() -> None:
    pages = Pages(page("a", more="1"), TRUNCATED, TRUNCATED, page("b", more="2"), page("c"))
    paged = paged_list()
    for _ in range(2):
        with pytest.raises(TruncatedResponseError):
            await fetch(paged, pages)
    await fetch(paged, pages)
    assert keys(paged) == ["default/a", "default/b", "default/c"]
    assert [(each.limit, each.continue_token) for each in pages.asked] == [
        (100, ""),
        (100, "1"),
        (50, "1"),
        (25, "1"),
        (25, "2"),
    ]


@pytest.mark.parametrize(
    ("limit", "halves"),
    [(None, [250, 125]), (500, [250, 125]), (25, [12, 10]), (10, [10, 10])],
)
async def test_a_truncated_first_page_is_asked_for_smaller_and_at_the_newest_version(
    limit: int | None, halves: list[int]
) -> None:
    pages, paged = Pages(TRUNCATED, TRUNCATED, page("a")), paged_list(FIRST.replace(limit=limit))
    for _ in range(2):
        with pytest.raises(TruncatedResponseError):
            await fetch(paged, pages)
    await fetch(paged, pages)
    assert pages.asked[1:] == [ListOptions(limit=half) for half in halves]


async def test_an_expired_token_ends_the_list_and_an_expired_version_is_raised() -> None:
    with pytest.raises(PagesExpiredError):
        await fetch(paged_list(), Pages(page("a", more="1"), EXPIRED))
    with pytest.raises(ExpiredError):
        await fetch(paged_list(), Pages(EXPIRED))


async def test_pages_of_two_versions_make_no_list() -> None:
    paged = paged_list()
    with pytest.raises(PagesExpiredError):
        await paged.fetch(
            Pages(page("a", more="1"), page("b", rv="11")).source, on_page=lambda: None
        )


async def test_the_same_token_again_is_an_error() -> None:
    with pytest.raises(DecodeError, match="pods: the server repeated a continue token"):
        await paged_list().fetch(
            Pages(page("a", more="1"), page("b", more="1")).source, on_page=lambda: None
        )
