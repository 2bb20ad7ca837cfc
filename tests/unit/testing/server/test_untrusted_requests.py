"""18.22: What web pages, and programs with bad intentions or bugs, send to the server."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from kinform.testing import ApiServer
from tests.hostile.heartbeat import Heartbeat

MAPS = "/api/v1/namespaces/default/configmaps"
JSON = "application/json"
YAML = "application/yaml"
MERGE = "application/merge-patch+json"


def _map(name: str, **members: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **members}


async def _send(
    api: ApiServer, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, str]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        aiohttp.ClientSession(skip_auto_headers=["Content-Type"]) as session,
        session.request(method, api.url + path, data=body, headers=sent) as answer,
    ):
        return answer.status, await answer.text()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "10.0.0.1", "localhost.evil"])
async def test_other_names_in_the_host_header_are_refused(
    kinform_api: ApiServer, host: str
) -> None:
    """18.22: A page whose name suddenly means loopback (DNS rebinding) reads nothing."""
    status, text = await _send(kinform_api, "GET", MAPS, Host=host)

    assert status == 403
    assert "is not a name of this machine" in text


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:8", "127.1.2.3"]
)
async def test_the_names_of_loopback_are_accepted(kinform_api: ApiServer, host: str) -> None:
    """18.22: Whatever the port, which may be forwarded."""
    assert (await _send(kinform_api, "GET", MAPS, Host=host))[0] == 200


async def test_other_names_can_be_allowed() -> None:
    """18.22: For a server behind a proxy or in a container."""
    async with ApiServer(allowed_hosts=["api.Test"]) as api:
        assert (await _send(api, "GET", MAPS, Host="api.test:6443"))[0] == 200
        assert (await _send(api, "GET", MAPS, Host="api2.test"))[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_pages_of_other_sites_change_nothing(
    kinform_api: ApiServer, headers: dict[str, str], method: str
) -> None:
    """18.22: Not even with a request that a browser sends without asking first."""
    body = json.dumps(_map("a")).encode()

    status, text = await _send(kinform_api, method, MAPS, body, Content_Type=JSON, **headers)

    assert (status, "another site" in text) == (403, True)


async def test_pages_of_the_server_itself_may_write(kinform_api: ApiServer) -> None:
    """18.22: The origin is the server's own."""
    status, _ = await _send(
        kinform_api,
        "POST",
        MAPS,
        json.dumps(_map("a")).encode(),
        Content_Type=JSON,
        Origin=kinform_api.url,
        Sec_Fetch_Site="same-origin",
    )

    assert status == 201


@pytest.mark.parametrize("headers", [{}, {"Content_Type": "text/plain"}])
async def test_an_object_needs_its_content_type(
    kinform_api: ApiServer, headers: dict[str, str]
) -> None:
    """18.22: Forms and beacons of web pages cannot set one of those that are accepted."""
    body = json.dumps(_map("a")).encode()

    assert (await _send(kinform_api, "POST", MAPS, body, **headers))[0] == 415


BOMB = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(9)
)
MERGE_BOMB = "a: &a {k: v}\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} {{<<: [{', '.join(['*' + chr(97 + n)] * 10)}]}}\n"
    for n in range(9)
)
HEAD = '"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}'


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        pytest.param(BOMB, YAML, id="aliases"),
        pytest.param(MERGE_BOMB, YAML, id="merged-aliases"),
        pytest.param("a: &a [*a]", YAML, id="alias-of-itself"),
        pytest.param("a: " + "[" * 50_000, YAML, id="deep-yaml"),
        pytest.param("a: " + "[" * 250 + "]" * 250, YAML, id="rather-deep-yaml"),
        pytest.param("a: " + "9" * 5000, YAML, id="long-number-in-yaml"),
        pytest.param("a: 2001-99-99", YAML, id="impossible-date"),
        pytest.param("{? {a: b} : c}", YAML, id="mapping-as-key"),
        pytest.param("a: !!python/object:os.system {}", YAML, id="python-object"),
        pytest.param("a: \x00", YAML, id="not-yaml"),
        pytest.param(f'{{{HEAD},"x":{"[" * 100_000}', JSON, id="deep-json"),
        pytest.param(f'{{{HEAD},"x":{"[" * 500}{"]" * 500}}}', JSON, id="rather-deep-json"),
        pytest.param(f'{{{HEAD},"x":{"9" * 5000}}}', JSON, id="long-number"),
        pytest.param(f'{{{HEAD},"x":1e999}}', JSON, id="number-out-of-range"),
    ],
)
async def test_absurd_bodies_are_bad_requests(
    kinform_api: ApiServer, body: str, content_type: str
) -> None:
    """18.22: 400, not 500, and without using much time or memory."""
    status, text = await _send(kinform_api, "POST", MAPS, body.encode(), Content_Type=content_type)

    assert status == 400, text[:500]


async def test_deep_yaml_does_not_block_the_server(kinform_api: ApiServer) -> None:
    """18.22: a million brackets took ten seconds."""
    async with Heartbeat() as beat:
        status, _ = await _send(kinform_api, "POST", MAPS, b"[" * 1_000_000, Content_Type=YAML)

    assert status == 400
    assert beat.longest < 0.5


@pytest.mark.parametrize(
    "patch", ['{"data":' + '{"a":' * 100_000, '{"data":{"a":' + "9" * 5000 + "}}", '{"data":1e999}']
)
async def test_absurd_patches_are_bad_requests(kinform_api: ApiServer, patch: str) -> None:
    """18.22: 400, not 500."""
    kinform_api.create(_map("a"))

    status, text = await _send(
        kinform_api, "PATCH", f"{MAPS}/a", patch.encode(), Content_Type=MERGE
    )

    assert status == 400, text[:500]


@pytest.mark.parametrize(
    ("method", "query"),
    [
        ("GET", "limit=" + "9" * 5000),
        ("GET", "resourceVersion=" + "9" * 5000),
        ("GET", "watch=1&resourceVersion=" + "9" * 5000),
        ("GET", "watch=1&timeoutSeconds=" + "9" * 30),
        ("DELETE", "gracePeriodSeconds=" + "9" * 30),
    ],
)
async def test_absurd_numbers_are_bad_requests(
    kinform_api: ApiServer, method: str, query: str
) -> None:
    """18.22: 400, not 500."""
    assert (await _send(kinform_api, method, f"{MAPS}?{query}"))[0] == 400


async def test_a_pod_can_be_given_all_the_time_in_the_world(kinform_api: ApiServer) -> None:
    """18.22: A grace period beyond the calendar is valid in a request."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"nodeName": "n"}}
    kinform_api.create(pod)
    path = "/api/v1/namespaces/default/pods/a"

    status, text = await _send(kinform_api, "DELETE", f"{path}?gracePeriodSeconds={2**62}")

    assert status == 200, text
    assert json.loads(text)["metadata"]["deletionTimestamp"].startswith("9999-")


@pytest.mark.parametrize("value", ["&a {k: v}\n  b: *a", "2001-12-14", "0x10"])
async def test_ordinary_yaml_is_accepted(kinform_api: ApiServer, value: str) -> None:
    """18.22: Aliases are only bounded."""
    body = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\nextra:\n  a: {value}\n"

    assert (await _send(kinform_api, "POST", MAPS, body.encode(), Content_Type=YAML))[0] == 201


@pytest.mark.parametrize(
    "half",
    [
        b"",
        b"GET /version HTTP/1.1\r\nHost: lo",
        b"POST " + MAPS.encode() + b" HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ],
    ids=["nothing", "headers", "body"],
)
async def test_half_a_request_times_out(half: bytes) -> None:
    """18.22: Otherwise its connection would stay open until the server stops."""
    async with ApiServer(idle_timeout=0.2) as api:
        address = urlsplit(api.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(half)
        try:
            async with asyncio.timeout(30):
                with contextlib.suppress(ConnectionResetError):
                    assert await reader.read() == b""
        finally:
            writer.close()
