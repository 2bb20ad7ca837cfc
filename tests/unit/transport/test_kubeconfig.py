"""Kubeconfigs that are right: merged, resolved, with kubectl's precedence."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinform.errors import ConfigError
from kinform.transport import CertificatePair, ClusterConfig

PEM = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def document(
    *,
    name: str = "dev",
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    current: str | None = None,
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name if current is None else current,
        "clusters": [
            {"name": name, "cluster": {"server": f"https://{name}:6443"} | (cluster or {})}
        ],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name} | (context or {})}],
    }


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def store(content: object, name: str = "config") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return store


async def header(config: ClusterConfig) -> str | None:
    return (await config.credentials.headers()).get("Authorization")


def test_the_current_context_is_taken_by_default(write: Write) -> None:
    path = write(document(context={"namespace": "team"}))
    config = ClusterConfig.from_kubeconfig(path)
    assert config.server == "https://dev:6443"
    assert config.namespace == "team"
    assert config.name == f"context 'dev' of {path}"
    assert not config.insecure_skip_tls_verify
    assert not config.compression


def test_a_context_can_be_chosen(write: Write) -> None:
    both = document()
    other = document(name="prod")
    for section in ("clusters", "users", "contexts"):
        both[section] += other[section]
    assert ClusterConfig.from_kubeconfig(write(both), "prod").server == "https://prod:6443"


def test_every_cluster_option_is_taken_over(write: Write) -> None:
    cluster = {
        "tls-server-name": "api.internal",
        "proxy-url": "http://proxy:3128",
        "certificate-authority-data": encoded(PEM),
        "disable-compression": True,
    }
    config = ClusterConfig.from_kubeconfig(write(document(cluster=cluster)))
    assert config.tls_server_name == "api.internal"
    assert config.proxy_url == "http://proxy:3128"
    assert config.certificate_authority == PEM
    assert config.accept_encoding == "identity"


def test_an_insecure_cluster_is_taken_at_its_word(write: Write) -> None:
    config = ClusterConfig.from_kubeconfig(
        write(document(cluster={"insecure-skip-tls-verify": True}))
    )
    assert config.insecure_skip_tls_verify


async def test_a_context_without_a_user_is_anonymous(write: Write) -> None:
    config = ClusterConfig.from_kubeconfig(write(document(context={"user": ""})))
    assert await header(config) is None


def test_json_is_a_kubeconfig_too(write: Write) -> None:
    path = write(json.dumps(document()))
    assert ClusterConfig.from_kubeconfig(path).server == "https://dev:6443"


async def test_numbers_without_quotes_stay_as_they_are_written(write: Write) -> None:
    path = write(
        "current-context: 0123\n"
        "clusters: [{name: 1e3, cluster: {server: 'http://h'}}]\n"
        "users: [{name: 7, user: {username: 0017, password: 1_0}}]\n"
        "contexts: [{name: 0123, context: {cluster: 1e3, user: 7, namespace: 2020-01-01}}]\n"
    )
    config = ClusterConfig.from_kubeconfig(path)
    assert config.namespace == "2020-01-01"
    assert await header(config) == "Basic " + encoded(b"0017:1_0")


def test_certificate_files_are_found_beside_their_kubeconfig(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("ca", "one/pki/ca.crt")
    path = write(document(cluster={"certificate-authority": "pki/ca.crt"}), "one/config")
    monkeypatch.chdir("/")
    config = ClusterConfig.from_kubeconfig(path)
    assert config.certificate_authority == tmp_path / "one/pki/ca.crt"


async def test_client_certificates_come_from_files_or_inline_and_inline_wins(
    write: Write,
) -> None:
    write("cert file", "client.crt")
    write("key file", "client.key")
    files = {"client-certificate": "client.crt", "client-key": "client.key"}
    inline = {
        "client-certificate-data": encoded(PEM),
        "client-key-data": encoded(b"-----BEGIN KEY-----"),
    }
    from_files = ClusterConfig.from_kubeconfig(write(document(user=files)))
    assert await from_files.credentials.client_certificate() == CertificatePair(
        b"cert file", b"key file"
    )
    from_both = ClusterConfig.from_kubeconfig(write(document(user=files | inline)))
    assert await from_both.credentials.client_certificate() == CertificatePair(
        PEM, b"-----BEGIN KEY-----"
    )


def test_an_inline_authority_wins_over_a_file(write: Write) -> None:
    write("other", "ca.crt")
    cluster = {"certificate-authority": "ca.crt", "certificate-authority-data": encoded(PEM)}
    config = ClusterConfig.from_kubeconfig(write(document(cluster=cluster)))
    assert config.certificate_authority == PEM


async def test_a_token_file_wins_over_a_token_and_is_found_beside_its_kubeconfig(
    write: Write,
) -> None:
    write("from-file\n", "secrets/token")
    user = {"token": "inline", "tokenFile": "secrets/token"}
    config = ClusterConfig.from_kubeconfig(write(document(user=user)))
    assert await header(config) == "Bearer from-file"


async def test_a_certificate_and_a_token_go_together(write: Write) -> None:
    user = {
        "token": "abc",
        "client-certificate-data": encoded(PEM),
        "client-key-data": encoded(PEM),
    }
    config = ClusterConfig.from_kubeconfig(write(document(user=user)))
    assert await header(config) == "Bearer abc"
    assert await config.credentials.client_certificate() == CertificatePair(PEM, PEM)


def test_impersonation_is_taken_over(write: Write) -> None:
    user = {
        "as": "jane",
        "as-uid": "42",
        "as-groups": ["dev", "ops"],
        "as-user-extra": {"scopes": ["a", "b"]},
    }
    config = ClusterConfig.from_kubeconfig(write(document(user=user)))
    assert config.impersonation is not None
    assert config.impersonation.headers() == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "42"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-scopes", "a"),
        ("Impersonate-Extra-scopes", "b"),
    )


def exec_user(command: str, **more: Any) -> dict[str, Any]:
    entry = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": command,
        "interactiveMode": "Never",
    }
    return {"exec": entry | more}


def write_plugin(path: Path, seen: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "#!/bin/sh\n"
        f'printf "%s" "$KUBERNETES_EXEC_INFO" > {seen}\n'
        'echo \'{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",'
        '"status":{"token":"\'"$1-$WHO"\'"}}\'\n'
    )
    path.chmod(0o755)


async def test_an_exec_plugin_runs_from_beside_its_kubeconfig_with_its_arguments(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plugin(tmp_path / "one/bin/plugin", tmp_path / "seen")
    user = exec_user("./bin/plugin", args=[1], env=[{"name": "WHO", "value": "me"}])
    path = write(document(user=user), "one/config")
    monkeypatch.chdir("/")
    assert await header(ClusterConfig.from_kubeconfig(path)) == "Bearer 1-me"


async def test_an_exec_plugin_without_a_slash_is_looked_up_on_the_path(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plugin(tmp_path / "elsewhere/my-plugin", tmp_path / "seen")
    monkeypatch.setenv("PATH", f"{tmp_path}/elsewhere:/usr/bin:/bin")
    path = write(document(user=exec_user("my-plugin", args=["a"])))
    assert await header(ClusterConfig.from_kubeconfig(path)) == "Bearer a-"


async def test_a_plugin_that_asks_is_told_the_cluster(write: Write, tmp_path: Path) -> None:
    write_plugin(tmp_path / "plugin", tmp_path / "seen")
    (tmp_path / "ca.crt").write_bytes(PEM)
    cluster = {
        "tls-server-name": "api.internal",
        "proxy-url": "http://proxy:1",
        "certificate-authority": "ca.crt",
        "disable-compression": True,
        "extensions": [
            {"name": "other", "extension": {"x": 1}},
            {
                "name": "client.authentication.k8s.io/exec",
                "extension": {"audience": "me", "port": 8080, "since": "2020", "on": [True, 1.5]},
            },
        ],
    }
    user = exec_user("./plugin", provideClusterInfo=True, args=["a"])
    path = write(document(cluster=cluster, user=user))
    assert await header(ClusterConfig.from_kubeconfig(path)) == "Bearer a-"
    assert json.loads((tmp_path / "seen").read_text())["spec"]["cluster"] == {
        "server": "https://dev:6443",
        "tls-server-name": "api.internal",
        "proxy-url": "http://proxy:1",
        "certificate-authority-data": encoded(PEM),
        "disable-compression": True,
        "config": {"audience": "me", "port": 8080, "since": "2020", "on": [True, 1.5]},
    }


async def test_a_fixed_token_goes_before_an_exec_plugin(write: Write, tmp_path: Path) -> None:
    write_plugin(tmp_path / "plugin", tmp_path / "seen")
    config = ClusterConfig.from_kubeconfig(
        write(document(user={"token": "fixed"} | exec_user("./plugin")))
    )
    assert await header(config) == "Bearer fixed"
    assert not (tmp_path / "seen").exists()


@pytest.fixture
def kubeconfig_list(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def point_to(*paths: Path | str) -> None:
        monkeypatch.setenv("KUBECONFIG", ":".join(map(str, paths)))

    return point_to


async def test_of_several_files_the_first_wins_per_entry(
    write: Write, kubeconfig_list: Callable[..., None]
) -> None:
    first = document(user={"token": "one"})
    second = document(user={"token": "two", "as": "somebody"}, cluster={"tls-server-name": "no"})
    second["current-context"] = "prod"
    for section, entries in document(name="prod", user={"token": "three"}).items():
        if isinstance(entries, list):
            second[section] += entries
    kubeconfig_list(write(first, "a/config"), write(second, "b/config"))
    config = ClusterConfig.from_kubeconfig()
    assert config.server == "https://dev:6443"
    assert config.tls_server_name is None
    assert config.impersonation is None
    assert await header(config) == "Bearer one"
    assert await header(ClusterConfig.from_kubeconfig(context="prod")) == "Bearer three"


async def test_a_context_may_join_entries_of_different_files(
    write: Write, kubeconfig_list: Callable[..., None]
) -> None:
    full = document(user={"tokenFile": "token"}, cluster={"certificate-authority": "ca.crt"})
    for folder in ("a", "b", "c"):
        write(f"token-of-{folder}", f"{folder}/token")
        write(f"ca of {folder}", f"{folder}/ca.crt")
    kubeconfig_list(
        write({"contexts": full["contexts"], "current-context": "dev"}, "a/config"),
        write({"clusters": full["clusters"]}, "b/config"),
        write({"users": full["users"]}, "c/config"),
    )
    config = ClusterConfig.from_kubeconfig()
    assert await header(config) == "Bearer token-of-c"
    assert isinstance(config.certificate_authority, Path)
    assert config.certificate_authority.read_text() == "ca of b"


def test_missing_and_empty_files_of_a_list_are_skipped(
    write: Write, tmp_path: Path, kubeconfig_list: Callable[..., None]
) -> None:
    kubeconfig_list(tmp_path / "none", "", write("", "empty"), write(document(), "real"))
    assert ClusterConfig.from_kubeconfig().server == "https://dev:6443"


def test_without_a_list_the_home_folder_is_looked_at(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(document(), ".kube/config")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ClusterConfig.from_kubeconfig().server == "https://dev:6443"


def test_an_explicit_path_ignores_the_list(
    write: Write, kubeconfig_list: Callable[..., None]
) -> None:
    kubeconfig_list(write(document(name="prod"), "listed"))
    assert ClusterConfig.from_kubeconfig(write(document())).server == "https://dev:6443"


def test_the_environment_falls_back_to_the_kubeconfig(
    write: Write, tmp_path: Path, kubeconfig_list: Callable[..., None]
) -> None:
    kubeconfig_list(write(document()))
    assert ClusterConfig.from_env(folder=tmp_path).server == "https://dev:6443"


def test_the_environment_names_both_ways_that_failed(
    tmp_path: Path, kubeconfig_list: Callable[..., None]
) -> None:
    kubeconfig_list(tmp_path / "none")
    with pytest.raises(ConfigError) as caught:
        ClusterConfig.from_env(folder=tmp_path)
    assert f"no kubeconfig found at {tmp_path}/none" in str(caught.value)
    assert "not in a pod either: KUBERNETES_SERVICE_HOST is not set" in str(caught.value)
