"""The debug pages with real controllers: queues, oldest keys, errors, and foreign text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Client
from kinform.controllers import Context, Controller, Request
from kinform.controllers.manager import Manager
from kinform.controllers.manager._debug_pages import (
    controllers_data,
    controllers_html,
    informers_data,
    informers_html,
)
from kinform.controllers.manager._html import Page, bytes_text, seconds_text
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer, faults
from tests.support.config_maps import config_map
from tests.support.managed_fakes import FakeController, new_manager
from tests.support.waiting import wait_until


@pytest.fixture
async def client(kinform_api: ApiServer) -> AsyncIterator[Client]:
    async with Client(kinform_api.config) as client:
        yield client


async def test_the_page_of_controllers_shows_queue_failures_and_running_keys(
    kinform_api: ApiServer, client: Client
) -> None:
    for name in ("bad", "hangs", "next"):
        kinform_api.create(config_map(name))

    async def reconcile(request: Request, context: Context[Any]) -> None:
        if request.name == "bad":
            raise RuntimeError("<b>no disk</b>")
        if request.name == "hangs":
            await asyncio.Event().wait()

    manager = Manager(client, grace=0)
    maps: Controller[Any] = Controller("maps", reconcile, for_=ConfigMap, sync_timeout=20)
    manager.add(maps)
    async with manager:
        await wait_until(lambda: "default/hangs" in maps.status().active)
        maps.queue.add(Request("bad", "default"))
        maps.queue.add(Request("next", "default"))
        await wait_until(lambda: bool(maps.status().failures))
        data = controllers_data(manager._engine, manager.status())
        html = controllers_html(data)

    status = data["components"][0]["controller"]
    assert status["active"].keys() == {"default/hangs"}
    assert status["queue"]["longest_running_key"] == "default/hangs"
    assert isinstance(status["queue"]["oldest_key"], str)
    assert status["failures"][0]["error"] == "RuntimeError: <b>no disk</b>"
    assert "RuntimeError: &lt;b&gt;no disk&lt;/b&gt;" in html
    assert "<b>no disk" not in html
    for caption in ("Queues", "Reconciles", "Running now", "Last failures", "Sources"):
        assert f"<caption>{caption}</caption>" in html
    assert "<p>running, this is the leader</p>" in html


async def test_the_page_of_informers_shows_staleness_and_errors(
    kinform_api: ApiServer, client: Client
) -> None:
    manager = Manager(client)
    manager.cache.declare(ConfigMap)
    async with manager:
        await manager.ready
        kinform_api.faults.inject(faults.forbidden(), resource="configmaps", times=None)
        kinform_api.end_watches("configmaps")
        await wait_until(lambda: "forbidden" in str(manager.cache.health()).lower())
        data = informers_data(manager._clusters)
        html = informers_html(data)

    informer = data["clusters"][0]["informers"]["v1/configmaps"]
    assert informer["synced"]
    assert informer["staleness"] >= 0
    assert "forbidden" in informer["last_error"].lower()
    assert informer["recent_errors"]
    assert '<ul class="problem"><li>v1/configmaps: synced, but not updated' in html
    assert "<caption>Recent errors</caption>" in html


async def test_controllers_of_other_classes_are_shown_as_they_are() -> None:
    manager = new_manager()
    manager.add(FakeController("web", []))
    broken = FakeController("broken", [])

    def status() -> None:
        raise RuntimeError("no status")

    broken.status = status  # type: ignore[method-assign]
    manager.add(broken)
    async with manager:
        await manager.ready
        html = controllers_html(controllers_data(manager._engine, manager.status()))

    assert "<tr><td>state</td><td>working</td></tr>" in html
    assert "RuntimeError: no status" in html


def test_an_empty_manager_has_pages() -> None:
    manager = new_manager()

    assert "no components" in controllers_html(controllers_data(manager._engine, manager.status()))
    assert "no informers" in informers_html(informers_data(manager._clusters))


def test_cells_are_escaped_and_readable() -> None:
    page = Page("a < b")
    page.table(("x_y",), [("<i>",), (True,), (1.25,), (None,), ({"a": [1, 2]},)], title="t&t")
    html = page.render()

    assert "<title>a &lt; b</title>" in html
    assert "<th>x y</th>" in html
    assert "<caption>t&amp;t</caption>" in html
    for cell in ("<td>&lt;i&gt;</td>", "<td>yes</td>", "<td></td>", "<td>a: 1, 2</td>"):
        assert cell in html


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0.04, "0.0 s"), (119.0, "119.0 s"), (300.0, "5 min"), (7200.0, "2 h")],
)
def test_durations_are_short(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (2048, "2.0 KiB"), (5 << 20, "5.0 MiB"), (3 << 30, "3.0 GiB")]
)
def test_sizes_are_short(number: int, text: str) -> None:
    assert bytes_text(number) == text
