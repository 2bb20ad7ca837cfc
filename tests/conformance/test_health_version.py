"""The paths that say how the server is and which one it is."""

from __future__ import annotations

import re

import pytest

from tests.conformance.harness import Server, assert_refused


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_a_healthy_server_says_ok(server: Server, path: str) -> None:
    answer = await server.get(path, accept="*/*")

    assert answer.status == 200
    assert answer.body == b"ok"
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
async def test_nobody_needs_a_token_for_that(server: Server, path: str) -> None:
    assert (await server.request("GET", path, token=None)).status == 200


async def test_the_version_tells_major_and_minor(server: Server) -> None:
    found = await server.read("/version")

    assert found["major"] == "1"
    assert re.fullmatch(r"\d+\+?", found["minor"])
    assert re.match(r"v1\.\d+\.\d+", found["gitVersion"])
    assert {"gitCommit", "buildDate", "platform"} <= set(found)


async def test_the_version_is_only_for_reading(server: Server) -> None:
    assert_refused(await server.delete("/version"), 405, "MethodNotAllowed")
