"""The HTTP transport, with credentials, TLS, proxy and rate limit.

Requests use aiohttp; streams have their own connections.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Union
from urllib.parse import quote, urlencode
from weakref import WeakSet

from kinform.errors import ConfigError, StateError, TransportError
from kinform.transport._http_stream import open_stream
from kinform.transport._prepared_request import REDIRECTS, PreparedRequest
from kinform.transport._proxy import choose_proxy
from kinform.transport._rate_limit import TokenBucket
from kinform.transport._stream_response import StreamResponse
from kinform.transport._tls import TlsContexts

if TYPE_CHECKING:
    import aiohttp

    from kinform.transport._aiohttp_response import AiohttpResponse
    from kinform.transport._base import Request
    from kinform.transport._config import ClusterConfig
    from kinform.transport._pem import CertificatePair

logger = logging.getLogger("kinform.transport")

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

AnyResponse = Union["AiohttpResponse", "StreamResponse"]
_Identity = tuple[Mapping[str, str], "CertificatePair | None"]


class AiohttpTransport:
    """A ``Transport`` to the cluster of ``config``. Bound to the event loop of its first request.

    A 401 response refreshes the credentials and repeats the request once. Certificates that change
    on disk are used for new connections; open streams keep theirs.

    Args:
        config: The address of the cluster and the credentials.
        watch_latency: See ``kinform.Client``.
    """

    def __init__(self, config: ClusterConfig, *, watch_latency: float = 0.0) -> None:
        self._config = config
        self._watch_latency = watch_latency
        self._credentials = config.credentials
        self._secure = config.server.startswith("https:")
        self._tls = TlsContexts(
            certificate_authority=config.certificate_authority,
            insecure_skip_tls_verify=config.insecure_skip_tls_verify,
            name=config.name,
        )
        self._proxy = choose_proxy(
            config.server, proxy_url=config.proxy_url, environment=os.environ
        )
        self._limiter = (
            None if config.qps is None else TokenBucket(qps=config.qps, burst=config.burst)
        )
        self._common_headers = _common_headers(config)
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # Weak references, so that unclosed responses can be garbage collected.
        self._open: WeakSet[AnyResponse] = WeakSet()
        # Streams without a response yet; closing the transport expires their timeouts.
        self._opening: set[asyncio.Timeout] = set()
        self._closed = False

    async def send(self, request: Request) -> AnyResponse:
        timeout = request.total_timeout
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        try:
            async with asyncio.timeout_at(deadline):
                if self._limiter is not None:
                    await self._limiter.acquire()
                return await self._send(request, deadline)
        except TimeoutError as error:
            raise TransportError(
                f"{request.method} {self._config.server}{request.path}: "
                f"no answer within {timeout:g} s"
            ) from error

    async def close(self) -> None:
        self._closed = True
        # Responses first: closing only the session would leave their readers waiting.
        for response in tuple(self._open):
            await response.close()
        opening, self._opening = self._opening, set()
        for patience in opening:
            patience.reschedule(0)
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def describe_credentials(self) -> str:
        return self._credentials.describe()

    async def _send(self, request: Request, deadline: float | None) -> AnyResponse:
        identity = await self._identity()
        response = await self._send_as(request, identity, deadline)
        if response.status != 401:
            return response
        try:
            renewed = await self._renewed(identity)
        except BaseException:
            await response.close()
            raise
        if not renewed:
            return response
        await response.close()
        logger.debug("401 from %s; trying once more with new credentials", self._config.name)
        return await self._send_as(request, await self._identity(), deadline)

    async def _identity(self) -> _Identity:
        return await self._credentials.headers(), await self._credentials.client_certificate()

    async def _renewed(self, refused: _Identity) -> bool:
        """Report whether the credentials have changed since, or change with a refresh."""
        return await self._identity() != refused or await self._credentials.refresh()

    async def _send_as(
        self, request: Request, identity: _Identity, deadline: float | None
    ) -> AnyResponse:
        self._check_open()
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        if loop is not self._loop:
            raise StateError(
                f"the transport to {self._config.name} belongs to another event loop, that of its "
                "first request; make a client for each loop"
            )
        headers, certificate = identity
        prepared = PreparedRequest(
            method=request.method,
            url=self._url(request),
            headers=self._headers(request, headers),
            body=request.body,
            context=self._tls.current(certificate) if self._secure else None,
            server_hostname=self._config.tls_server_name if self._secure else None,
            proxy=self._proxy,
        )
        response = await self._respond(request, prepared, deadline)
        self._open.add(response)
        if self._closed:
            await response.close()
            self._check_open()
        return response

    async def _respond(
        self, request: Request, prepared: PreparedRequest, deadline: float | None
    ) -> AnyResponse:
        # Own streams support only direct GET requests; aiohttp supports proxies and redirects.
        if request.is_stream and request.method == "GET" and prepared.proxy is None:
            stream = await self._stream(prepared, deadline)
            if stream.status not in REDIRECTS:
                return stream
            await stream.close()
            self._check_open()  # otherwise the new session would never be closed
        # Imported lazily: aiohttp is large and slow to import, and watches do not need it.
        from kinform.transport._aiohttp_response import AiohttpResponse
        from kinform.transport._aiohttp_session import new_session, send_prepared

        if self._session is None:
            self._session = new_session()
        opened = await send_prepared(self._session, prepared)
        return AiohttpResponse(
            opened, action=prepared.action, deadline=deadline, on_close=self._open.discard
        )

    async def _stream(self, prepared: PreparedRequest, deadline: float | None) -> StreamResponse:
        try:
            async with asyncio.timeout(None) as patience:
                self._opening.add(patience)
                try:
                    stream, head = await open_stream(
                        prepared.url,
                        action=prepared.action,
                        headers=prepared.headers,
                        context=prepared.context,
                        server_hostname=prepared.server_hostname,
                        latency=self._watch_latency,
                    )
                finally:
                    self._opening.discard(patience)
        except TimeoutError as error:
            raise TransportError(
                f"{prepared.action}: closed while waiting for the answer"
            ) from error
        return StreamResponse(
            stream, head, action=prepared.action, deadline=deadline, on_close=self._open.discard
        )

    def _check_open(self) -> None:
        if self._closed:
            raise StateError(f"the transport to {self._config.name} is closed")

    def _url(self, request: Request) -> str:
        # '%' is kept, because only the caller knows which characters of a name it has escaped.
        url = self._config.server + quote(request.path, safe="/%:@!$&'()*+,;=~")
        return f"{url}?{urlencode(request.query, quote_via=quote)}" if request.query else url

    def _headers(self, request: Request, credentials: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return all headers; those of the request override the transport's.

        Raises:
            ConfigError: A header contains a line break.
        """
        given = {name.lower() for name in request.headers}
        ours = (*self._common_headers, *credentials.items())
        if self._proxy is not None and not self._secure:
            ours += tuple(self._proxy.headers.items())  # without CONNECT, the request carries them
        headers = [
            *((name, value) for name, value in ours if name.lower() not in given),
            *request.headers.items(),
        ]
        for name, value in headers:
            _check_header(name, value)
        return headers

    def __repr__(self) -> str:
        return f"AiohttpTransport({self._config!r})"


def _check_header(name: str, value: str) -> None:
    if not _HEADER_NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be the name of a header")
    if _CONTROL.search(value) or _has_surrogates(value):
        # The message omits the value, which may be a token.
        raise ConfigError(f"the value of the header {name} holds a line break or control character")


def _has_surrogates(value: str) -> bool:
    # ASCII never needs the pattern, which is slow to compile.
    return not value.isascii() and re.search(r"[\ud800-\udfff]", value) is not None


def _common_headers(config: ClusterConfig) -> tuple[tuple[str, str], ...]:
    impersonation = config.impersonation.headers() if config.impersonation else ()
    return (
        ("User-Agent", config.user_agent),
        ("Accept-Encoding", config.accept_encoding),
        *impersonation,
    )
