"""The aiohttp session: connection pool, redirects and safe retries."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import aiohttp
from yarl import URL

from kinform.errors import TransportError
from kinform.transport._aiohttp_errors import AIOHTTP_ERRORS, translated
from kinform.transport._prepared_request import REDIRECTS, PreparedRequest
from kinform.transport._sockets import CONNECT_TIMEOUT, new_socket

# Long enough for bursts of requests, shorter than the timeouts of servers and load balancers.
_KEEPALIVE = 30.0
# The maximum buffered data per stream before the server is slowed down.
_READ_BUFFER = 512 * 1024
# Warning headers and cookies of gateways can be long.
_HEADER_LIMIT = 64 * 1024
# aiohttp warns about larger bodies as bytes.
_PLAIN_BODY_LIMIT = 1024 * 1024
_MOST_REDIRECTS = 5
_REPEATABLE = frozenset(("GET", "HEAD", "OPTIONS"))


def new_session() -> aiohttp.ClientSession:
    """Create a session without limits, cookies or implicit decoding. Requires a running loop."""
    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(_note_reuse)
    return aiohttp.ClientSession(
        connector=_Connector(limit=0, keepalive_timeout=_KEEPALIVE, socket_factory=new_socket),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(
            total=None, connect=CONNECT_TIMEOUT, sock_connect=CONNECT_TIMEOUT
        ),
        auto_decompress=False,
        trust_env=False,
        read_bufsize=_READ_BUFFER,
        max_line_size=_HEADER_LIMIT,
        max_field_size=_HEADER_LIMIT,
        middlewares=(_without_silent_retry,),
        trace_configs=[tracing],
    )


class _Connector(aiohttp.TCPConnector):
    """Connects to an ``https://`` proxy with a TLS context of its own.

    aiohttp would use the one of the cluster: the proxy would get the client certificate, and
    without verification any server could be the proxy and would get its login.
    """

    def _update_proxy_auth_header_and_build_proxy_req(self, req: Any) -> Any:
        request = super()._update_proxy_auth_header_and_build_proxy_req(req)
        request._ssl = True  # verified with the certificate authorities of the system
        return request


async def send_prepared(
    session: aiohttp.ClientSession, prepared: PreparedRequest
) -> aiohttp.ClientResponse:
    """Send a request and return the response once its headers have arrived.

    Follows redirects within the same server.

    Raises:
        TransportError: There was no response.
    """
    url = URL(prepared.url, encoded=True)
    try:
        for _ in range(_MOST_REDIRECTS):
            response = await _send_once(session, prepared, url)
            target = _redirect(prepared, response)
            if target is None:
                return response
            response.close()
            url = target
    except _ConnectionDropped as error:
        cause = error.__cause__ or error
        uncertain = "" if prepared.method in _REPEATABLE else _UNCERTAIN
        raise translated(cause, action=prepared.action, note=uncertain) from cause
    except AIOHTTP_ERRORS as error:
        raise translated(error, action=prepared.action) from error
    raise TransportError(f"{prepared.action}: redirected more than {_MOST_REDIRECTS} times")


async def _send_once(
    session: aiohttp.ClientSession, prepared: PreparedRequest, url: URL
) -> aiohttp.ClientResponse:
    """Send a request; retry it if a pooled connection was dead and the request is repeatable."""
    while True:
        connection = SimpleNamespace(reused=False)
        try:
            return await session.request(
                prepared.method,
                url,
                headers=list(prepared.headers),
                data=_payload(prepared.body),
                allow_redirects=False,
                ssl=prepared.context if prepared.context is not None else True,
                server_hostname=prepared.server_hostname,
                proxy=prepared.proxy.url if prepared.proxy else None,
                proxy_headers=prepared.proxy.headers if prepared.proxy else None,
                trace_request_ctx=connection,
            )
        except _ConnectionDropped:
            if not connection.reused or prepared.method not in _REPEATABLE:
                raise


class _ConnectionDropped(aiohttp.ClientError):
    """The connection was lost before the response arrived."""


_UNCERTAIN = "; the request may or may not have been carried out"


async def _without_silent_retry(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from retrying requests by itself: it would also repeat a PUT or DELETE."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _ConnectionDropped from error


async def _note_reuse(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    context.trace_request_ctx.reused = True


def _redirect(prepared: PreparedRequest, response: aiohttp.ClientResponse) -> URL | None:
    """Return the redirect target. Other servers are refused: they must not see the credentials."""
    location = response.headers.get("Location")
    if response.status not in REDIRECTS or prepared.method not in _REPEATABLE or not location:
        return None
    try:
        target = response.url.join(URL(location))
        # Without a host, as in ``mailto:``, a URL has no origin.
        return target if target.origin() == response.url.origin() else None
    except ValueError:
        return None


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    if body is None or len(body) <= _PLAIN_BODY_LIMIT:
        return body
    return io.BytesIO(body)
