"""The configuration of a cluster connection, from a kubeconfig, a service account or options."""

from __future__ import annotations

import ipaddress
import logging
import os
import sys
from typing import Any
from urllib.parse import urlsplit

import msgspec

from kinform._checks import expect
from kinform._version import __version__
from kinform.errors import ConfigError
from kinform.transport._credentials import Anonymous, ClientCertificate, Credentials
from kinform.transport._impersonation import Impersonation
from kinform.transport._pem import PemSource
from kinform.transport._proxy import parse_proxy
from kinform.transport._redacted import Redacted, SecretText

logger = logging.getLogger("kinform.transport")

_WITHOUT_HEADERS = (Anonymous, ClientCertificate)
_warned: set[str] = set()
_SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"


def default_user_agent() -> str:
    major, minor = sys.version_info[:2]
    return f"kinform/{__version__} (python/{major}.{minor}; {sys.platform})"


class ClusterConfig(Redacted, frozen=True, kw_only=True):
    """The address of a cluster and the credentials. Immutable; see ``msgspec.structs.replace``.

    The repr shows no secrets.

    Raises:
        ConfigError: An option is invalid; the message names it.
    """

    server: str
    """``https://host:port``, with a path if the API has one."""
    certificate_authority: PemSource | None = None
    """CA certificates: a path (reloaded on change) or PEM bytes; by default those of the system."""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    """The expected name in the server's certificate, if it is not the host name."""
    proxy_url: str | None = None
    """The URL of an HTTP proxy; by default ``HTTPS_PROXY`` and ``NO_PROXY`` apply."""
    credentials: Credentials = msgspec.field(default_factory=Anonymous)
    impersonation: Impersonation | None = None
    namespace: str = "default"
    compression: bool = False
    """Request gzip responses. Useful only for slow networks, because it costs CPU on both sides."""
    qps: float | None = None
    """The average number of requests per second; ``None`` for no limit."""
    burst: int = 10
    """The maximum number of requests at once, if ``qps`` is set."""
    user_agent: str = msgspec.field(default_factory=default_user_agent)
    name: str = ""
    """The name of this configuration in errors."""

    def __post_init__(self) -> None:
        expect(self.server, str, receiver="server", expected="an address like https://host:6443")
        _check_server(SecretText(self.server.strip()))
        server = str(self.server.strip().rstrip("/"))
        msgspec.structs.force_setattr(self, "server", server)
        msgspec.structs.force_setattr(self, "name", self.name or server)
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
        self._warn_about_risks()

    def _warn_about_risks(self) -> None:
        if self.server.startswith("https:"):
            if self.insecure_skip_tls_verify:
                _warn_once(
                    f"insecure-skip-tls-verify: {self.server} could be any server, and it gets the "
                    "credentials; set its certificate authority instead"
                )
        elif not (_is_loopback(self.server) or type(self.credentials) in _WITHOUT_HEADERS):
            _warn_once(
                f"credentials are sent to {self.server} unencrypted, so that others on the network "
                "can read them; use https://"
            )

    @property
    def accept_encoding(self) -> str:
        """The ``Accept-Encoding`` header: ``gzip`` or ``identity``."""
        return "gzip" if self.compression else "identity"

    @classmethod
    def from_kubeconfig(
        cls, path: str | os.PathLike[str] | None = None, context: str | None = None
    ) -> ClusterConfig:
        """Load a context of a kubeconfig, by default the current one.

        Without a path, the files of ``KUBECONFIG`` are merged, or else ``~/.kube/config`` is read.

        Raises:
            ConfigError: The configuration is invalid; the message names file, entry and field.
        """
        from kinform.transport._kubeconfig import load_kubeconfig, resolve

        return resolve(load_kubeconfig(path, os.environ), context)

    @classmethod
    def in_cluster(
        cls, *, folder: str | os.PathLike[str] = _SERVICE_ACCOUNT_FOLDER
    ) -> ClusterConfig:
        """Use the service account of the pod that the program runs in. Token and CA may rotate.

        Raises:
            ConfigError: The program does not run in a pod, or the pod has no service account token.
        """
        from kinform.transport._in_cluster import in_cluster_config

        return in_cluster_config(folder, os.environ)

    @classmethod
    def from_env(cls, *, folder: str | os.PathLike[str] = _SERVICE_ACCOUNT_FOLDER) -> ClusterConfig:
        """Use the service account inside a pod, or else the current context of the kubeconfig.

        Raises:
            ConfigError: Neither exists; the message says what was tried.
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
        shown: dict[str, Any] = {
            "server": _without_login(self.server),
            "namespace": self.namespace,
        }
        if self.name not in ("", self.server):
            shown["name"] = self.name
        if self.proxy_url:
            shown["proxy_url"] = _without_login(self.proxy_url)
        shown["credentials"] = self.credentials
        return list(shown.items())


def _warn_once(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        logger.warning("%s", message)


def _is_loopback(server: str) -> bool:
    host = urlsplit(server).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_server(server: SecretText) -> None:
    if problem := _problem_of(server):
        raise ConfigError(f"server {_without_login(server)!r} {problem}")


def _problem_of(server: str) -> str:
    """Return what is wrong; an exception would refer to frames with the parts of a login."""
    try:
        parts = urlsplit(server)
        parts.port  # noqa: B018  # raises if it is not one
    except ValueError as error:
        # Its text quotes the port, which is a part of the password if that has a slash.
        return "is not an address" + ("" if "@" in server else f": {error}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must look like https://host:6443"
    if parts.username is not None:
        return "holds a login; that belongs in the credentials"
    if parts.query or parts.fragment:
        return "must not hold a query or a fragment"
    return ""


def _without_login(server: str) -> str:
    scheme, separator, rest = server.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
