"""Which moment a list shows: every combination of version, match and limit."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.harness import Json, Server, assert_refused, names, version
from tests.conformance.samples import config_map, event

UNLESS_VERSION = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
NOT_EXACTLY_0 = 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
UNKNOWN_MATCH = 'Unsupported value: "Bogus": supported values: "Exact", "NotOlderThan", ""'


def _query(**given: str) -> dict[str, str]:
    names = {"rv": "resourceVersion", "match": "resourceVersionMatch", "limit": "limit"}
    return {names[name]: value for name, value in given.items() if value}


@pytest.mark.parametrize("match", ["", "NotOlderThan"])
async def test_a_version_is_a_lower_bound(server: Server, configmaps: str, match: str) -> None:
    old = await server.create(configmaps, config_map("a"))
    new = await server.create(configmaps, config_map("b"))
    bound = old["metadata"]["resourceVersion"]

    async def caught_up() -> bool:
        listed = await server.read(configmaps, **_query(rv=bound, match=match))
        assert version(listed) >= version(old)
        return bool(names(listed) == ["a", "b"] and version(listed) >= version(new))

    await server.eventually(caught_up, what="the list shows what came after its bound")


async def test_the_newest_version_as_bound_shows_the_newest_write(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, config_map("a"))
    new = await server.create(configmaps, config_map("b"))
    bound = new["metadata"]["resourceVersion"]

    listed = await server.read(configmaps, **_query(rv=bound, match="NotOlderThan"))

    assert names(listed) == ["a", "b"]


@pytest.mark.parametrize(
    ("match", "limit"), [("Exact", ""), ("Exact", "5"), ("", "5")], ids=lambda value: value or "no"
)
async def test_exact_shows_the_list_as_it_was(
    server: Server, configmaps: str, match: str, limit: str
) -> None:
    await server.create(configmaps, config_map("a", key="old"))
    then = await server.create(configmaps, config_map("b"))
    await server.create(configmaps, config_map("c"))
    await server.edit(f"{configmaps}/a", {"data": {"key": "new"}})
    await server.delete(f"{configmaps}/b")
    at = then["metadata"]["resourceVersion"]

    listed = await server.read(configmaps, **_query(rv=at, match=match, limit=limit))

    assert names(listed) == ["a", "b"]
    assert listed["items"][0]["data"] == {"key": "old"}
    assert listed["metadata"]["resourceVersion"] == at


async def test_exact_pages_stay_at_that_version(server: Server, configmaps: str) -> None:
    for name in ("a", "b", "c"):
        last = await server.create(configmaps, config_map(name))
    at = last["metadata"]["resourceVersion"]
    await server.delete(f"{configmaps}/c")

    first = await server.read(configmaps, **_query(rv=at, match="Exact", limit="2"))
    token = {"continue": first["metadata"]["continue"]}
    rest = await server.read(configmaps, limit=2, **token)

    assert names(first) + names(rest) == ["a", "b", "c"]
    assert first["metadata"]["resourceVersion"] == rest["metadata"]["resourceVersion"] == at
    assert first["metadata"]["remainingItemCount"] == 1


async def test_a_lower_bound_can_be_paged(server: Server, configmaps: str) -> None:
    for name in ("a", "b", "c"):
        last = await server.create(configmaps, config_map(name))
    bound = last["metadata"]["resourceVersion"]

    page = await server.read(configmaps, **_query(rv=bound, match="NotOlderThan", limit="2"))

    assert names(page) == ["a", "b"]
    assert page["metadata"]["continue"]


@pytest.mark.parametrize("match", ["", "NotOlderThan"])
async def test_version_0_shows_whatever_there_is(
    server: Server, configmaps: str, match: str
) -> None:
    await server.create(configmaps, config_map("a"))

    async def there() -> bool:
        listed = await server.read(configmaps, **_query(rv="0", match=match))
        return names(listed) == ["a"]

    await server.eventually(there, what="a list at version 0 has the item")


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({"match": "Exact"}, [("FieldValueForbidden", UNLESS_VERSION)]),
        ({"match": "NotOlderThan"}, [("FieldValueForbidden", UNLESS_VERSION)]),
        ({"match": "NotOlderThan", "limit": "5"}, [("FieldValueForbidden", UNLESS_VERSION)]),
        ({"match": "Exact", "rv": "0"}, [("FieldValueForbidden", NOT_EXACTLY_0)]),
        ({"match": "Exact", "rv": "0", "limit": "5"}, [("FieldValueForbidden", NOT_EXACTLY_0)]),
        ({"match": "Bogus", "rv": "5"}, [("FieldValueNotSupported", UNKNOWN_MATCH)]),
        (
            {"match": "Bogus"},
            [
                ("FieldValueForbidden", UNLESS_VERSION),
                ("FieldValueNotSupported", UNKNOWN_MATCH),
            ],
        ),
    ],
    ids=str,
)
async def test_an_illegal_combination_is_invalid(
    server: Server, configmaps: str, given: dict[str, str], problems: list[tuple[str, str]]
) -> None:
    answer = await server.get(configmaps, **_query(**given))

    said = [f"resourceVersionMatch: {message}" for _, message in problems]
    listed = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    causes: list[Json] = [
        {"reason": reason, "message": message, "field": "resourceVersionMatch"}
        for reason, message in problems
    ]
    assert_refused(
        answer,
        422,
        "Invalid",
        f'ListOptions.meta.k8s.io "" is invalid: {listed}',
        details={"group": "meta.k8s.io", "kind": "ListOptions", "causes": causes},
    )


@pytest.mark.parametrize("illegal", ["newest", "-1"])
@pytest.mark.parametrize("match", ["", "Exact", "NotOlderThan"])
async def test_a_version_that_is_no_number_is_a_bad_request(
    server: Server, configmaps: str, illegal: str, match: str
) -> None:
    assert_refused(
        await server.get(configmaps, **_query(rv=illegal, match=match)),
        400,
        "BadRequest",
        f'invalid resource version: resourceVersion: Invalid value: "{illegal}": '
        f'strconv.ParseUint: parsing "{illegal}": invalid syntax',
    )


async def test_a_version_of_the_future_times_out(server: Server, configmaps: str) -> None:
    """Takes 3 s: so long the server waits for the future to come."""
    await server.create(configmaps, config_map("one"))
    future = "999999999999999999"

    answers = await asyncio.gather(
        server.get(configmaps, **_query(rv=future)),
        server.get(configmaps, **_query(rv=future, match="Exact")),
        server.get(configmaps, **_query(rv=future, match="NotOlderThan")),
        server.get(f"{configmaps}/one", **_query(rv=future)),
    )

    for answer in answers:
        status = assert_refused(answer, 504, "Timeout")
        assert status["message"].startswith(
            f"Timeout: Too large resource version: {future}, current: "
        )
        too_large = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        assert status["details"] == {"causes": [too_large], "retryAfterSeconds": 1}
        assert answer.headers["Retry-After"] == "1"


@pytest.mark.parametrize(("match", "limit"), [("Exact", ""), ("", "5")])
async def test_a_forgotten_version_is_expired(
    server: Server, namespace: str, events: str, match: str, limit: str
) -> None:
    old = await server.create(events, event("a", namespace))
    await server.create(events, event("b", namespace))
    await server.forget_history()
    at = old["metadata"]["resourceVersion"]

    answer = await server.get(events, **_query(rv=at, match=match, limit=limit))

    status = assert_refused(
        answer, 410, "Expired", "The resourceVersion for the provided list is too old."
    )
    assert status["metadata"] == {}


async def test_a_forgotten_version_is_still_a_lower_bound(
    server: Server, namespace: str, events: str
) -> None:
    old = await server.create(events, event("a", namespace))
    await server.create(events, event("b", namespace))
    await server.forget_history()
    bound = old["metadata"]["resourceVersion"]

    listed = await server.read(events, **_query(rv=bound, match="NotOlderThan"))

    assert names(listed) == ["a", "b"]


async def test_initial_events_are_not_for_lists(server: Server, configmaps: str) -> None:
    answer = await server.get(configmaps, sendInitialEvents="true")

    problem = "Forbidden: sendInitialEvents is forbidden for list"
    assert_refused(
        answer,
        422,
        "Invalid",
        f'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: {problem}',
    )
