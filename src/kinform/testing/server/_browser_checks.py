"""Refuses requests that a web page in a browser on this machine could send."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from kinform.errors import ForbiddenError

_READ_ONLY = frozenset({"GET", "HEAD", "OPTIONS"})
_FOREIGN_SITES = frozenset({"cross-site", "same-site"})


class BrowserChecks:
    """Accepts only requests to names of this machine, and no writes by pages of other sites.

    A page can reach loopback under a name of its own whose address it changes (DNS rebinding), or
    send a form across sites. Programs other than browsers send neither ``Origin`` nor
    ``Sec-Fetch-Site``.
    """

    def __init__(self, allowed_hosts: Iterable[str]) -> None:
        self._allowed_hosts = frozenset(host.lower() for host in allowed_hosts)

    def check(self, method: str, headers: Mapping[str, str]) -> None:
        """Check a request.

        Raises:
            ForbiddenError: It is sent to another host, or it is a write by a page of another site.
        """
        host = headers.get("Host", "")
        if host and not self._is_allowed(_host_name(host)):
            raise _refusal(
                f"the Host header {host[:100]!r} is not a name of this machine; "
                "allow it with ApiServer(allowed_hosts=[...]) or kinform serve --allow-host"
            )
        if method in _READ_ONLY:
            return
        origin = headers.get("Origin")
        foreign = origin is not None and _address_of(origin) != host.lower()
        if foreign or headers.get("Sec-Fetch-Site", "").lower() in _FOREIGN_SITES:
            raise _refusal("a web page of another site may not change objects")

    def _is_allowed(self, name: str) -> bool:
        if name == "localhost" or name in self._allowed_hosts:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _address_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _refusal(why: str) -> ForbiddenError:
    return ForbiddenError(f"forbidden: {why}", code=403, reason="Forbidden")
