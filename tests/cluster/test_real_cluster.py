"""The real cluster keeps what its harness promises to the tests that lean on it."""

from __future__ import annotations

import json
import os
import secrets
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import RealCluster

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]


def _ask(
    cluster: RealCluster,
    path: str,
    *,
    token: str | None = None,
    body: object = None,
    tls: ssl.SSLContext | None = None,
) -> tuple[int, Any]:
    request = urllib.request.Request(cluster.url + path)
    request.add_header("Accept", "application/json")
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(
            request, context=tls or cluster.ssl_context(), timeout=10
        ) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as problem:
        with problem:
            return problem.code, json.load(problem)


@pytest.fixture
def namespace(real_cluster: RealCluster) -> str:
    name = f"harness-{secrets.token_hex(4)}"
    real_cluster.kubectl("create", "namespace", name)
    return name


def test_it_is_the_pinned_version(real_cluster: RealCluster) -> None:
    _, found = _ask(real_cluster, "/version")

    assert (found["major"], found["minor"]) == ("1", "37")


def test_it_listens_on_loopback_only(real_cluster: RealCluster) -> None:
    assert real_cluster.url.startswith("https://127.0.0.1:")
    assert real_cluster.etcd_url.startswith("http://127.0.0.1:")


def test_the_admin_may_do_everything(real_cluster: RealCluster, namespace: str) -> None:
    status, _ = _ask(
        real_cluster,
        f"/api/v1/namespaces/{namespace}/secrets",
        token=real_cluster.admin_token,
        body={"metadata": {"name": "one"}},
    )

    assert status == 201


def test_a_client_certificate_makes_an_admin_too(real_cluster: RealCluster) -> None:
    tls = real_cluster.ssl_context()
    tls.load_cert_chain(real_cluster.client_cert, real_cluster.client_key)

    status, _ = _ask(real_cluster, "/api/v1/secrets", tls=tls)

    assert status == 200


def test_the_viewer_may_read_and_not_write(real_cluster: RealCluster, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    token = real_cluster.viewer_token

    reads, _ = _ask(real_cluster, path, token=token)
    writes, _ = _ask(real_cluster, path, token=token, body={"metadata": {"name": "one"}})

    assert (reads, writes) == (200, 403)


def test_nobody_is_known_and_allowed_nothing(real_cluster: RealCluster) -> None:
    status, found = _ask(real_cluster, "/api/v1/pods", token=real_cluster.nobody_token)

    assert status == 403
    assert 'User "nobody" cannot list resource "pods"' in found["message"]


@pytest.mark.parametrize(
    ("context", "answer"),
    [("admin", "yes"), ("admin-by-cert", "yes"), ("viewer", "no"), ("nobody", "no")],
)
def test_the_kubeconfig_has_a_context_for_each_of_them(
    real_cluster: RealCluster, context: str, answer: str
) -> None:
    asked = ("--context", context, "auth", "can-i", "create", "pods")
    try:
        said = real_cluster.kubectl(*asked)
    except subprocess.CalledProcessError as refused:
        said = refused.stdout

    assert said.strip() == answer


def test_pods_need_no_service_account(real_cluster: RealCluster, namespace: str) -> None:
    real_cluster.kubectl("run", "one", "--image=example.test/one", "--namespace", namespace)

    listed = real_cluster.kubectl("get", "pods", "--namespace", namespace, "--output=name")
    assert listed.split() == ["pod/one"]


def test_compaction_expires_versions_of_what_is_not_cached(
    real_cluster: RealCluster, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/events"
    about = {"namespace": namespace, "name": "someone"}
    made = [
        _ask(
            real_cluster,
            path,
            token=real_cluster.admin_token,
            body={"metadata": {"name": name}, "involvedObject": about},
        )[1]["metadata"]["resourceVersion"]
        for name in ("a", "b")
    ]
    exact = f"{path}?resourceVersionMatch=Exact&resourceVersion="

    before, _ = _ask(real_cluster, exact + made[0], token=real_cluster.admin_token)
    compacted_at = real_cluster.compact()
    after, found = _ask(real_cluster, exact + made[0], token=real_cluster.admin_token)

    assert compacted_at >= int(made[1])
    assert (before, after, found["reason"]) == (200, 410, "Expired")


def test_compacting_twice_in_a_row_is_fine(real_cluster: RealCluster) -> None:
    assert real_cluster.compact() < real_cluster.compact()


@pytest.mark.usefixtures("real_cluster")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the servers of a killed run")
def test_a_killed_run_leaves_no_server_and_its_folder_goes_with_the_next() -> None:
    script = (
        "import time\n"
        "from tests.support.cluster import RealCluster\n"
        "with RealCluster() as cluster:\n"
        "    print(cluster.folder, cluster.url, cluster.etcd_url, flush=True)\n"
        "    time.sleep(60)\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with run:
        assert run.stdout is not None
        folder, *urls = run.stdout.readline().split()
        run.kill()

    for url in urls:
        _wait_until_refused(url)
    assert Path(folder).is_dir()
    with RealCluster():
        assert not Path(folder).exists()


def _wait_until_refused(url: str) -> None:
    port = int(url.rpartition(":")[2])
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.02)
    pytest.fail(f"somebody still listens at {url}")


def test_a_restart_keeps_the_data_and_the_address(
    real_cluster: RealCluster, namespace: str
) -> None:
    address = real_cluster.url

    real_cluster.stop_apiserver()
    with pytest.raises(urllib.error.URLError, match="refused"):
        _ask(real_cluster, "/version")
    real_cluster.start_apiserver()

    assert real_cluster.url == address
    status, _ = _ask(
        real_cluster, f"/api/v1/namespaces/{namespace}", token=real_cluster.admin_token
    )
    assert status == 200
