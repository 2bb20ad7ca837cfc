"""Cluster configurations made by hand and from inside a pod."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kinform.errors import ConfigError
from kinform.transport import BasicAuth, ClusterConfig, StaticToken

SECRET = "s3cr3t"


def test_only_a_server_is_needed() -> None:
    config = ClusterConfig(server="https://h:6443/")
    assert config.server == "https://h:6443"
    assert config.namespace == "default"
    assert config.qps is None
    assert config.accept_encoding == "identity"
    assert re.fullmatch(r"kinform/\S+ \(python/3\.\d+; \w+\)", config.user_agent)


def test_a_server_may_live_below_a_path() -> None:
    assert (
        ClusterConfig(server="https://h/k8s/clusters/c-1/").server == "https://h/k8s/clusters/c-1"
    )


@pytest.mark.parametrize(
    ("server", "complaint"),
    [
        ("", "server '' must look like https://host:6443"),
        ("h:6443", "server 'h:6443' must look like"),
        ("ftp://h", "server 'ftp://h' must look like"),
        ("https://", "must look like"),
        ("https://h:port", "server 'https://h:port' is not an address"),
        ("https://h:99999", "server 'https://h:99999' is not an address"),
        ("https://[::1", "is not an address"),
        (f"https://me:{SECRET}@h", "server 'https://h' holds a login"),
        (f"https://me:{SECRET}@h:port", "server 'https://h:port' is not an address"),
        ("https://h?x=1", "must not hold a query or a fragment"),
        ("https://h#x", "must not hold a query or a fragment"),
    ],
)
def test_a_server_that_is_not_an_address_is_refused(server: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(complaint)) as caught:
        ClusterConfig(server=server)
    assert SECRET not in str(caught.value)


def test_insecure_with_an_authority_is_refused() -> None:
    with pytest.raises(ConfigError, match="exclude each other; remove one"):
        ClusterConfig(
            server="https://h", insecure_skip_tls_verify=True, certificate_authority=b"pem"
        )


@pytest.mark.parametrize("qps", [0.0, -1.0])
def test_a_rate_that_is_none_is_refused(qps: float) -> None:
    with pytest.raises(ConfigError, match="qps must be above 0"):
        ClusterConfig(server="https://h", qps=qps)


def test_a_burst_below_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="burst must be at least 1"):
        ClusterConfig(server="https://h", burst=0)


def test_a_user_agent_cannot_smuggle_headers() -> None:
    with pytest.raises(ConfigError, match="user_agent holds a line break"):
        ClusterConfig(server="https://h", user_agent="x\r\nX-Evil: 1")


def test_a_configuration_is_immutable_and_has_variants() -> None:
    config = ClusterConfig(server="https://h")
    with pytest.raises(AttributeError, match="immutable"):
        config.server = "https://other"  # type: ignore[misc]  # the mistake under test
    assert msgspec.structs.replace(config, compression=True).accept_encoding == "gzip"


def test_the_repr_shows_where_but_no_secret() -> None:
    config = ClusterConfig(
        server="https://h",
        certificate_authority=SECRET.encode(),
        proxy_url=f"http://me:{SECRET}@proxy:3128",
        credentials=BasicAuth("admin", SECRET),
    )
    assert "https://h" in repr(config)
    assert "http://proxy:3128" in repr(config)
    assert SECRET not in f"{config!r} {config}"
    assert SECRET not in repr(msgspec.structs.replace(config, credentials=StaticToken(SECRET)))


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "token").write_text("pod-token\n")
    (tmp_path / "ca.crt").write_text("pem")
    (tmp_path / "namespace").write_text("team\n")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return tmp_path


async def test_inside_a_pod_the_service_account_is_used(pod: Path) -> None:
    config = ClusterConfig.in_cluster(folder=pod)
    assert config.server == "https://10.0.0.1:443"
    assert config.namespace == "team"
    assert config.certificate_authority == pod / "ca.crt"
    assert await config.credentials.headers() == {"Authorization": "Bearer pod-token"}
    assert ClusterConfig.from_env(folder=pod).server == config.server


def test_an_ipv6_service_is_bracketed(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert ClusterConfig.in_cluster(folder=pod).server == "https://[fd00::1]:443"


def test_the_namespace_may_be_told_or_missing(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pod / "namespace").unlink()
    assert ClusterConfig.in_cluster(folder=pod).namespace == "default"
    monkeypatch.setenv("POD_NAMESPACE", "told")
    assert ClusterConfig.in_cluster(folder=pod).namespace == "told"


def test_without_an_authority_the_systems_count(
    pod: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (pod / "ca.crt").unlink()
    assert ClusterConfig.in_cluster(folder=pod).certificate_authority is None
    assert "ca.crt does not exist" in caplog.text


@pytest.mark.parametrize("name", ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"])
def test_outside_a_pod_the_missing_variable_is_named(
    pod: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv(name)
    with pytest.raises(ConfigError, match=f"not in a pod with a service account: {name} is not"):
        ClusterConfig.in_cluster(folder=pod)


def test_a_pod_without_a_token_is_told_how_to_get_one(pod: Path) -> None:
    (pod / "token").unlink()
    with pytest.raises(ConfigError, match=r"token is not there; .*automountServiceAccountToken"):
        ClusterConfig.in_cluster(folder=pod)


def _warnings(caplog: pytest.LogCaptureFixture, **options: Any) -> list[str]:
    caplog.clear()
    for _ in range(2):
        ClusterConfig(**options)
    return [record.getMessage() for record in caplog.records]


def test_risky_connections_are_warned_about_once(caplog: pytest.LogCaptureFixture) -> None:
    """18.21: Credentials in plain text, and servers that are not verified."""
    token = StaticToken("s3cr3t")

    [plain] = _warnings(caplog, server="http://risky.test:8080", credentials=token)
    [insecure] = _warnings(caplog, server="https://risky.test", insecure_skip_tls_verify=True)

    assert "http://risky.test:8080 unencrypted" in plain
    assert "s3cr3t" not in plain
    assert "https://risky.test could be any server" in insecure


@pytest.mark.parametrize(
    "server", ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1", "https://safe.test"]
)
def test_other_connections_are_not_warned_about(
    caplog: pytest.LogCaptureFixture, server: str
) -> None:
    """18.21: On loopback, nobody else listens."""
    assert _warnings(caplog, server=server, credentials=StaticToken("t")) == []
    assert _warnings(caplog, server="http://elsewhere.test") == []
