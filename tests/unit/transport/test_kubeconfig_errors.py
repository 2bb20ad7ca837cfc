"""Kubeconfigs that are wrong: each complaint names file, entry, field and way out."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from kinform.errors import ConfigError
from kinform.transport import ClusterConfig

SECRET = "s3cr3t"


def kubeconfig(cluster: str = "server: https://h", user: str = "", context: str = "") -> str:
    return (
        "current-context: dev\n"
        f"clusters: [{{name: dev, cluster: {{{cluster}}}}}]\n"
        f"users: [{{name: dev, user: {{{user}}}}}]\n"
        f"contexts: [{{name: dev, context: {{cluster: dev, user: dev{context}}}}}]\n"
    )


def complaint(path: Path, context: str | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        ClusterConfig.from_kubeconfig(path, context)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error} {error!r}"
        error = error.__cause__
    return str(caught.value)


def complaint_about(tmp_path: Path, text: str, context: str | None = None) -> str:
    path = tmp_path / "config"
    path.write_text(text)
    message = complaint(path, context)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


CASES: dict[str, tuple[str, str]] = {
    "yaml is broken": (
        f"clusters:\n  - name: [{SECRET}\n  x: y",
        ": line 3, column 4: not valid YAML: ",
    ),
    "a tab indents": ("clusters:\n\t- name: a", ": line 2, column 1: not valid YAML: "),
    "an unknown tag": (
        "clusters: !!python/object:os.system x",
        ": line 1, column 11: not valid YAML: could not determine a constructor",
    ),
    "an unknown anchor": ("clusters: *nowhere", ": line 1, column 11: not valid YAML: "),
    "binary": ("current-context: \x01", ": "),
    "endless nesting": ("[" * 5000, ": "),
    "a list at the top": ("- a", " is not a kubeconfig: it holds a list, not a mapping"),
    "a string at the top": (SECRET, " is not a kubeconfig: it holds a string, not a mapping"),
    "another kind": ("kind: Pod", " is not a kubeconfig: its kind is 'Pod', not 'Config'"),
    "empty": ("", ": no current-context is set; choose a context by name: none at all"),
    "clusters is a string": ("clusters: x", ": clusters must be a list, not a string"),
    "an entry is a string": (
        f"clusters: [{SECRET}]",
        ": clusters[0] must be a mapping, not a string",
    ),
    "an entry contains itself": (
        "clusters: &a [*a]",
        ": clusters[0] must be a mapping, not a list",
    ),
    "an entry has no name": ("users: [{user: {}}]", ": users[0]: name is missing"),
    "a name is a list": ("users: [{name: []}]", ": users[0]: name must be a string, not a list"),
    "a name comes twice": (
        "users: [{name: a}, {name: a}]",
        ": users has two entries named 'a'; remove one",
    ),
    "a user is a string": (
        f"users: [{{name: a, user: {SECRET}}}]",
        ": users[0]: user must be a mapping, not a string",
    ),
    "no current context": (
        "contexts: [{name: b}, {name: a}]",
        ": no current-context is set; choose a context by name: 'a', 'b'",
    ),
    "the current context is unknown": (
        "current-context: prod\ncontexts: [{name: dev}]",
        ": current-context names context 'prod', which is not there; there is: 'dev'",
    ),
    "the context has no cluster": (
        "current-context: a\ncontexts: [{name: a}]\nclusters: [{name: c}]",
        ": context 'a': cluster is missing; name one of: 'c'",
    ),
    "the context's cluster is unknown": (
        "current-context: a\ncontexts: [{name: a, context: {cluster: deev}}]\n"
        "clusters: [{name: dev}]",
        ": context 'a': cluster 'deev' is not there; did you mean 'dev'? there is: 'dev'",
    ),
    "the context's user is unknown": (
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: me}}]\n"
        "clusters: [{name: c}]",
        ": context 'a': user 'me' is not there; there is: none at all",
    ),
    "the cluster has no server": (
        kubeconfig(cluster=""),
        ": cluster 'dev': server is missing; it must look like https://host:6443",
    ),
    "the server is a list": (
        kubeconfig(cluster="server: []"),
        ": cluster 'dev': server must be a string, not a list",
    ),
    "the server has no scheme": (
        kubeconfig(cluster="server: 'h:6443'"),
        ": cluster 'dev': server 'h:6443' must look like https://host:6443",
    ),
    "a flag is a string": (
        kubeconfig(cluster="server: 'https://h', insecure-skip-tls-verify: 'yes'"),
        ": cluster 'dev': insecure-skip-tls-verify must be true or false, not a string",
    ),
    "insecure with an authority": (
        kubeconfig(
            cluster="server: 'https://h', insecure-skip-tls-verify: true, "
            "certificate-authority-data: LS0tLS1CRUdJTg=="
        ),
        ": cluster 'dev': insecure-skip-tls-verify and a certificate authority exclude each other",
    ),
    "a SOCKS proxy": (
        kubeconfig(cluster=f"server: 'https://h', proxy-url: 'socks5://u:{SECRET}@p:1'"),
        ": cluster 'dev': proxy-url names a SOCKS proxy (socks5://p), which is not supported",
    ),
    "an authority that is not base64": (
        kubeconfig(cluster=f"server: 'https://h', certificate-authority-data: '{SECRET}!'"),
        ": cluster 'dev': certificate-authority-data is not base64: ",
    ),
    "an authority that is not PEM": (
        kubeconfig(cluster="server: 'https://h', certificate-authority-data: aGVsbG8="),
        ": cluster 'dev': certificate-authority-data is base64, but what it holds is not PEM",
    ),
    "an authority file that is missing": (
        kubeconfig(cluster="server: 'https://h', certificate-authority: /no/ca.crt"),
        ": cluster 'dev': certificate-authority names /no/ca.crt, which is not a file",
    ),
    "a client certificate that is not base64": (
        kubeconfig(user="client-certificate-data: abc, client-key-data: abcd"),
        ": user 'dev': client-certificate-data is not base64: ",
    ),
    "a client key that is not base64": (
        kubeconfig(user=f"client-certificate-data: LS0tLS1CRUdJTg==, client-key-data: '{SECRET}?'"),
        ": user 'dev': client-key-data is not base64: ",
    ),
    "a client certificate without a key": (
        kubeconfig(user="client-certificate-data: LS0tLS1CRUdJTg=="),
        ": user 'dev': has a client certificate, but neither client-key nor client-key-data",
    ),
    "a client key without a certificate": (
        kubeconfig(user="client-key-data: LS0tLS1CRUdJTg=="),
        ": user 'dev': has a client key, but neither client-certificate nor",
    ),
    "a client key file that is missing": (
        kubeconfig(user="client-certificate-data: LS0tLS1CRUdJTg==, client-key: no.key"),
        ": user 'dev': client-key names ",
    ),
    "a token file that is missing": (
        kubeconfig(user="tokenFile: /no/token"),
        ": user 'dev': tokenFile names /no/token, which is not a file",
    ),
    "a token that is a mapping": (
        kubeconfig(user=f"token: {{{SECRET}: {SECRET}}}"),
        ": user 'dev': token must be a string, not a mapping",
    ),
    "a token with a line break": (
        kubeconfig(user=f'token: "{SECRET}\\nx"'),
        ": user 'dev': the token holds characters that a token cannot have",
    ),
    "a token and a password": (
        kubeconfig(user=f"token: {SECRET}, username: me, password: {SECRET}"),
        ": user 'dev': has both a token and a username/password; only one may be used",
    ),
    "a user name with a colon": (
        kubeconfig(user=f"username: 'a:b', password: {SECRET}"),
        ": user 'dev': a user name for basic authentication must not contain ':'",
    ),
    "impersonated groups without a user": (
        kubeconfig(user="as-groups: [a]"),
        ": user 'dev': as-uid, as-groups and as-user-extra need 'as'",
    ),
    "impersonated groups as a string": (
        kubeconfig(user="as: me, as-groups: a"),
        ": user 'dev': as-groups must be a list of strings, not a string",
    ),
    "an impersonated group as a list": (
        kubeconfig(user="as: me, as-groups: [a, []]"),
        ": user 'dev': as-groups[1] must be a string, not a list",
    ),
    "an impersonated user with a line break": (
        kubeconfig(user='as: "a\\nb"'),
        ": user 'dev': the value for Impersonate-User holds a line break",
    ),
    "an extra that is a string": (
        kubeconfig(user="as: me, as-user-extra: {k: v}"),
        ": user 'dev': as-user-extra: k must be a list of strings, not a string",
    ),
    "the gcp provider": (
        kubeconfig(user=f"auth-provider: {{name: gcp, config: {{access-token: {SECRET}}}}}"),
        ": user 'dev': uses the auth-provider 'gcp', which Kubernetes has retired; "
        "use an exec plugin instead: gke-gcloud-auth-plugin",
    ),
    "the azure provider": (
        kubeconfig(user="auth-provider: {name: azure}"),
        ": user 'dev': uses the auth-provider 'azure', which Kubernetes has retired; "
        "use an exec plugin instead: kubelogin",
    ),
    "another provider": (
        kubeconfig(user="auth-provider: {name: mine}"),
        ": user 'dev': uses the auth-provider 'mine'",
    ),
    "an exec without a command": (
        kubeconfig(user="exec: {apiVersion: client.authentication.k8s.io/v1}"),
        ": user 'dev': exec: command is missing",
    ),
    "an exec without a version": (
        kubeconfig(user="exec: {command: x}"),
        ": user 'dev': exec: apiVersion is missing; use client.authentication.k8s.io/v1",
    ),
    "an exec of an old version": (
        kubeconfig(user="exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}"),
        ": user 'dev': exec: exec plugin 'x': apiVersion 'client.authentication.k8s.io/v1alpha1' "
        "is not supported",
    ),
    "an exec in a strange mode": (
        kubeconfig(
            user="exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
            "interactiveMode: Now}"
        ),
        ": user 'dev': exec: exec plugin 'x': interactiveMode 'Now' is unknown",
    ),
    "an exec variable without a name": (
        kubeconfig(
            user="exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
            f"env: [{{value: {SECRET}}}]}}"
        ),
        ": user 'dev': exec: env[0]: name of the variable is missing or wrong",
    ),
    "an exec argument that is a mapping": (
        kubeconfig(
            user="exec: {command: x, apiVersion: client.authentication.k8s.io/v1, args: [a, {}]}"
        ),
        ": user 'dev': exec: args[1] must be a string, not a mapping",
    ),
    "an exec that is a string": (
        kubeconfig(user="exec: x"),
        ": user 'dev': exec must be a mapping, not a string",
    ),
    "an extension that contains itself": (
        kubeconfig(
            cluster="server: 'https://h', extensions: "
            "[{name: client.authentication.k8s.io/exec, extension: &x {again: *x}}]",
            user="exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
            "provideClusterInfo: true}",
        ),
        ": cluster 'dev': extensions[0]: extension contains itself",
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_a_wrong_kubeconfig_is_named(tmp_path: Path, text: str, expected: str) -> None:
    assert complaint_about(tmp_path, text).startswith(expected)


def test_an_unknown_context_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    text = "contexts: [{name: production}, {name: staging}]"
    assert complaint_about(tmp_path, text, "prodution") == (
        ": context 'prodution', which is not there; did you mean 'production'? "
        "there is: 'production', 'staging'"
    )


def test_a_long_list_of_contexts_is_cut(tmp_path: Path) -> None:
    names = ", ".join(f"{{name: c{number:02}}}" for number in range(30))
    message = complaint_about(tmp_path, f"contexts: [{names}]", "x")
    assert message.endswith("'c19' and 10 more")


def test_bytes_that_are_not_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_bytes(b"\xff\x00\xff\x00 \x80")
    assert complaint(path).startswith(f"{path}: ")


def test_the_slower_yaml_loader_quotes_no_line_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    message = complaint_about(tmp_path, f"users:\n  - name: [{SECRET}\n  x: y")
    assert message.startswith(": line 3, column 4: not valid YAML: ")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert complaint(tmp_path / "none").startswith(f"no kubeconfig found at {tmp_path}/none; give")


def test_a_list_of_missing_files_names_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b")
    with pytest.raises(ConfigError, match=re.escape(f"at {tmp_path}/a, {tmp_path}/b; give a")):
        ClusterConfig.from_kubeconfig()


def test_a_broken_file_in_a_list_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text(kubeconfig())
    (tmp_path / "b").write_text("x: [")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b")
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path}/b: line 2")):
        ClusterConfig.from_kubeconfig()


def test_a_folder_is_not_a_kubeconfig(tmp_path: Path) -> None:
    assert complaint(tmp_path) == f"{tmp_path} is a folder, not a kubeconfig file"


def test_a_circle_of_symlinks_is_named(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.symlink_to(b)
    b.symlink_to(a)
    assert complaint(a) == (f"cannot read the kubeconfig {a}: Too many levels of symbolic links")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("{}")
    path.chmod(0)
    assert complaint(path) == f"cannot read the kubeconfig {path}: Permission denied"


@pytest.mark.parametrize("given", [5, {"users": [{"token": "hush"}]}], ids=["number", "dict"])
def test_what_is_no_path_is_refused_and_not_shown(given: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"from_kubeconfig takes a path: a str or a Path, not (int|dict)"
    ) as caught:
        ClusterConfig.from_kubeconfig(given)
    assert "hush" not in str(caught.value)


def test_the_context_is_a_name(tmp_path: Path) -> None:
    """18.28: an error of this library, not a TypeError."""
    path, context = tmp_path / "config", cast("str", 5)
    path.write_text(kubeconfig(), "utf-8")
    with pytest.raises(ConfigError, match="context takes the name of a context, not int"):
        ClusterConfig.from_kubeconfig(path, context)


def test_the_server_is_text() -> None:
    """18.28: an error of this library, not an AttributeError."""
    with pytest.raises(ConfigError, match=r"server takes an address .*, not int"):
        ClusterConfig(server=cast("str", 5))
