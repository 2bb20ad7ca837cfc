"""The real kubectl against the embedded server: the client that everybody has."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from kinform.api import GVR
from kinform.testing import BlockingApiServer
from tools.cluster_binaries import assets_folder

# The fixture knows when to skip: kubectl is built together with the real servers.
pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("real_cluster")]

DEPLOYMENTS = GVR("apps", "v1", "deployments")
MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""


def _kubectl(server: BlockingApiServer, home: Path, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [str(assets_folder() / "kubectl"), *arguments],
        env={**os.environ, "KUBECONFIG": str(server.kubeconfig()), "HOME": str(home)},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kubectl_writes_reads_and_deletes(
    kinform_server: BlockingApiServer, tmp_path: Path
) -> None:
    def kubectl(*arguments: str, stdin: str = "") -> str:
        return _kubectl(kinform_server, tmp_path, *arguments, stdin=stdin)

    assert "web created" in kubectl("create", "--validate=false", "-f", "-", stdin=MANIFEST)
    assert "web scaled" in kubectl("scale", "deployment/web", "--replicas=3")
    assert "web labeled" in kubectl("label", "deployment/web", "tier=front")
    assert "web image updated" in kubectl("set", "image", "deployment/web", "web=nginx:2")
    found = json.loads(kubectl("get", "deployment", "web", "-o", "json"))
    assert found["spec"]["replicas"] == 3
    assert found["metadata"]["labels"] == {"tier": "front"}
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:2"
    assert "deployments" in kubectl("api-resources", "--api-group=apps")
    assert '"web" deleted' in kubectl("delete", "deployment", "web")
    assert kinform_server.list(DEPLOYMENTS) == []


def test_kubectl_sends_protobuf_for_what_it_makes_itself(
    kinform_server: BlockingApiServer, tmp_path: Path
) -> None:
    def kubectl(*arguments: str) -> str:
        return _kubectl(kinform_server, tmp_path, *arguments)

    assert "namespace/shop created" in kubectl("create", "namespace", "shop")
    made = kubectl(
        "create", "deployment", "web", "--image=nginx", "--replicas=2", "--port=80", "-nshop"
    )
    assert "deployment.apps/web created" in made
    assert "secret/key created" in kubectl(
        "create", "secret", "generic", "key", "--from-literal=a=b", "-nshop"
    )
    assert "autoscaled" in kubectl("autoscale", "deployment/web", "--max=5", "-nshop")
    assert kubectl("auth", "can-i", "create", "pods").strip() == "yes"

    [deployment] = kinform_server.list(DEPLOYMENTS, "shop")
    assert deployment["spec"]["replicas"] == 2
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert container["ports"] == [{"containerPort": 80}]
    [secret] = kinform_server.list(GVR("", "v1", "secrets"), "shop")
    assert secret["data"] == {"a": "Yg=="}
    sent = [
        each.headers["content-type"] for each in kinform_server.requests.matching(verb="create")
    ]
    assert sent.count("application/vnd.kubernetes.protobuf") >= 3


def test_kubectl_waits_on_a_streaming_list(
    kinform_server: BlockingApiServer, tmp_path: Path
) -> None:
    """It asks for gzip and decodes as Go does: an event must not hide in a member's last block."""
    waiting = ("wait", "--for=jsonpath={.metadata.name}=default", "ns/default", "--timeout=20s")

    assert "condition met" in _kubectl(kinform_server, tmp_path, *waiting)
