"""Credentials and impersonation from the user entry of a kubeconfig."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kinform.errors import ConfigError
from kinform.transport._credentials import (
    Anonymous,
    BasicAuth,
    ClientCertificate,
    CombinedCredentials,
    Credentials,
    StaticToken,
    TokenFile,
)
from kinform.transport._exec_plugin import ExecPlugin
from kinform.transport._impersonation import Impersonation
from kinform.transport._kubeconfig_section import Section, key_text, plain_value
from kinform.transport._pem import PemReader

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"

ClusterInfo = Callable[[], Mapping[str, Any]]


def credentials_of(user: Section | None, cluster_info: ClusterInfo) -> Credentials:
    """Return the credentials of an entry. A static token or login overrides an exec plugin.

    Raises:
        ConfigError: The entry is invalid; the message names file, user and field.
    """
    if user is None:
        return Anonymous()
    if user.content.get("auth-provider") is not None:
        raise _auth_provider(user)
    parts = [
        part
        for part in (_login(user), _certificate(user), _exec(user, cluster_info))
        if part is not None
    ]
    if not parts:
        return Anonymous()
    return parts[0] if len(parts) == 1 else CombinedCredentials(*parts)


def impersonation_of(user: Section | None) -> Impersonation | None:
    """Read ``as``, ``as-uid``, ``as-groups`` and ``as-user-extra``."""
    if user is None:
        return None
    extras = user.section("as-user-extra")
    extra = {key_text(name): extras.texts(name) for name in extras.content} if extras else {}
    name, uid, groups = user.text("as"), user.text("as-uid"), user.texts("as-groups")
    if not (name or uid or groups or extra):
        return None
    if not name:
        raise user.error("as-uid, as-groups and as-user-extra need 'as', the user to act as")
    try:
        return Impersonation(user=name, uid=uid, groups=groups, extra=extra)
    except ConfigError as error:
        raise user.error(str(error)) from None


def exec_cluster_info(cluster: Section, authority: bytes | Path | None) -> ClusterInfo:
    """Return a function that creates the cluster info for ``provideClusterInfo`` on demand."""

    def info() -> Mapping[str, Any]:
        found: dict[str, Any] = {
            field: cluster.text(field)
            for field in ("server", "tls-server-name", "proxy-url")
            if cluster.text(field)
        }
        for field in ("insecure-skip-tls-verify", "disable-compression"):
            if cluster.flag(field):
                found[field] = True
        if authority is not None:
            pem = PemReader(authority, what="certificate authority").read()
            found["certificate-authority-data"] = base64.b64encode(pem).decode("ascii")
        for extension in cluster.sections("extensions"):
            if extension.text("name") == _EXEC_EXTENSION:
                found["config"] = plain_value(extension, "extension")
        return found

    return info


def _login(user: Section) -> Credentials | None:
    token, password = user.text("token"), user.text("password")
    username = user.text("username")
    token_file = user.path("tokenFile")
    if (token or token_file) and (username or password):
        raise user.error("has both a token and a username/password; only one may be used")
    if token_file:
        return TokenFile(token_file)
    try:
        if token:
            return StaticToken(token, origin=f"{user.where} in {user.file}")
        return BasicAuth(username, password) if username or password else None
    except ConfigError as error:
        raise user.error(str(error)) from None


def _certificate(user: Section) -> Credentials | None:
    certificate = user.data("client-certificate-data") or user.path("client-certificate")
    key = user.data("client-key-data") or user.path("client-key")
    if certificate is None and key is None:
        return None
    if key is None:
        raise user.error("has a client certificate, but neither client-key nor client-key-data")
    if certificate is None:
        raise user.error(
            "has a client key, but neither client-certificate nor client-certificate-data"
        )
    return ClientCertificate(certificate, key)


def _exec(user: Section, cluster_info: ClusterInfo) -> Credentials | None:
    section = user.section("exec")
    if section is None:
        return None
    command = section.text("command")
    if not command:
        raise section.error("command is missing")
    if not section.text("apiVersion"):
        raise section.error("apiVersion is missing; use client.authentication.k8s.io/v1")
    if "/" in command:
        command = str(section.file.parent / command)
    options: dict[str, Any] = {
        "args": section.texts("args"),
        "env": _environment(section),
        "api_version": section.text("apiVersion"),
        "interactive_mode": section.text("interactiveMode") or "IfAvailable",
        "install_hint": section.text("installHint"),
        "cluster": cluster_info() if section.flag("provideClusterInfo") else None,
    }
    try:
        return ExecPlugin(command, **options)
    except ConfigError as error:
        raise section.error(str(error)) from None


def _environment(section: Section) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in section.sections("env"):
        name = item.text("name")
        if not name or "=" in name:
            raise item.error("name of the variable is missing or wrong")
        found[name] = item.text("value")
    return found


def _auth_provider(user: Section) -> ConfigError:
    provider = user.section("auth-provider")
    name = provider.text("name") if provider else ""
    plugins = {
        "gcp": "gke-gcloud-auth-plugin (gcloud container clusters get-credentials)",
        "azure": "kubelogin (kubelogin convert-kubeconfig)",
        "oidc": "kubectl-oidc_login",
    }
    plugin = plugins.get(name, "one for your provider")
    return user.error(
        f"uses the auth-provider {name!r}, which Kubernetes has retired; "
        f"use an exec plugin instead: {plugin}"
    )
