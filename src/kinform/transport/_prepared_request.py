"""A fully prepared HTTP request."""

from __future__ import annotations

import ssl
from collections.abc import Iterable

import msgspec

from kinform.transport._proxy import Proxy

REDIRECTS = frozenset((301, 302, 303, 307, 308))


class PreparedRequest(msgspec.Struct, frozen=True):
    """The request to send, its URL and the connection settings."""

    method: str
    url: str
    headers: Iterable[tuple[str, str]]
    body: bytes | None
    context: ssl.SSLContext | None
    server_hostname: str | None
    proxy: Proxy | None

    @property
    def action(self) -> str:
        return f"{self.method} {self.url.partition('?')[0]}"
