"""Exits raised by async handlers on the loop thread of the blocking API."""

from __future__ import annotations

from typing import Any

import pytest

from kinform import blocking
from kinform.api import GVR
from kinform.blocking import ListWatch, SharedIndexInformer
from kinform.informers import HandlerFailure
from kinform.objects import Unstructured
from kinform.testing import BlockingApiServer


def config_map(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.mark.parametrize("exit_type", [SystemExit, KeyboardInterrupt])
def test_an_exit_of_an_async_handler_is_logged_and_counted(
    kinform_server: BlockingApiServer,
    caplog: pytest.LogCaptureFixture,
    exit_type: type[BaseException],
) -> None:
    """18.10: the loop thread survives an exit, so nothing else reports it."""
    for name in ("a", "b"):
        kinform_server.create(config_map(name))
    failures: list[HandlerFailure] = []
    seen: list[str] = []

    async def leave(obj: Unstructured) -> None:
        seen.append(obj.name)
        if obj.name == "a":
            raise exit_type

    with blocking.Client(kinform_server.config) as client:
        source = ListWatch.for_resource(client, GVR("", "v1", "configmaps"), namespace="default")
        with SharedIndexInformer(source, on_handler_error=failures.append) as informer:
            handler = informer.add_event_handler(on_add=leave, name="leaver")
            handler.has_synced.wait(20)
            stats = handler.stats

    assert sorted(seen) == ["a", "b"]
    assert (stats.processed, stats.failed, type(stats.last_error)) == (2, 1, exit_type)
    assert [(each.key, type(each.error)) for each in failures] == [("default/a", exit_type)]
    assert "leaver failed on ADDED of default/a" in caplog.text
