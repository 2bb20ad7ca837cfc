"""Starts a server that holds a number of pods; clients only need its kubeconfig.

``static`` sends pods that were encoded beforehand, ``embedded`` is ``kinform serve``, and ``real``
is a kube-apiserver with etcd.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.pods import NODES, POD_SIZE, stored_pods
from tests.support.cluster import RealCluster
from tools.cluster_binaries import KUBERNETES, assets_folder, missing

ROOT = Path(__file__).resolve().parent.parent

# etcd takes at most 1.5 MB and 128 operations at once.
_TRANSACTION_BYTES = 1_000_000
_TRANSACTION_PUTS = 128
_WRITERS = 4
_SETTLE_SECONDS = 2.0
_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class Server:
    """One that is up.

    Attributes:
        cluster: Itself, if it is a real one.
    """

    kubeconfig: Path
    description: str
    cluster: RealCluster | None = None


def real_is_available() -> bool:
    return not missing(assets_folder())


@contextmanager
def static_server(*, objects: int = 0, events: int = 0) -> Iterator[Server]:
    """Pages and events of pods, as fast as a socket takes them."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        script = str(ROOT / "benchmarks" / "static_server.py")
        with _started(script, f"--objects={objects}", f"--events={events}") as greeting:
            kubeconfig.write_text(json.dumps(_kubeconfig(f"http://127.0.0.1:{int(greeting)}")))
            yield Server(kubeconfig, "static server, plain HTTP")


@contextmanager
def embedded_server(*, objects: int) -> Iterator[Server]:
    """Our own, as a command."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        options = ("--tls", f"--load={objects}", f"--kubeconfig={kubeconfig}")
        with _started("-m", "kinform", "serve", *options):
            yield Server(kubeconfig, "kinform serve, over TLS")


@contextmanager
def real_server(*, objects: int, size: int = POD_SIZE, nodes: int = NODES) -> Iterator[Server]:
    """A kube-apiserver with that many pods, put into etcd directly: it would drop their status.

    Args:
        size: Of each pod, in bytes.
        nodes: How many nodes the pods are spread over.
    """
    with RealCluster() as cluster:
        store_pods(cluster.etcd_url, stored_pods(objects, size=size, nodes=nodes))
        _settle(cluster, objects)
        description = f"kube-apiserver {KUBERNETES} over TLS"
        yield Server(cluster.kubeconfig, description, cluster)


class StartServer(Protocol):
    """A server that holds ``objects`` pods, until the end of the block."""

    def __call__(self, *, objects: int) -> AbstractContextManager[Server]: ...


SERVERS: dict[str, StartServer] = {
    "real": real_server,
    "embedded": embedded_server,
    "static": static_server,
}


def environment() -> dict[str, str]:
    """For a process of the kit: it finds the kit, and no proxy or kubeconfig of the user's."""
    return {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": tempfile.gettempdir()}


@contextmanager
def _started(*arguments: str) -> Iterator[str]:
    """The first line that our Python prints when it runs this; ended with the block."""
    with python_process(*arguments) as process:
        assert process.stdout is not None
        yield process.stdout.readline()


@contextmanager
def python_process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Our Python runs this; ended with the block."""
    with subprocess.Popen(
        [sys.executable, "-P", *arguments],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _settle(cluster: RealCluster, objects: int) -> None:
    """Wait until its cache has all that was put into etcd, and is at rest.

    A client may ask for whatever is in the cache, and would find it half filled.
    """
    request = urllib.request.Request(
        f"{cluster.url}/api/v1/pods?resourceVersion=0",
        headers={"Authorization": f"Bearer {cluster.admin_token}", "Accept": _METADATA_ONLY},
    )
    found = -1
    while found < objects:
        time.sleep(_SETTLE_SECONDS)
        with urllib.request.urlopen(request, timeout=60, context=cluster.ssl_context()) as answer:
            found = len(json.load(answer)["items"])
    time.sleep(_SETTLE_SECONDS)


def _kubeconfig(url: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "static", "cluster": {"server": url}}],
        "users": [{"name": "anybody", "user": {}}],
        "contexts": [{"name": "static", "context": {"cluster": "static", "user": "anybody"}}],
        "current-context": "static",
    }


def store_pods(etcd_url: str, pods: Iterable[tuple[str, bytes]]) -> None:
    """Put them into etcd, by namespace/name; a body is as a server stores it."""
    with ThreadPoolExecutor(_WRITERS) as writers:
        # The results are asked for, so that a failure is raised.
        for _ in writers.map(lambda batch: _put(etcd_url, batch), _batches(pods)):
            pass


def _batches(pods: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    filled = 0
    for pod in pods:
        is_full = filled + len(pod[1]) > _TRANSACTION_BYTES or len(batch) == _TRANSACTION_PUTS
        if batch and is_full:
            yield batch
            batch, filled = [], 0
        batch.append(pod)
        filled += len(pod[1])
    if batch:
        yield batch


def _put(etcd_url: str, batch: Sequence[tuple[str, bytes]]) -> None:
    """One transaction."""
    puts = [
        {
            "requestPut": {
                "key": as_base64(f"/registry/pods/{key}".encode()),
                "value": as_base64(body),
            }
        }
        for key, body in batch
    ]
    ask_etcd(f"{etcd_url}/v3/kv/txn", {"success": puts})


def ask_etcd(url: str, body: object) -> Any:
    """One call through its JSON gateway; keys and values are base64 there."""
    request = urllib.request.Request(url, data=json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def as_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
