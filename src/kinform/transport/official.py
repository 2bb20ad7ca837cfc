"""Conversion of an official client's configuration to a ``ClusterConfig``.

The address, the CA certificates and the credentials are taken over. Settings that kinform does not
support are rejected by name; none is ignored silently.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from kinform.errors import ConfigError
from kinform.transport._config import ClusterConfig
from kinform.transport._impersonation import Impersonation
from kinform.transport._official_credentials import OfficialCredentials
from kinform.transport._pem import PemSource
from kinform.transport._proxy import choose_proxy, parse_proxy

_EXTRA = "impersonate-extra-"


def official_config(source: object) -> ClusterConfig:
    """Convert an ``ApiClient``, an API object or a ``Configuration`` of an official client.

    Tokens are read from the configuration before each request, so that its hook can renew them.

    Raises:
        ConfigError: ``source`` is none of these, or has an unsupported setting; the message
            names it.
    """
    client = getattr(source, "api_client", source)
    configuration: Any = getattr(client, "configuration", client)
    if not hasattr(configuration, "api_key") or not hasattr(configuration, "ssl_ca_cert"):
        raise ConfigError(
            f"a {type(source).__name__} is neither an ApiClient nor a Configuration of the "
            "official client"
        )
    if not configuration.host:
        raise ConfigError(
            "host of the official configuration is not set; load one first, as by "
            "kubernetes.config.load_kube_config()"
        )
    if getattr(configuration, "access_token", None):
        raise _refused(
            "access_token", "the official client does not send it; set api_key['authorization']"
        )
    headers = _default_headers(client)
    return ClusterConfig(
        server=configuration.host,
        certificate_authority=_authority(configuration),
        insecure_skip_tls_verify=not configuration.verify_ssl,
        tls_server_name=_server_name(configuration),
        proxy_url=_proxy_url(configuration),
        credentials=OfficialCredentials(configuration, headers.pop("authorization", None)),
        **_from_headers(headers),
        name=f"the official client of {configuration.host}",
    )


def _refused(setting: str, why: str) -> ConfigError:
    return ConfigError(f"{setting} of the official client cannot be taken over: {why}")


# -- TLS -------------------------------------------------------------------------------------


def _authority(configuration: Any) -> PemSource | None:
    path, data = configuration.ssl_ca_cert, getattr(configuration, "ca_cert_data", None)
    if not configuration.verify_ssl:
        return None  # without verification the CA is unused, as in the official client
    if not data:
        return str(path) if path else None
    if path:
        raise _refused("ca_cert_data", "ssl_ca_cert is set too; put both into one file")
    return data.encode() if isinstance(data, str) else _pem_of(data)


def _pem_of(data: bytes) -> bytes:
    """Convert concatenated DER certificates to PEM."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=data)
    except (ssl.SSLError, ValueError) as error:
        raise _refused("ca_cert_data", "as bytes it holds no certificates in DER") from error
    found = context.get_ca_certs(binary_form=True)
    return "".join(map(ssl.DER_cert_to_PEM_cert, found)).encode()


def _server_name(configuration: Any) -> str | None:
    name: str | None = getattr(configuration, "tls_server_name", None) or None
    expected = configuration.assert_hostname
    if not configuration.verify_ssl or expected is None or expected is True:
        return name
    if expected is False:
        raise _refused(
            "assert_hostname=False",
            "the server's name is always checked; set tls_server_name to the one it has",
        )
    if name not in (None, expected):
        raise _refused("assert_hostname", "tls_server_name is another name; keep one")
    return str(expected)


# -- proxies ---------------------------------------------------------------------------------


def _proxy_url(configuration: Any) -> str | None:
    """Return the URL of the proxy with its login, or ``None`` for no proxy."""
    address, exceptions = configuration.proxy, getattr(configuration, "no_proxy", None)
    if address and exceptions and _is_excepted(configuration.host, exceptions):
        address = None
    if not address:
        _check_environment(configuration.host)
        return None
    if getattr(configuration, "proxy_ssl_context", None) is not None:
        raise _refused("proxy_ssl_context", "proxies are trusted as the system trusts them")
    # ClusterConfig checks it again, but under a different setting name.
    parse_proxy(address, origin="proxy of the official client")
    return _with_login(address, configuration.proxy_headers)


def _is_excepted(host: str, exceptions: str) -> bool:
    # Any proxy address works for this check.
    environment = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY"), "http://proxy")
    environment["NO_PROXY"] = exceptions
    return choose_proxy(host, proxy_url=None, environment=environment) is None


def _check_environment(host: str) -> None:
    if choose_proxy(host, proxy_url=None, environment=os.environ) is not None:
        raise _refused(
            "proxy",
            f"it has none, but the environment has one for {urlsplit(host).hostname}; "
            "add that host to NO_PROXY, or set proxy",
        )


def _with_login(address: str, headers: Mapping[str, str] | None) -> str:
    if not headers:
        return str(address)
    given = {name.lower(): value for name, value in headers.items()}
    login = _basic_login(given.pop("proxy-authorization", ""))
    if given or login is None:
        names = ", ".join(given) or "proxy-authorization"
        raise _refused(f"proxy_headers ({names})", "only a basic login is sent to proxies")
    scheme, _, rest = address.rpartition("://")
    user, password = (quote(part, safe="") for part in login)
    return f"{scheme or 'http'}://{user}:{password}@{rest.rpartition('@')[2]}"


def _basic_login(header: str) -> tuple[str, str] | None:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return user, password


# -- what a client adds to each request ------------------------------------------------------


def _default_headers(client: Any) -> dict[str, str]:
    if getattr(client, "cookie", None):
        raise _refused("cookie", "credentials are headers or certificates")
    given: Mapping[str, Any] = getattr(client, "default_headers", None) or {}
    return {name.lower(): str(value) for name, value in given.items()}


def _from_headers(headers: dict[str, str]) -> dict[str, Any]:
    """Return the options that correspond to the headers."""
    options: dict[str, Any] = {}
    user_agent = headers.pop("user-agent", "")
    if user_agent and not user_agent.startswith("OpenAPI-Generator/"):
        options["user_agent"] = user_agent
    given = {name: headers.pop(name) for name in list(headers) if name.startswith("impersonate-")}
    if given:
        options["impersonation"] = _impersonation(given)
    if headers:
        raise _refused(
            f"the default header {next(iter(headers))}",
            "give the client's configuration instead to go without its headers",
        )
    return options


def _impersonation(given: dict[str, str]) -> Impersonation:
    group = given.pop("impersonate-group", "")
    found = Impersonation(
        user=given.pop("impersonate-user", ""),
        uid=given.pop("impersonate-uid", ""),
        groups=[group] if group else [],
        extra={
            unquote(name.removeprefix(_EXTRA)): [given.pop(name)]
            for name in list(given)
            if name.startswith(_EXTRA)
        },
    )
    if given:
        raise _refused(f"the default header {next(iter(given))}", "it means nothing to servers")
    return found
