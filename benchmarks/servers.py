"""A number of pods in, a running server that holds them out; all a client needs is its kubeconfig.

``static`` sends what was encoded beforehand, ``embedded`` is ``kinform serve``, and ``real`` is a
kube-apiserver on its etcd.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.pods import stored_pods
from tests.support.cluster import RealCluster
from tools.cluster_binaries import KUBERNETES, assets_folder, missing

ROOT = Path(__file__).resolve().parent.parent

# etcd takes at most 1.5 MB and 128 operations at once.
_TRANSACTION_BYTES = 1_000_000
_WRITERS = 4


@dataclass(frozen=True, slots=True)
class Server:
    """One that is up."""

    kubeconfig: Path
    description: str


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
def real_server(*, objects: int) -> Iterator[Server]:
    """A kube-apiserver with that many pods, put into etcd directly: it would drop their status."""
    with RealCluster() as cluster:
        _store(cluster.etcd_url, stored_pods(objects))
        yield Server(cluster.kubeconfig, f"kube-apiserver {KUBERNETES} over TLS")


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
    with subprocess.Popen(
        [sys.executable, "-P", *arguments], env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.terminate()


def _kubeconfig(url: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "static", "cluster": {"server": url}}],
        "users": [{"name": "anybody", "user": {}}],
        "contexts": [{"name": "static", "context": {"cluster": "static", "user": "anybody"}}],
        "current-context": "static",
    }


def _store(etcd_url: str, pods: Iterator[tuple[str, bytes]]) -> None:
    with ThreadPoolExecutor(_WRITERS) as writers:
        # The results are asked for, so that a failure is raised.
        for _ in writers.map(lambda batch: _put(etcd_url, batch), _batches(pods)):
            pass


def _batches(pods: Iterator[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    filled = 0
    for pod in pods:
        if batch and filled + len(pod[1]) > _TRANSACTION_BYTES:
            yield batch
            batch, filled = [], 0
        batch.append(pod)
        filled += len(pod[1])
    if batch:
        yield batch


def _put(etcd_url: str, batch: Sequence[tuple[str, bytes]]) -> None:
    """One transaction through etcd's JSON gateway; keys and values are base64 there."""
    puts = [
        {"requestPut": {"key": _base64(f"/registry/pods/{key}".encode()), "value": _base64(body)}}
        for key, body in batch
    ]
    request = urllib.request.Request(
        f"{etcd_url}/v3/kv/txn", data=json.dumps({"success": puts}).encode()
    )
    with urllib.request.urlopen(request, timeout=60):
        pass


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
