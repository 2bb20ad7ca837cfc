"""Lists: one page by hand, all of them together, and never a mixture of two versions."""

from __future__ import annotations

import pytest

from kinform.api import GVK, GVR, ListOptions
from kinform.client import Client
from kinform.errors import (
    BadRequestError,
    DecodeError,
    ExpiredError,
    NoMatchError,
    SelectorError,
    TransportError,
)
from tests.support.answers import PODS as POD_RESOURCE
from tests.support.answers import Answer, json_answer, pod, pod_list, status, text_answer
from tests.support.memory_transport import MemoryTransport
from tests.support.scripted_server import Close, ScriptedServer

PODS = GVR("", "v1", "pods")
PATH = "/api/v1/pods"
EXPIRED = json_answer(status(410, "Expired", metadata={"continue": "inconsistent"}), 410)


def pages(*names: str, rv: str = "10") -> list[Answer]:
    """A page for each word, with an object for each of its letters."""
    return [
        json_answer(
            pod_list(
                *[pod(letter) for letter in word],
                rv=rv,
                continue_token=f"after-{at}" if at + 1 < len(names) else "",
            )
        )
        for at, word in enumerate(names)
    ]


async def test_pages_are_fetched_and_returned_together(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, *pages("ab", "cd", "e"))
    found = await client.list(PODS)
    assert [pod.name for pod in found] == list("abcde")
    assert found.resource_version == "10"
    assert found.continue_token == ""
    assert [request.query for request in memory.requests] == [
        {"limit": "2"},
        {"limit": "2", "continue": "after-0"},
        {"limit": "2", "continue": "after-1"},
    ]


async def test_every_page_is_asked_for_with_the_same_selectors(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/api/v1/namespaces/x/pods", *pages("ab", "c"))
    await client.list(PODS, namespace="x", labels="app in (web)", fields={"spec.nodeName": "n1"})
    selectors = {"labelSelector": "app in (web)", "fieldSelector": "spec.nodeName=n1"}
    first, second = memory.requests
    assert first.query == {"limit": "2", **selectors}
    assert second.query == {"limit": "2", "continue": "after-0", **selectors}


async def test_an_empty_page_with_a_token_is_not_the_end(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, *pages("a", "", "", "b"))
    assert [pod.name for pod in await client.list(PODS)] == ["a", "b"]


async def test_an_empty_list_is_a_list(memory: MemoryTransport, client: Client) -> None:
    empties: list[list[str] | None] = [[], None]
    for items in empties:
        document = {"kind": "PodList", "apiVersion": "v1", "metadata": None, "items": items}
        memory.on(PATH, json_answer(document))
        found = await client.list(PODS)
        assert list(found) == []
        assert found.resource_version == ""


async def test_a_token_that_expires_on_the_way_means_all_again_in_one_request(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, *pages("ab", "cd", "e")[:2], EXPIRED, *pages("acdef", rv="20"))
    found = await client.list(PODS, labels="x=y")
    assert [pod.name for pod in found] == list("acdef")
    assert found.resource_version == "20"
    assert memory.requests[-1].query == {"labelSelector": "x=y"}
    assert "inconsistent" not in [request.query.get("continue") for request in memory.requests]


async def test_pages_of_different_versions_are_not_mixed(
    memory: MemoryTransport, client: Client
) -> None:
    first, _ = pages("ab", "cd", rv="10")
    _, other = pages("ab", "cd", rv="11")
    memory.on(PATH, first, other, *pages("abcd", rv="12"))
    found = await client.list(PODS)
    assert [pod.name for pod in found] == list("abcd")
    assert found.resource_version == "12"
    assert memory.requests[-1].query == {}


async def test_a_list_that_is_expired_from_the_start_says_so(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, EXPIRED)
    with pytest.raises(ExpiredError):
        await client.list(PODS, resource_version="1", resource_version_match="Exact")
    assert len(memory.requests) == 1


async def test_another_failure_on_the_way_is_not_hidden(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, pages("ab", "c")[0], json_answer(status(400, "BadRequest"), 400))
    with pytest.raises(BadRequestError):
        await client.list(PODS)


async def test_a_version_without_a_match_keeps_its_meaning_when_paged(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, *pages("ab", "c"))
    await client.list(PODS, resource_version="7")
    first, second = memory.requests
    assert first.query == {
        "limit": "2",
        "resourceVersion": "7",
        "resourceVersionMatch": "NotOlderThan",
    }
    assert second.query == {"limit": "2", "continue": "after-0"}


async def test_a_match_that_was_given_is_sent(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, *pages("a"))
    await client.list(PODS, resource_version="7", resource_version_match="Exact")
    assert memory.requests[0].query["resourceVersionMatch"] == "Exact"


async def test_a_limit_gives_one_page_and_the_way_to_the_next(
    memory: MemoryTransport, client: Client
) -> None:
    _, last = pages("abc", "d")
    first = json_answer(
        pod_list(pod("a"), pod("b"), pod("c"), continue_token="t", remainingItemCount=1)
    )
    memory.on(PATH, first, last)
    found = await client.list(PODS, limit=3, resource_version="5")
    assert (len(found), found.continue_token, found.remaining_item_count) == (3, "t", 1)
    assert memory.requests[0].query == {"limit": "3", "resourceVersion": "5"}
    rest = await client.list(PODS, limit=3, continue_token=found.continue_token)
    assert ([pod.name for pod in rest], rest.continue_token) == (["d"], "")
    assert memory.requests[1].query == {"limit": "3", "continue": "t"}


async def test_limit_zero_is_everything_in_one_request(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, *pages("abcdef"))
    assert len(await client.list(PODS, limit=0)) == 6
    assert memory.requests[0].query == {}


async def test_pages_one_by_one_raise_when_the_version_is_forgotten(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, pages("ab", "c")[0], EXPIRED)
    walk = client.pages(PODS, ListOptions(label_selector="a=b", limit=7))
    assert len(await anext(walk)) == 2
    assert memory.requests[0].query == {"labelSelector": "a=b", "limit": "7"}
    with pytest.raises(ExpiredError):
        await anext(walk)


async def test_a_token_that_repeats_does_not_make_an_endless_list(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, pages("ab", "cd")[0])
    with pytest.raises(DecodeError, match="repeated a continue token"):
        await client.list(PODS)
    assert len(memory.requests) == 2


async def test_items_get_their_kind_from_the_list(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, json_answer(pod_list(pod("a"))))
    (found,) = await client.list(PODS)
    assert found.gvk == GVK("", "v1", "Pod")
    assert found["kind"] == "Pod"
    assert found.to_dict()["apiVersion"] == "v1"


async def test_items_that_say_their_kind_are_believed(
    memory: MemoryTransport, client: Client
) -> None:
    other = {"kind": "Gadget", "apiVersion": "example.com/v2", "metadata": {"name": "g"}}
    for kind in ("List", "WidgetList", "WidgetCollection"):
        document = {"kind": kind, "apiVersion": "example.com/v1", "items": [other]}
        memory.on("/apis/example.com/v1/widgets", json_answer(document))
        (found,) = await client.list(GVR("example.com", "v1", "widgets"))
        assert found.gvk == GVK("example.com", "v2", "Gadget")


async def test_one_bad_item_is_named_and_the_others_are_had_by_pages(
    memory: MemoryTransport, client: Client
) -> None:
    bad = {"metadata": {"name": "bad", "labels": {"a": 1}}}
    memory.on(PATH, json_answer(pod_list(pod("a"), bad, pod("b"))))
    with pytest.raises(DecodeError, match=r"1 of 3 objects.*labels.*pages\(\)"):
        await client.list(PODS)
    (page,) = [page async for page in client.pages(PODS)]
    assert [pod.name for pod in page] == ["a", "b"]
    (undecodable,) = page.undecodable
    assert b'"bad"' in undecodable.payload
    assert isinstance(undecodable.error, DecodeError)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{}}',
        b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}',
        b'{"kind":"PodList","apiVersion":"v1","items":{}}',
        b'{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{}}',
        b'{"kind":"PodList","apiVersion":"v1","items":[' + b"[" * 100_000,
        b'{"kind":"\xff","items":[]}',
    ],
)
async def test_a_body_that_is_no_list_is_named_with_its_path(
    memory: MemoryTransport, client: Client, body: bytes
) -> None:
    memory.on(PATH, Answer(200, body, {"Content-Type": "application/json"}))
    with pytest.raises(DecodeError, match=f"GET {PATH}") as caught:
        await client.list(PODS)
    assert len(str(caught.value)) < 500


async def test_a_page_of_a_proxy_is_called_one(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, text_answer("<html>log in</html>", content_type="text/html"))
    with pytest.raises(DecodeError, match="text/html, neither JSON nor protobuf; is there a proxy"):
        await client.list(PODS)


async def test_a_list_cut_short_is_a_transport_error(
    server: ScriptedServer, http_client: Client
) -> None:
    whole = json_answer(pod_list(pod("a"), pod("b"))).raw()
    server.script(whole[:-20], Close())
    with pytest.raises(TransportError):
        await http_client.list(PODS)


async def test_a_list_reads_like_a_sequence(memory: MemoryTransport, client: Client) -> None:
    memory.on(PATH, json_answer(pod_list(pod("a"), pod("b"), pod("c"), continue_token="t")))
    found = await client.list(PODS, limit=3)
    assert found[0].name == "a"
    assert found[-1].name == "c"
    assert [pod.name for pod in found[1:]] == ["b", "c"]
    assert [pod.name for pod in reversed(found)] == ["c", "b", "a"]
    assert found[0] in found
    assert repr(found) == "<ObjectList of 3 Unstructured and more rv=10>"
    with pytest.raises(IndexError):
        found[3]


async def test_each_reading_of_a_list_gives_a_handle_of_its_own(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, json_answer(pod_list(pod("a", spec={"x": 1}))))
    found = await client.list(PODS)
    assert found[0] is not found[0]
    assert found[0] == found[0]


async def test_a_list_by_kind_or_by_description_finds_its_path(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(PATH, *pages("a"))
    assert len(await client.list(GVK("", "v1", "Pod"))) == 1
    assert len(await client.list(POD_RESOURCE)) == 1


async def test_a_list_in_a_namespace_of_what_has_none_says_so(
    memory: MemoryTransport, client: Client
) -> None:
    for resource in (GVR("", "v1", "nodes"), GVK("", "v1", "Node")):
        with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped"):
            await client.list(resource, namespace="x")


@pytest.mark.parametrize(
    "selector", [{"labels": "a in ("}, {"labels": {"a b": "c"}}, {"fields": "a>b"}]
)
async def test_an_illegal_selector_does_not_travel(
    memory: MemoryTransport, client: Client, selector: dict[str, str]
) -> None:
    with pytest.raises(SelectorError):
        await client.list(PODS, **selector)  # type: ignore[call-overload]  # each is one keyword
    assert memory.requests == []
