"""The ways to a client: a kubeconfig, a pod, or whichever of the two there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinform.api import GVR
from kinform.client import Client
from kinform.errors import ConfigError
from tests.support.answers import json_answer, pod_list
from tests.support.scripted_server import ScriptedServer

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: first
clusters:
- {{name: here, cluster: {{server: "{server}"}}}}
users:
- {{name: me, user: {{token: secret-token}}}}
contexts:
- {{name: first, context: {{cluster: here, user: me, namespace: one}}}}
- {{name: second, context: {{cluster: here, user: me, namespace: two}}}}
"""


@pytest.fixture
def kubeconfig(tmp_path: Path, server: ScriptedServer) -> Path:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG.format(server=server.config.server))
    return path


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No pod, no kubeconfig of the person who runs the tests."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_PORT", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    monkeypatch.setenv("HOME", str(tmp_path))


async def test_a_kubeconfig_leads_to_the_server(server: ScriptedServer, kubeconfig: Path) -> None:
    server.answer(json_answer(pod_list()))
    async with Client.from_kubeconfig(kubeconfig, "second", page_size=7) as client:
        assert client.namespace == "two"
        assert len(await client.list(GVR("", "v1", "pods"))) == 0
    (request,) = server.received
    assert request.headers["Authorization"] == "Bearer secret-token"
    assert request.query == {"limit": "7"}


async def test_the_environment_leads_to_the_kubeconfig(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    async with Client.from_env() as client:
        assert client.namespace == "one"
        assert "secret-token" not in repr(client)


def test_no_way_at_all_says_what_was_tried() -> None:
    with pytest.raises(ConfigError, match="not in a pod"):
        Client.from_env()


def test_outside_a_pod_there_is_no_way_in_cluster() -> None:
    with pytest.raises(ConfigError, match="KUBERNETES_SERVICE_HOST"):
        Client.in_cluster()


def test_an_unknown_context_is_named(kubeconfig: Path) -> None:
    with pytest.raises(ConfigError, match="third"):
        Client.from_kubeconfig(kubeconfig, "third")
