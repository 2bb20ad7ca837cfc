"""Lists in pages: one moment in time, whatever is written meanwhile."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    Json,
    Server,
    assert_refused,
    names,
    version,
)
from tests.conformance.samples import config_map, event

pytestmark = IN_BOTH_FORMS


async def _fill(server: Server, configmaps: str, count: int = 5) -> None:
    for number in range(count):
        await server.create(configmaps, config_map(f"n{number}", labels={"odd": str(number % 2)}))


def _token(page: Json) -> str:
    """Custom kinds have an empty one on the last page, built-in kinds none."""
    token: str = page["metadata"].get("continue", "")
    return token


def _after(page: Json, **query: Any) -> dict[str, Any]:
    """The query for what comes after a page."""
    return {**query, "continue": _token(page)}


async def test_a_page_has_as_many_items_as_asked_for(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)

    page = await server.read(configmaps, limit=2)

    assert names(page) == ["n0", "n1"]
    assert page["metadata"]["remainingItemCount"] == 3
    assert _token(page)


async def test_pages_add_up_to_the_whole_list_at_one_version(
    server: Server, configmaps: str
) -> None:
    await _fill(server, configmaps)
    pages = [await server.read(configmaps, limit=2)]

    while _token(pages[-1]):
        pages.append(await server.read(configmaps, **_after(pages[-1], limit=2)))

    assert [names(page) for page in pages] == [["n0", "n1"], ["n2", "n3"], ["n4"]]
    assert len({version(page) for page in pages}) == 1
    assert [page["metadata"].get("remainingItemCount") for page in pages] == [3, 1, None]


async def test_later_pages_do_not_see_later_writes(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)
    first = await server.read(configmaps, limit=2)
    await server.create(configmaps, config_map("n3-late"))
    await server.delete(f"{configmaps}/n2")
    await server.edit(f"{configmaps}/n4", {"data": {"edited": "late"}})

    rest = await server.read(configmaps, **_after(first, limit=500))

    assert names(rest) == ["n2", "n3", "n4"]
    assert rest["items"][-1].get("data", {}) == {}
    assert version(rest) == version(first)
    assert not _token(rest)


async def test_a_continued_list_without_limit_takes_all_the_rest(
    server: Server, configmaps: str
) -> None:
    await _fill(server, configmaps)
    first = await server.read(configmaps, limit=2)

    rest = await server.read(configmaps, **_after(first))

    assert names(rest) == ["n2", "n3", "n4"]
    assert not _token(rest)


@pytest.mark.parametrize("limit", [5, 6, 0])
async def test_a_limit_that_is_not_reached_leaves_no_token(
    server: Server, configmaps: str, limit: int
) -> None:
    await _fill(server, configmaps)

    page = await server.read(configmaps, limit=limit)

    assert len(names(page)) == 5
    assert not _token(page)
    assert "remainingItemCount" not in page["metadata"]


async def test_pages_of_a_selection_do_not_count_what_remains(
    server: Server, configmaps: str
) -> None:
    await _fill(server, configmaps, count=6)

    first = await server.read(configmaps, limit=2, labelSelector="odd=0")
    rest = await server.read(configmaps, **_after(first, labelSelector="odd=0"))

    assert "remainingItemCount" not in first["metadata"]
    assert names(first) + names(rest) == ["n0", "n2", "n4"]


async def test_pages_cross_namespaces(server: Server) -> None:
    made = sorted([await server.new_namespace(), await server.new_namespace()])
    for namespace in made:
        for name in ("a", "b"):
            body = config_map(name, labels={"group": made[0]})
            await server.create(f"/api/v1/namespaces/{namespace}/configmaps", body)
    chosen = {"labelSelector": f"group={made[0]}", "limit": 3}

    first = await server.read("/api/v1/configmaps", **chosen)
    rest = await server.read("/api/v1/configmaps", **_after(first, **chosen))

    assert names(first) == ["a", "b", "a"]
    assert names(rest) == ["b"]


async def test_version_0_may_ignore_the_limit_but_never_loses_items(
    server: Server, configmaps: str
) -> None:
    await _fill(server, configmaps)

    async def complete() -> bool:
        listed = await server.read(configmaps, limit=2, resourceVersion="0")
        return bool(names(listed) == ["n0", "n1", "n2", "n3", "n4"] and not _token(listed))

    await server.eventually(complete, what="a list at version 0 has every item")


async def test_a_token_with_a_version_is_a_bad_request(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)
    first = await server.read(configmaps, limit=2)

    answer = await server.get(configmaps, **_after(first, resourceVersion="5"))

    assert_refused(
        answer,
        400,
        "BadRequest",
        "specifying resource version is not allowed when using continue",
    )


async def test_a_token_with_a_version_match_is_invalid(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)
    first = await server.read(configmaps, limit=2)

    query = _after(first, resourceVersion="5", resourceVersionMatch="Exact")
    answer = await server.get(configmaps, **query)

    problem = "Forbidden: resourceVersionMatch is forbidden when continue is provided"
    status = assert_refused(
        answer,
        422,
        "Invalid",
        f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: {problem}',
    )
    assert status["details"]["causes"] == [
        {"reason": "FieldValueForbidden", "message": problem, "field": "resourceVersionMatch"}
    ]


@pytest.mark.parametrize(
    "token",
    [
        "bogus",
        base64.urlsafe_b64encode(b"not json").decode().rstrip("="),
        base64.urlsafe_b64encode(json.dumps({"v": "other"}).encode()).decode().rstrip("="),
    ],
)
async def test_a_token_that_is_none_is_a_bad_request(
    server: Server, configmaps: str, token: str
) -> None:
    page = {"metadata": {"continue": token}}
    answer = await server.get(configmaps, **_after(page, limit=2))

    status = assert_refused(answer, 400, "BadRequest")
    assert status["message"].startswith("invalid continue token: continue key is not valid")


async def test_a_limit_that_is_no_number_is_a_bad_request(server: Server, configmaps: str) -> None:
    assert_refused(
        await server.get(configmaps, limit="many"),
        400,
        "BadRequest",
        'strconv.ParseInt: parsing "many": invalid syntax',
    )


async def _expired_page(server: Server, namespace: str, events: str) -> Json:
    """A first page (n0, n1) at a version that the server has forgotten."""
    for number in range(5):
        await server.create(events, event(f"n{number}", namespace))
    first = await server.read(events, limit=2)
    await server.create(events, event("n3-late", namespace))
    await server.forget_history()
    return first


async def test_an_expired_token_brings_a_fresh_one(
    server: Server, namespace: str, events: str
) -> None:
    first = await _expired_page(server, namespace, events)

    status = assert_refused(await server.get(events, **_after(first, limit=2)), 410, "Expired")

    assert "continue" in status["message"]
    assert status["metadata"]["continue"] not in ("", _token(first))


async def test_the_fresh_token_continues_at_the_latest_version(
    server: Server, namespace: str, events: str
) -> None:
    first = await _expired_page(server, namespace, events)
    expired = (await server.get(events, **_after(first, limit=2))).json()

    page = await server.read(events, **_after(expired, limit=2))
    rest = await server.read(events, **_after(page, limit=500))

    assert names(page) + names(rest) == ["n2", "n3", "n3-late", "n4"]
    assert version(page) == version(rest)
