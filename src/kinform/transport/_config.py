"""A kubeconfig, a pod's service account or plain options in, all about one cluster out."""

from __future__ import annotations

import os
import sys
from typing import Any
from urllib.parse import urlsplit

import msgspec

from kinform._version import __version__
from kinform.errors import ConfigError
from kinform.transport._credentials import Anonymous, Credentials
from kinform.transport._impersonation import Impersonation
from kinform.transport._pem import PemSource
from kinform.transport._proxy import parse_proxy
from kinform.transport._redacted import Redacted

_SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"


def default_user_agent() -> str:
    major, minor = sys.version_info[:2]
    return f"kinform/{__version__} (python/{major}.{minor}; {sys.platform})"


class ClusterConfig(Redacted, frozen=True, kw_only=True):
    """How to reach one cluster, and as whom. Immutable; ``msgspec.structs.replace`` makes variants.

    Its repr shows no private material.

    Raises:
        ConfigError: An option is wrong; names it.
    """

    server: str
    """``https://host:port``, with a path if the API lives below one."""
    certificate_authority: PemSource | None = None
    """Whom to trust: a path (read again when it changes) or PEM as bytes; else the system's."""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    """The name to expect in the server's certificate, if not the host's."""
    proxy_url: str | None = None
    """An HTTP proxy; without one, ``HTTPS_PROXY`` and ``NO_PROXY`` count."""
    credentials: Credentials = msgspec.field(default_factory=Anonymous)
    impersonation: Impersonation | None = None
    namespace: str = "default"
    compression: bool = False
    """Ask for gzip. Worth it over slow links only: it costs both sides time."""
    qps: float | None = None
    """Requests per second on average; ``None`` for no limit."""
    burst: int = 10
    """Requests at once, when ``qps`` is set."""
    user_agent: str = msgspec.field(default_factory=default_user_agent)
    name: str = ""
    """What errors call this configuration."""

    def __post_init__(self) -> None:
        server = self.server.strip().rstrip("/")
        msgspec.structs.force_setattr(self, "server", server)
        msgspec.structs.force_setattr(self, "name", self.name or server)
        _check_server(server)
        if self.insecure_skip_tls_verify and self.certificate_authority is not None:
            raise ConfigError(
                "insecure-skip-tls-verify and a certificate authority exclude each other; "
                "remove one"
            )
        if self.proxy_url:
            parse_proxy(self.proxy_url, origin="proxy-url")
        if self.qps is not None and not self.qps > 0:
            raise ConfigError(f"qps must be above 0, not {self.qps!r}; None turns the limit off")
        if self.burst < 1:
            raise ConfigError(f"burst must be at least 1, not {self.burst!r}")
        if not self.user_agent.isprintable():
            raise ConfigError("user_agent holds a line break or control character")

    @property
    def accept_encoding(self) -> str:
        """What to ask of the server: ``gzip`` or ``identity``."""
        return "gzip" if self.compression else "identity"

    @classmethod
    def from_kubeconfig(
        cls, path: str | os.PathLike[str] | None = None, context: str | None = None
    ) -> ClusterConfig:
        """A context of a kubeconfig, by default the current one.

        Without a path: the files of ``KUBECONFIG`` merged, else ``~/.kube/config``.

        Raises:
            ConfigError: Names file, entry and field.
        """
        from kinform.transport._kubeconfig import load_kubeconfig, resolve

        return resolve(load_kubeconfig(path, os.environ), context)

    @classmethod
    def in_cluster(
        cls, *, folder: str | os.PathLike[str] = _SERVICE_ACCOUNT_FOLDER
    ) -> ClusterConfig:
        """The service account of the pod that this runs in. Token and CA may rotate.

        Raises:
            ConfigError: This is not a pod, or it has no service account token.
        """
        from kinform.transport._in_cluster import in_cluster_config

        return in_cluster_config(folder, os.environ)

    @classmethod
    def from_env(cls, *, folder: str | os.PathLike[str] = _SERVICE_ACCOUNT_FOLDER) -> ClusterConfig:
        """Inside a pod its service account, elsewhere the kubeconfig's current context.

        Raises:
            ConfigError: Neither is there; says what was tried.
        """
        from kinform.transport._in_cluster import missing_in_cluster

        missing = missing_in_cluster(folder, os.environ)
        if missing is None:
            return cls.in_cluster(folder=folder)
        try:
            return cls.from_kubeconfig()
        except ConfigError as error:
            raise ConfigError(f"{error} (not in a pod either: {missing})") from error

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        shown: dict[str, Any] = {"server": self.server, "namespace": self.namespace}
        if self.name != self.server:
            shown["name"] = self.name
        if self.proxy_url:
            shown["proxy_url"] = parse_proxy(self.proxy_url, origin="proxy-url").url
        shown["credentials"] = self.credentials
        return list(shown.items())


def _check_server(server: str) -> None:
    try:
        parts = urlsplit(server)
        parts.port  # noqa: B018  # raises if it is not one
    except ValueError as error:
        raise ConfigError(f"server {_without_login(server)!r} is not an address: {error}") from None
    shown = _without_login(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"server {shown!r} must look like https://host:6443")
    if parts.username is not None:
        raise ConfigError(f"server {shown!r} holds a login; that belongs in the credentials")
    if parts.query or parts.fragment:
        raise ConfigError(f"server {shown!r} must not hold a query or a fragment")


def _without_login(server: str) -> str:
    scheme, separator, rest = server.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
