"""The real kube-controller-manager, for the time of a ``with`` block."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.support.cluster import RealCluster
from tests.support.cluster_process import ServerProcess, free_port
from tools import cluster_binaries


@contextmanager
def kube_controller_manager(
    cluster: RealCluster, controllers: Sequence[str]
) -> Iterator[ServerProcess]:
    """Run some of its controllers against a cluster.

    Raises:
        NotBuiltError: It has not been built yet.
        StartError: It did not come up; says what it logged last.
    """
    port = free_port()
    process = ServerProcess(
        [
            cluster_binaries.controller_manager(),
            f"--kubeconfig={cluster.kubeconfig}",
            f"--controllers={','.join(controllers)}",
            "--leader-elect=false",
            "--use-service-account-credentials=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={cluster.folder / 'controller-manager'}",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ],
        log=cluster.folder / "kube-controller-manager.log",
    )
    # It makes its own certificate, and answers on loopback only.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE

    def is_up() -> bool:
        try:
            url = f"https://127.0.0.1:{port}/healthz"
            with urllib.request.urlopen(url, context=context, timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    try:
        process.wait_until(is_up, timeout=60)
        yield process
    finally:
        process.stop(grace=15.0)
