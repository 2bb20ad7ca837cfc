"""Starts a process that changes the pods of a real server at a steady rate.

Changes are written to etcd directly: a PATCH would cost the API server CPU time, which it shares
with the contenders. A watcher sees no difference.
"""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from benchmarks.pods import stored_pods
from benchmarks.servers import ROOT, as_base64, ask_etcd, python_process, store_pods
from benchmarks.writer import PLACE, STAMP
from tests.support.cluster import RealCluster

RATE = 500
"""Changes a second of a steady stream."""
CHANGED_PODS = 2000
"""How many pods take turns in it."""

_LATE = 1.05


def prepare_changes(cluster: RealCluster, count: int, file: Path) -> None:
    """Let the first ``count`` pods have the label that is changed; keep their bodies in ``file``.

    In the form that the server itself stores: with JSON in etcd it would spend more on reading
    each change than all contenders on hearing of it.
    """
    labelled = []
    for key, body in stored_pods(count):
        pod = msgspec.json.decode(body)
        pod["metadata"].setdefault("labels", {})[STAMP] = PLACE
        labelled.append((key, msgspec.json.encode(pod)))
    store_pods(cluster.etcd_url, labelled)
    stored = list(_as_protobuf(cluster, [key for key, _ in labelled]))
    store_pods(cluster.etcd_url, stored)
    file.write_bytes(msgspec.msgpack.encode(stored))


def _as_protobuf(cluster: RealCluster, keys: list[str]) -> Iterator[tuple[str, bytes]]:
    """What the server answers is what it would store."""
    address = urlsplit(cluster.url).netloc
    connection = http.client.HTTPSConnection(address, context=cluster.ssl_context(), timeout=60)
    headers = {
        "Authorization": f"Bearer {cluster.admin_token}",
        "Accept": "application/vnd.kubernetes.protobuf",
    }
    for key in keys:
        namespace, _, name = key.partition("/")
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200 or body.count(PLACE.encode()) != 1:
            raise RuntimeError(f"{path} responded with {answer.status}, or once without the label")
        yield key, body
    connection.close()


@contextmanager
def writer(etcd_url: str, pods: Path, *, events: int, rate: int) -> Iterator[Callable[[], None]]:
    """A process that is ready to write; call what is given to let it, and wait until it has."""
    options = (f"--etcd={etcd_url}", f"--pods={pods}", f"--events={events}", f"--rate={rate}")
    with python_process(str(ROOT / "benchmarks" / "writer.py"), *options) as process:
        assert process.stdout is not None
        process.stdout.readline()

        def write() -> None:
            printed, _ = process.communicate("go\n")
            if process.returncode:
                raise RuntimeError("the writer failed; its output is above")
            seconds = json.loads(printed)["seconds"]
            if seconds > events / rate * _LATE:
                print(f"the writer took {seconds:.1f} s, not {events / rate}", file=sys.stderr)

        yield write


def compact(etcd_url: str) -> None:
    """Let etcd forget old versions of what is stored: its file is bounded."""
    revision = ask_etcd(f"{etcd_url}/v3/kv/range", {"key": as_base64(b"none")})["header"][
        "revision"
    ]
    ask_etcd(f"{etcd_url}/v3/kv/compaction", {"revision": revision, "physical": True})
