"""Warnings about handlers that fall behind."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest
from msgspec.structs import replace

from kinform.informers import SharedIndexInformer
from kinform.informers.dispatch import _backlog_monitor
from kinform.informers.dispatch._dispatcher import Dispatcher
from kinform.informers.dispatch._handler_options import HandlerOptions
from kinform.informers.dispatch._mailbox import Policy
from kinform.objects import Unstructured
from tests.support.changes import added, record, version, wake
from tests.support.informer_sources import LoggedSource
from tests.support.waiting import wait_until

A = record("a")


def ignore(_: Unstructured) -> None:
    """A handler that does nothing."""


@pytest.fixture
def pods() -> Dispatcher[Unstructured]:
    return Dispatcher(name="pods", from_entry=wake, version=version)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


async def test_a_growing_backlog_is_logged_at_each_tenfold_and_its_end(
    pods: Dispatcher[Unstructured], caplog: pytest.LogCaptureFixture
) -> None:
    """18.12: a stuck handler used gigabytes, and nothing was logged."""
    caplog.set_level(logging.INFO, "kinform.dispatch")
    handler = pods.add(HandlerOptions(on_add=ignore, name="slow"))
    monitor = pods.backlog_monitor
    for count in (9_999, 1, 1, 89_999):
        # A record of its own for each change, as superseded versions have.
        pods.deliver([added(replace(A)) for _ in range(count)])
        monitor.check()
        monitor.check()
    first, second = warnings(caplog)
    megabytes = f"{len(A.payload) / 100:.1f} MB of objects, the oldest for "
    assert first.startswith("handler pods/slow is behind: 10000 changes pending, about ")
    assert megabytes in first
    assert first.endswith(
        "policy='coalesce' keeps one change per object, 'block' pauses the informer"
    )
    assert second.startswith("handler pods/slow is behind: 100000 changes pending")

    pods.start()
    await wait_until(lambda: handler.stats.processed == 100_000)
    monitor.check()
    monitor.check()
    await pods.stop()
    assert caplog.messages[2:] == ["handler pods/slow has caught up: 0 changes pending"]


@pytest.mark.parametrize("policy", ["unbounded", "block", "coalesce"])
def test_an_old_change_is_logged_whatever_the_policy(
    pods: Dispatcher[Unstructured], caplog: pytest.LogCaptureFixture, policy: Policy
) -> None:
    """18.12: a stuck handler of a quiet resource has few pending changes."""
    pods.add(HandlerOptions(on_add=ignore, name="stuck", policy=policy))
    pods.deliver([replace(added(A), at=time.monotonic() - 61)])
    pods.backlog_monitor.check()
    pods.backlog_monitor.check()
    (warning,) = warnings(caplog)
    assert "handler pods/stuck is behind: 1 changes pending" in warning
    assert "the oldest for 61 s" in warning
    assert ("policy='coalesce'" in warning) == (policy == "unbounded")


async def test_a_running_informer_checks_its_handlers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """18.12: the monitor runs with the informer."""
    monkeypatch.setattr(_backlog_monitor, "_INTERVAL", 0.01)
    monkeypatch.setattr(_backlog_monitor, "_DEPTH", 2)
    source, release = LoggedSource(), asyncio.Event()
    for name in ("a", "b", "c", "d"):
        source.add(name)
    informer = SharedIndexInformer(source.list_watch("pods"), name="pods")

    async def stuck(_: Unstructured) -> None:
        await release.wait()

    informer.add_event_handler(on_add=stuck, name="stuck")
    async with informer:
        await wait_until(lambda: len(warnings(caplog)) > 0)
        release.set()
    assert "handler pods/stuck is behind: 3 changes pending" in warnings(caplog)[0]
