"""Conversion of aiohttp errors to ``TransportError``, with a remedy."""

from __future__ import annotations

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy

from kinform.errors import TransportError
from kinform.transport._connection_errors import (
    CONNECTION_ERRORS,
    TOO_SLOW,
    certificate_refused,
    explained,
    handshake_failed,
    system_says,
    unknown_host,
)

# All errors of a failed aiohttp request; RuntimeError is its "Connection closed."
AIOHTTP_ERRORS = (aiohttp.ClientError, *CONNECTION_ERRORS, RuntimeError)


def translated(error: BaseException, *, action: str, note: str = "") -> TransportError:
    """Return the error to raise. ``action`` is the failed request, such as ``GET https://…``."""
    if isinstance(error, aiohttp.ClientResponseError):
        _forget_headers(error)
    return TransportError(f"{action}: {_explained(error)}{note}")


def _forget_headers(error: aiohttp.ClientResponseError) -> None:
    """Remove the request headers from the cause, because its repr would show the token."""
    info = error.request_info
    bare = aiohttp.RequestInfo(
        info.url, info.method, CIMultiDictProxy(CIMultiDict()), info.real_url
    )
    error.request_info = bare
    error.args = (bare, ())
    error.history = ()


def _explained(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return certificate_refused(error.certificate_error)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy refused: {error.status} {error.message}; check proxy-url and its login"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"cannot reach the proxy {error.host}:{error.port}: {system_says(error.os_error)}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return unknown_host(error.host)
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return handshake_failed(error.os_error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect to {error.host}:{error.port}: {system_says(error.os_error)}"
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return TOO_SLOW
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server closed the connection without an answer"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the body is incomplete; the connection was lost"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"the answer is not HTTP: {error.message[:200]}"
    return explained(error)
