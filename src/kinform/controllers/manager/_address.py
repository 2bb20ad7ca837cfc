"""The address that a manager listens on."""

from __future__ import annotations

from kinform.errors import ConfigError

_LOOPBACK = "127.0.0.1"


def parse_address(address: str) -> tuple[str, int]:
    """Split ``host:port``. Without a host, it is the loopback address.

    Raises:
        ConfigError: This is not an address.
    """
    if isinstance(address, str):
        host, colon, port = address.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
        is_ambiguous = ":" in host and not address.startswith("[")
        if colon and port.isdecimal() and int(port) < 65536 and not is_ambiguous:
            return host or _LOOPBACK, int(port)
    raise ConfigError(
        f"address must be host:port, such as '127.0.0.1:8080' or '[::1]:8080', not {address!r}; "
        "port 0 chooses a free one"
    )


def format_address(host: str, port: int) -> str:
    """Return ``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
