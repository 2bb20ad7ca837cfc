"""Selection of the HTTP proxy from ``proxy-url`` and the environment."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from kinform.errors import ConfigError
from kinform.transport._redacted import Redacted, SecretText


class Proxy(Redacted, frozen=True):
    """An HTTP proxy. The login is separate, so that it is never shown."""

    shown: ClassVar = ("url",)

    url: str
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


def choose_proxy(
    server: str, *, proxy_url: str | None, environment: Mapping[str, str]
) -> Proxy | None:
    """Return the proxy of ``proxy-url``, or else of the environment, as client-go does.

    Raises:
        ConfigError: The address of the proxy is invalid.
    """
    if proxy_url:
        return parse_proxy(proxy_url, origin="proxy-url")
    target = urlsplit(server)
    name = "HTTPS_PROXY" if target.scheme == "https" else "HTTP_PROXY"
    if name == "HTTP_PROXY" and "REQUEST_METHOD" in environment:
        return None  # in CGI this variable is a header of the client's request
    address = environment.get(name) or environment.get(name.lower())
    exceptions = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    if not address or not _goes_through_proxy(target, exceptions):
        return None
    return parse_proxy(address, origin=name)


def parse_proxy(address: str, *, origin: str) -> Proxy:
    """Validate an address and separate its login.

    Raises:
        ConfigError: This is not the address of an HTTP proxy. The message shows no login.
    """
    address = SecretText(address)  # also in tracebacks with local variables
    try:
        scheme, host, port, login = _split(address)
    except ValueError:
        raise ConfigError(f"{origin} is not an address such as http://proxy:3128") from None
    if scheme.startswith("socks"):
        raise ConfigError(
            f"{origin} names a SOCKS proxy ({scheme}://{host}), which is not supported; "
            "use an http:// or https:// proxy"
        )
    if scheme not in ("http", "https") or not host:
        raise ConfigError(f"{origin} must look like http://proxy:3128 or https://proxy:3128")
    bracketed = f"[{host}]" if ":" in host else host
    url = f"{scheme}://{bracketed}" + (f":{port}" if port else "")
    if login is None:
        return Proxy(url)
    encoded = base64.b64encode(login.encode()).decode("ascii")
    return Proxy(url, {"Proxy-Authorization": SecretText(f"Basic {encoded}")})


def _split(address: str) -> tuple[str, str | None, int | None, SecretText | None]:
    """Return the scheme, host, port and login. Raises ValueError."""
    parts = urlsplit(address if "://" in address else f"http://{address}")
    login = None
    if parts.username is not None:
        login = SecretText(f"{unquote(parts.username)}:{unquote(parts.password or '')}")
    return parts.scheme, parts.hostname, parts.port, login


def _goes_through_proxy(target: SplitResult, exceptions: str) -> bool:
    host = (target.hostname or "").rstrip(".")
    port = target.port or (443 if target.scheme == "https" else 80)
    address = _address_of(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    return not any(
        _is_exception(entry.strip().lower(), host, port, address) for entry in exceptions.split(",")
    )


def _is_exception(
    entry: str, host: str, port: int, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, entry_port = _split_port(entry)
    if entry_port is not None and entry_port != port:
        return False
    if address is not None:
        return _address_of(name) == address
    name = name.removeprefix("*")
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, int | None]:
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        port = rest.removeprefix(":")
    elif entry.count(":") == 1:
        name, _, port = entry.partition(":")
    else:
        return entry, None
    return name, int(port) if port.isdecimal() else None


def _address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
