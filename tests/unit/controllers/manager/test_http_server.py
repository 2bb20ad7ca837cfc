"""The pages of a manager, read with a real HTTP client."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from kinform import Cache, Client
from kinform.controllers.manager import Manager, _metrics_page
from kinform.errors import ConfigError, ControllerError
from kinform.metrics import PrometheusMetrics
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer, faults
from tests.support.config_maps import config_map
from tests.support.informer_sources import QUICK
from tests.support.managed_fakes import FakeController, FakeElector, new_manager
from tests.support.waiting import wait_until


class Browser:
    """Reads pages of a manager."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, manager: Manager, path: str, **headers: str) -> tuple[int, str]:
        url = f"http://{manager.address}{path}"
        async with self._session.get(url, headers=headers) as response:
            return response.status, await response.text()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with aiohttp.ClientSession() as session:
        yield Browser(session)


async def test_a_ready_manager_answers_ok(browser: Browser) -> None:
    async with new_manager(address="127.0.0.1:0") as manager:
        await manager.ready
        assert await browser.get(manager, "/healthz") == (200, "ok")
        assert await browser.get(manager, "/readyz") == (200, "ok")
        assert await browser.get(manager, "/readyz?verbose") == (
            200,
            "[+]manager ok\n[+]caches ok\n[+]controllers ok\nreadyz check passed\n",
        )


async def test_port_0_chooses_a_port_that_the_address_names() -> None:
    manager = new_manager(address=":0")
    assert manager.address == "127.0.0.1:0"
    async with manager:
        await manager.ready
        host, _, port = manager.address.rpartition(":")
        assert host == "127.0.0.1"
        assert int(port) > 0
    with socket.socket() as listener:  # it is free again
        listener.bind((host, int(port)))


async def test_a_port_in_use_is_a_clear_error() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        journal: list[str] = []
        manager = new_manager(address=address)
        manager.add(FakeController("web", journal))
        with pytest.raises(
            ControllerError, match=f"cannot listen on {address}: .*in use.*port 0 chooses"
        ):
            await manager.run()

    assert journal == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("address", ["8080", "localhost", "::1:8080", "127.0.0.1:x", ":70000", ""])
def test_a_wrong_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="address must be host:port"):
        new_manager(address=address)


async def test_an_ipv6_address_is_written_in_brackets(browser: Browser) -> None:
    async with new_manager(address="[::1]:0") as manager:
        await manager.ready
        assert manager.address.startswith("[::1]:")
        assert await browser.get(manager, "/healthz") == (200, "ok")


async def test_probes_are_answered_while_a_controller_warms_up(browser: Browser) -> None:
    manager = new_manager(address=":0")
    web = FakeController("web", [])
    web.may_warm_up.clear()
    manager.add(web)
    async with manager:
        await wait_until(lambda: web.cluster is not None)
        status, text = await browser.get(manager, "/readyz")
        assert status == 503
        assert "[-]manager failed: manager is starting\n" in text
        assert "[-]controllers failed: web: warming up\n" in text
        assert text.endswith("readyz check failed\n")
        assert await browser.get(manager, "/healthz") == (200, "ok")


async def test_a_problem_of_a_controller_makes_it_unready_but_not_dead(browser: Browser) -> None:
    manager = new_manager(address=":0")
    web = FakeController("web", [])
    web.found = ("default/a runs for 900 s",)
    manager.add(web)
    async with manager:
        await manager.ready
        status, text = await browser.get(manager, "/readyz/controllers")
        assert (status, text) == (
            503,
            "[-]controllers failed: web: default/a runs for 900 s\nreadyz check failed\n",
        )
        assert (await browser.get(manager, "/readyz?exclude=controllers"))[0] == 200
        assert (await browser.get(manager, "/healthz"))[0] == 200


async def test_excluded_checks_do_not_count_and_unknown_ones_are_named(browser: Browser) -> None:
    manager = new_manager(address=":0")
    manager.add_ready_check("database", lambda: "connection refused")
    manager.add_ready_check("disk", lambda: False)
    async with manager:
        await manager.ready
        status, text = await browser.get(
            manager, "/readyz?exclude=database&exclude=disk,tape&verbose"
        )
        assert status == 200
        assert "database" not in text
        assert "warn: no checks to exclude: tape\n" in text
        status, text = await browser.get(manager, "/readyz?exclude=disk")
        assert (status, "[-]database failed: connection refused\n" in text) == (503, True)
        status, text = await browser.get(manager, "/readyz/tape")
        assert status == 404
        assert "readyz has no check 'tape'; it has manager, caches, controllers, database" in text


async def test_liveness_does_not_depend_on_the_api_server(
    kinform_api: ApiServer, browser: Browser
) -> None:
    kinform_api.create(config_map("a"))
    async with Client(kinform_api.config) as client:
        cache = Cache(client, kinds=[ConfigMap], options=QUICK)
        async with Manager(client, cache=cache, address=":0") as manager:
            await manager.ready
            kinform_api.faults.inject(faults.unavailable(), resource="configmaps", times=None)
            kinform_api.end_watches("configmaps")
            await wait_until(lambda: bool(cache.health().problems))
            assert await browser.get(manager, "/healthz") == (200, "ok")
            status, text = await browser.get(manager, "/readyz?verbose")
            # The cache serves what it has, and the page says that it is not current.
            assert status == 200
            assert "[+]caches ok, but v1/configmaps: synced, but not updated" in text


async def test_caches_that_do_not_sync_make_the_manager_unready_with_the_reason(
    kinform_api: ApiServer, browser: Browser
) -> None:
    kinform_api.faults.inject(faults.forbidden(), resource="configmaps", times=None)
    async with Client(kinform_api.config) as client:
        cache = Cache(client, kinds=[ConfigMap], options=QUICK)
        async with Manager(client, cache=cache, address=":0") as manager:
            await wait_until(lambda: "forbidden" in str(cache.health()).lower())
            status, text = await browser.get(manager, "/readyz")
            assert status == 503
            assert "[-]caches failed: v1/configmaps: not synced" in text
            assert "forbidden" in text.lower()
            assert await browser.get(manager, "/healthz") == (200, "ok")


async def test_work_after_a_lost_lease_fails_liveness(browser: Browser) -> None:
    elector = FakeElector()
    async with new_manager(address=":0", election=elector) as manager:
        await manager.ready
        elector.last_error = "connection refused"
        status, text = await browser.get(manager, "/healthz?verbose")
        assert (status, "[+]leader ok, but connection refused\n" in text) == (200, True)
        elector.found = ("the work goes on 20.0 s after its lease ended",)
        status, text = await browser.get(manager, "/healthz")
        assert (status, "[-]leader failed: the work goes on" in text) == (503, True)


async def test_metrics_are_those_of_the_registry(browser: Browser) -> None:
    prometheus = pytest.importorskip("prometheus_client")
    registry = prometheus.CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    metrics.watch_opened("pods")
    async with new_manager(address=":0", metrics=metrics) as manager:
        await manager.ready
        status, text = await browser.get(manager, "/metrics")
        assert status == 200
        assert 'reflector_watches_total{name="pods"} 1.0' in text
        assert "python_info" not in text
        _, text = await browser.get(manager, "/metrics", Accept="application/openmetrics-text")
        assert text.endswith("# EOF\n")


async def test_metrics_without_prometheus_name_the_extra(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.setattr(_metrics_page, "find_spec", lambda name: None)
    async with new_manager(address=":0") as manager:
        await manager.ready
        status, text = await browser.get(manager, "/metrics")
        assert (status, "pip install 'kinform[prometheus]'" in text) == (404, True)


async def test_debug_pages_can_be_switched_off(browser: Browser) -> None:
    async with new_manager(address=":0", debug=False) as manager:
        await manager.ready
        assert (await browser.get(manager, "/debug/controllers"))[0] == 404
        assert (await browser.get(manager, "/"))[1].split() == [
            "/healthz?verbose",
            "/readyz?verbose",
            "/metrics",
        ]


async def test_debug_pages_are_json_and_html(kinform_api: ApiServer, browser: Browser) -> None:
    kinform_api.create(config_map("a"))
    async with Client(kinform_api.config) as client:
        cache = Cache(client, kinds=[ConfigMap])
        manager = Manager(client, cache=cache, address=":0")
        manager.add(FakeController("web", []))
        async with manager:
            await manager.ready
            _, text = await browser.get(manager, "/debug/informers")
            informers: Any = json.loads(text)
            assert informers["clusters"][0]["informers"]["v1/configmaps"]["objects"] >= 1
            _, text = await browser.get(manager, "/debug/controllers")
            controllers: Any = json.loads(text)
            assert controllers["components"][0]["controller"] == {"name": "web", "state": "working"}
            for path in ("/debug/informers", "/debug/controllers"):
                _, by_header = await browser.get(manager, path, Accept="text/html,*/*")
                _, by_query = await browser.get(manager, f"{path}?format=html")
                assert by_header.startswith("<!doctype html>")
                assert by_query.startswith("<!doctype html>")
                _, forced = await browser.get(manager, f"{path}?format=json", Accept="text/html")
                json.loads(forced)
            assert (
                "<td>v1/configmaps</td>"
                in (await browser.get(manager, "/debug/informers?format=html"))[1]
            )


async def test_the_pages_are_served_until_the_caches_have_stopped(browser: Browser) -> None:
    manager = new_manager(address=":0")
    web = FakeController("web", [])
    closing, may_close = asyncio.Event(), asyncio.Event()

    async def close() -> None:
        closing.set()
        await may_close.wait()

    web.close = close  # type: ignore[method-assign]
    manager.add(web)
    async with manager:
        await manager.ready
        manager.stop()
        await closing.wait()
        status, text = await browser.get(manager, "/readyz")
        assert (status, "[-]manager failed: manager is stopping\n" in text) == (503, True)
        may_close.set()
        await manager.stopped
        with pytest.raises(aiohttp.ClientConnectionError):
            await browser.get(manager, "/readyz")


async def test_an_open_connection_does_not_delay_the_stop() -> None:
    async with new_manager(address=":0") as manager:
        await manager.ready
        host, _, port = manager.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert manager.failure is None
    writer.close()


def test_a_manager_without_an_address_does_not_import_the_server() -> None:
    program = (
        "import sys, kinform; from kinform.controllers.manager import Manager\n"
        "Manager(kinform.Client(kinform.ClusterConfig(server='http://127.0.0.1:9')))\n"
        "print('aiohttp.web' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout == "False\n"
