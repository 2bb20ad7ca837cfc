"""18.16: pages that never end are an error, of the client and of an informer."""

from __future__ import annotations

import itertools

import pytest

from kinform import Client, ListWatch
from kinform.api import GVR, ListOptions
from kinform.client import ContinueGuard, ObjectList
from kinform.errors import DecodeError
from kinform.informers.reflector._admission import Admission
from kinform.informers.reflector._list_builder import ListBuilder
from kinform.informers.reflector._paged_list import PagedList
from kinform.objects import Unstructured
from kinform.transport import ClusterConfig
from tests.hostile.raw_server import RawServer, Script, Writer

PODS = GVR("", "v1", "pods")
POD = '{"metadata":{"name":"p","namespace":"n","resourceVersion":"1"}}'


def circling(_: int) -> str:
    """18.16: tokens a, b, a, b …"""
    return "ab"[_ % 2]


def fresh(number: int) -> str:
    """18.16: a new token each time."""
    return f"t{number}"


def pages_of(tokens: object, item: str) -> Script:
    numbers = itertools.count()

    async def send(head: bytes, writer: Writer) -> None:
        assert callable(tokens)
        metadata = f'{{"resourceVersion":"1","continue":"{tokens(next(numbers))}"}}'
        body = (
            f'{{"kind":"PodList","apiVersion":"v1","metadata":{metadata},"items":[{item}]}}'
        ).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
            b"Connection: close\r\n\r\n%b" % (len(body), body)
        )

    return send


ENDLESS = [
    pytest.param(circling, POD, "repeated a continue token", 5, id="circle"),
    pytest.param(fresh, POD, "without a new object", 110, id="same object"),
    pytest.param(fresh, "", "without a new object", 110, id="empty"),
]


@pytest.mark.parametrize(("tokens", "item", "problem", "most"), ENDLESS)
async def test_a_client_gives_up(tokens: object, item: str, problem: str, most: int) -> None:
    """18.16: ``client.list`` raises after a bounded number of pages."""
    async with (
        RawServer(pages_of(tokens, item)) as server,
        Client(ClusterConfig(server=server.url)) as client,
    ):
        with pytest.raises(DecodeError, match=problem):
            await client.list(PODS)
        assert len(server.requests) <= most


@pytest.mark.parametrize(("tokens", "item", "problem", "most"), ENDLESS)
async def test_an_informer_gives_up(tokens: object, item: str, problem: str, most: int) -> None:
    """18.16: so does the paged list of a reflector."""
    async with (
        RawServer(pages_of(tokens, item)) as server,
        Client(ClusterConfig(server=server.url)) as client,
    ):
        pages = PagedList(ListBuilder(Admission(Unstructured)), ListOptions(limit=500))
        source = ListWatch.for_resource(client, PODS)
        with pytest.raises(DecodeError, match=problem):
            await pages.fetch(source, on_page=lambda: None)
        assert len(server.requests) <= most


def test_the_number_of_pages_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """18.16: even if all of them differ."""
    monkeypatch.setattr("kinform.client._continue_guard._MOST_PAGES", 3)
    monkeypatch.setattr("kinform.client._continue_guard._MOST_STALE_PAGES", 100)
    guard = ContinueGuard("pods")
    for token in "ab":
        guard.check(ObjectList(Unstructured, [], continue_token=token))
    with pytest.raises(DecodeError, match="more than 3 pages"):
        guard.check(ObjectList(Unstructured, [], continue_token="c"))
