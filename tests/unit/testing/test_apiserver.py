"""The server as a whole: lifetime, addresses, credentials, the clock, and unusual requests."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import ssl
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

import aiohttp
import pytest

from kinform.errors import StateError
from kinform.testing import ApiServer
from kinform.testing.server import _listener
from tests.support import raw_http
from tests.support.waiting import wait_until

MAPS = "/api/v1/namespaces/default/configmaps"


def _map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def test_a_server_that_does_not_run_has_no_address() -> None:
    api = ApiServer(name="mine")

    with pytest.raises(StateError, match="'mine' is not running"):
        _ = api.url
    await api.stop()


async def test_a_server_runs_once_at_a_time() -> None:
    async with ApiServer() as api:
        with pytest.raises(StateError, match="is already running"):
            await api.start()


async def test_a_taken_port_is_said_to_be_taken(kinform_api: ApiServer) -> None:
    port = int(kinform_api.url.rpartition(":")[2])

    with pytest.raises(StateError, match=f"cannot listen on port {port}.*port=0"):
        await ApiServer(port=port).start()


async def test_what_it_holds_outlives_a_stop() -> None:
    api = ApiServer()
    async with api:
        api.create(_map("a"))
    async with api:
        answer = await raw_http.ask(api.url, f"{MAPS}/a")

    assert answer.json()["metadata"]["name"] == "a"


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("turns", range(-6, 8))
async def test_who_comes_while_it_stops_is_sent_away(turns: int, tls: bool) -> None:
    """So many turns of the loop before the stop begins, or after."""
    api = ApiServer(tls=tls)
    await api.start()
    address = urlsplit(api.url)
    stopping: asyncio.Task[None] | None = None
    if turns > 0:
        stopping = asyncio.create_task(api.stop())
        await _turns(turns)
    try:
        caller = socket.create_connection((address.hostname, address.port), timeout=10)
    except ConnectionRefusedError:
        assert turns > 0  # it had stopped listening
        assert stopping is not None
        await stopping
        return
    with caller:
        await _turns(-turns)
        await (stopping or api.stop())
        # A caller that was not let in is told so by the system.
        with suppress(ConnectionResetError):
            assert await asyncio.to_thread(caller.recv, 1) == b""


async def test_who_comes_in_the_middle_of_a_stop_is_sent_away_too() -> None:
    """The server is at rest when it is told to stop, and others keep coming."""
    for _ in range(20):
        api = ApiServer()
        await api.start()
        address = urlsplit(api.url)
        callers: list[socket.socket] = []

        def call(address: SplitResult = address, callers: list[socket.socket] = callers) -> None:
            with suppress(ConnectionRefusedError):
                callers.append(
                    socket.create_connection((address.hostname, address.port), timeout=10)
                )
                asyncio.get_running_loop().call_soon(call)

        call()
        await api.stop()
        for caller in callers:
            with caller, suppress(ConnectionResetError):
                assert await asyncio.to_thread(caller.recv, 1) == b""


async def _turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def test_stopping_does_not_wait_for_a_version_of_the_future() -> None:
    api = ApiServer(future_wait=60)
    await api.start()
    asking = asyncio.create_task(raw_http.ask(api.url, f"{MAPS}?resourceVersion={10**18}"))
    await api.requests.wait_for(lambda request: request.verb == "list")

    async with asyncio.timeout(15):  # a quarter of what it would wait for the version
        await api.stop()

    assert (await asking).end != raw_http.COMPLETE


async def test_a_version_that_comes_in_time_is_waited_for() -> None:
    async with ApiServer(future_wait=30) as api:
        version = int(api.resource_version) + 1
        path = f"{MAPS}?resourceVersion={version}"
        asking = asyncio.create_task(raw_http.ask(api.url, path))
        await api.requests.wait_for(lambda request: request.verb == "list")
        api.create(_map("a"))

        answer = await asking

    assert [item["metadata"]["name"] for item in answer.json()["items"]] == ["a"]


async def test_tokens_can_be_exchanged_while_it_runs() -> None:
    async with ApiServer(tokens={"old": "me"}) as api:
        old = {"Authorization": "Bearer old"}
        assert (await raw_http.ask(api.url, MAPS, headers=old)).status == 200

        api.replace_tokens({"new": "me"})

        assert (await raw_http.ask(api.url, MAPS, headers=old)).status == 401
        new = {"Authorization": "Bearer new"}
        assert (await raw_http.ask(api.url, MAPS, headers=new)).status == 200


async def test_tls_is_served_under_an_authority_of_its_own() -> None:
    async with ApiServer(tls=True) as api:
        assert api.url.startswith("https://")
        assert api.ca_data is not None
        file = api.ca_file
        assert file is not None
        assert file.read_bytes() == api.ca_data
        context = ssl.create_default_context(cadata=api.ca_data.decode())
        port = int(api.url.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.close()
        await writer.wait_closed()
    assert not file.exists()


async def test_a_server_without_tls_has_no_certificates_to_rotate(kinform_api: ApiServer) -> None:
    assert kinform_api.ca_data is None
    with pytest.raises(StateError, match="tls=True"):
        kinform_api.rotate_certificates()


async def test_a_body_that_is_too_large_is_refused(kinform_api: ApiServer) -> None:
    body = json.dumps(_map("big", text="x" * 4_000_000)).encode()

    answer = await raw_http.ask(kinform_api.url, MAPS, method="POST", body=body)

    assert answer.status == 413
    assert answer.json()["reason"] == "RequestEntityTooLarge"


@pytest.mark.parametrize(
    ("path", "headers"),
    [(f"{MAPS}/a?pretty=true", {}), (f"{MAPS}/a", {"User-Agent": "curl/8.0"})],
    ids=["asked for", "for a person"],
)
async def test_json_can_be_pretty(
    kinform_api: ApiServer, path: str, headers: dict[str, str]
) -> None:
    kinform_api.create(_map("a"))

    answer = await raw_http.ask(kinform_api.url, path, headers=headers)

    assert answer.body.startswith(b'{\n  "kind": "ConfigMap",\n')


async def test_a_list_can_be_pretty_and_so_can_a_refusal(kinform_api: ApiServer) -> None:
    kinform_api.create(_map("a"))

    listed = await raw_http.ask(kinform_api.url, f"{MAPS}?pretty=1")
    refused = await raw_http.ask(kinform_api.url, f"{MAPS}/nope?pretty=1")

    assert listed.body.startswith(b'{\n  "kind": "ConfigMapList",\n')
    assert refused.body.startswith(b'{\n  "kind": "Status",\n')


async def test_objects_and_lists_can_be_yaml(kinform_api: ApiServer) -> None:
    kinform_api.create(_map("a", k="v"))
    headers = {"Accept": "application/yaml"}

    one = await raw_http.ask(kinform_api.url, f"{MAPS}/a", headers=headers)
    many = await raw_http.ask(kinform_api.url, MAPS, headers=headers)

    assert one.headers["content-type"] == "application/yaml"
    assert b"apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n" in one.body
    assert b"kind: ConfigMapList\n" in many.body


async def test_a_table_is_answered_with_objects_if_those_are_accepted(
    kinform_api: ApiServer,
) -> None:
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"

    fallback = await raw_http.ask(
        kinform_api.url, MAPS, headers={"Accept": f"{table},application/json"}
    )
    alone = await raw_http.ask(kinform_api.url, MAPS, headers={"Accept": table})

    assert fallback.json()["kind"] == "ConfigMapList"
    assert alone.status == 406


async def test_server_side_apply_says_what_there_is_instead(kinform_api: ApiServer) -> None:
    answer = await raw_http.ask(
        kinform_api.url,
        f"{MAPS}/a?fieldManager=me",
        method="PATCH",
        headers={"Content-Type": "application/apply-patch+yaml"},
        body=b"{}",
    )

    assert answer.status == 415
    assert "application/strategic-merge-patch+json" in answer.json()["message"]


async def test_openapi_is_not_there(kinform_api: ApiServer) -> None:
    answer = await raw_http.ask(kinform_api.url, "/openapi/v3")

    assert (answer.status, answer.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health_can_be_verbose(kinform_api: ApiServer, path: str) -> None:
    answer = await raw_http.ask(kinform_api.url, f"{path}?verbose")

    assert answer.body.startswith(b"[+]ping ok\n")
    assert answer.body.endswith(f"{path[1:]} check passed\n".encode())
    assert (await raw_http.ask(kinform_api.url, f"{path}/ping")).body == b"ok"
    assert (await raw_http.ask(kinform_api.url, f"{path}/nope")).status == 404


async def test_the_root_tells_the_paths(kinform_api: ApiServer) -> None:
    paths = (await raw_http.ask(kinform_api.url, "/")).json()["paths"]

    assert {"/api", "/api/v1", "/apis/apps/v1", "/version", "/readyz"} <= set(paths)


async def test_who_comes_when_descriptors_have_run_out_waits_until_there_are_some(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_listener, "_PAUSE", 0.05)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with ApiServer() as api:
        address = urlsplit(api.url)
        with socket.create_connection((address.hostname, address.port), timeout=10) as caller:
            with open(os.devnull) as free:
                lowest_free = free.fileno()
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
            try:
                await wait_until(lambda: "cannot accept connections" in caplog.text)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await asyncio.to_thread(caller.recv, 4096)).startswith(b"HTTP/1.1 200")
    assert len(caplog.records) <= 2  # it is not asked again and again


async def test_a_replaced_token_gets_401() -> None:
    async with ApiServer(tokens={"old": "jane"}) as api:
        before = await raw_http.ask(api.url, MAPS, headers={"Authorization": "Bearer old"})
        api.replace_tokens({"new": "jane"})
        old = await raw_http.ask(api.url, MAPS, headers={"Authorization": "Bearer old"})
        new = await raw_http.ask(api.url, MAPS, headers={"Authorization": "Bearer new"})

    assert (before.status, old.status, new.status) == (200, 401, 200)
    assert old.json()["reason"] == "Unauthorized"


async def test_a_watch_survives_the_rotation_of_its_token() -> None:
    async with ApiServer(tokens={"old": "jane"}) as api:
        headers = {"Authorization": "Bearer old"}
        watch = f"{MAPS}?watch=true&resourceVersion={api.resource_version}"
        async with raw_http.open_answer(api.url, watch, headers=headers) as answer:
            api.replace_tokens({"new": "jane"})
            api.create(_map("a"))
            event = await answer.event()

    assert event["object"]["metadata"]["name"] == "a"


async def test_clients_must_trust_the_rotated_authority() -> None:
    async with ApiServer(tls=True) as api:
        old = _trusting(api)
        api.rotate_certificates()
        new = _trusting(api)
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await session.get(f"{api.url}/version", ssl=old)
            async with session.get(f"{api.url}/version", ssl=new) as answer:
                assert answer.status == 200


def _trusting(api: ApiServer) -> ssl.SSLContext:
    assert api.ca_data is not None
    return ssl.create_default_context(cadata=api.ca_data.decode())


async def test_certificates_cannot_be_rotated_without_tls(kinform_api: ApiServer) -> None:
    with pytest.raises(StateError, match="tls=True"):
        kinform_api.rotate_certificates()


async def test_timestamps_come_from_the_clock(kinform_api: ApiServer) -> None:
    kinform_api.clock = lambda: 1_000_000_000.0
    first = kinform_api.create(_map("a"))
    kinform_api.clock = lambda: 0.0
    second = kinform_api.create(_map("b"))

    assert first["metadata"]["creationTimestamp"] == "2001-09-09T01:46:40Z"
    assert second["metadata"]["creationTimestamp"] == "1970-01-01T00:00:00Z"


async def test_a_server_cannot_be_restored_to_a_version_of_the_future() -> None:
    """18.8: The error says where it is."""
    async with ApiServer() as api:
        now = api.resource_version
        with pytest.raises(StateError, match=f"cannot go back to version {now}9; it is at {now}"):
            api.restore(f"{now}9")


async def test_a_restarted_server_refuses_the_versions_of_the_one_before() -> None:
    """18.8: A watch that resumes at a version of the earlier server must get a 410."""
    async with ApiServer() as earlier:
        for number in range(20):
            earlier.create(_map(f"m{number}"))
        seen = earlier.resource_version

    async with ApiServer() as later:
        later.create(_map("new"))
        answer = await raw_http.ask(later.url, f"{MAPS}?watch=true&resourceVersion={seen}")

    assert int(later.resource_version) > int(seen)
    assert b'"code":410' in answer.body
