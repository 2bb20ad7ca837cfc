"""A fully prepared HTTP request."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import ClassVar

from kinform.transport._proxy import Proxy
from kinform.transport._redacted import Redacted

REDIRECTS = frozenset((301, 302, 303, 307, 308))


class PreparedRequest(Redacted, frozen=True):
    """The request to send, its URL and the connection settings. The repr shows only the action."""

    shown: ClassVar = ("method", "url")

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
