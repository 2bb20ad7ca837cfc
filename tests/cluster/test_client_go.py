"""An informer of client-go, which speaks protobuf, against the embedded server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from benchmarks.conversation import run_to_end
from kinform.testing import BlockingApiServer
from tests.support.built import built_or_skip
from tools.go_programs import CLIENT_GO

pytestmark = pytest.mark.cluster

PROTOBUF = "application/vnd.kubernetes.protobuf"
COUNT = 100


def _pod(number: int) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "example.test/main:1",
        "resources": {"requests": {"cpu": "100m"}},
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "namespace": "default"},
        "spec": {"containers": [container]},
    }


def test_client_go_reads_lists_and_watches_of_this_server_in_protobuf(
    kinform_server: BlockingApiServer,
) -> None:
    program = built_or_skip(CLIENT_GO.built)
    kinform_server.load(_pod(number) for number in range(COUNT))
    # It ends when its handler has been told of all pods: those it finds, and those that come later.
    given = {
        "kubeconfig": str(kinform_server.kubeconfig()),
        "mode": "sync",
        "content": "protobuf",
        "objects": 2 * COUNT,
        "rest": 0,
    }

    with ThreadPoolExecutor() as threads:
        running = threads.submit(run_to_end, CLIENT_GO.name, [str(program)], given)
        watch = kinform_server.requests.wait_for(
            lambda request: request.verb == "watch" and request.status is not None, timeout=60
        )
        for number in range(COUNT, 2 * COUNT):
            kinform_server.create(_pod(number))
        record = running.result(timeout=60)

    assert record["objects"] == 2 * COUNT
    assert (watch.status, watch.headers["accept"]) == (200, PROTOBUF)
    # It never had to come back: every frame was one that it could read.
    assert len(kinform_server.requests.watches()) == 1
