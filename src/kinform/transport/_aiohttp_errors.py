"""An aiohttp, ssl or socket error in, a ``TransportError`` that says what to do out."""

from __future__ import annotations

import errno
import socket
import ssl

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy

from kinform.errors import TransportError
from kinform.transport._tls import reason_of

# Whatever aiohttp lets out when an exchange fails; RuntimeError is its "Connection closed."
EXCHANGE_ERRORS = (aiohttp.ClientError, OSError, TimeoutError, ssl.SSLError, RuntimeError)

# OpenSSL's X509_V_ERR_* codes.
_CERTIFICATE_HINTS = {
    9: "it is not valid yet; check the clocks of both machines",
    10: "it has expired; renew it on the server",
    18: "it is self-signed and not trusted; set the cluster's certificate authority",
    19: "its certificate authority is not trusted; set the cluster's own (certificate-authority)",
    20: "its certificate authority is not the one configured (certificate-authority)",
    21: "its certificate authority is not the one configured (certificate-authority)",
    23: "it was revoked",
    62: "it is for another host name; set tls-server-name to one that it has",
    64: "it is for another IP address; set tls-server-name to a name that it has",
}

_TOO_SLOW = "no connection came about in time; is a firewall in between?"


def translated(error: BaseException, *, action: str, note: str = "") -> TransportError:
    """The error to raise instead. ``action`` is what failed, such as ``GET https://…``."""
    if isinstance(error, aiohttp.ClientResponseError):
        _forget_headers(error)
    return TransportError(f"{action}: {_explained(error)}{note}")


def not_connected(error: BaseException, *, action: str, host: str, port: int) -> TransportError:
    """The error to raise if there is no connection for a stream."""
    if isinstance(error, ssl.SSLError):
        reason = _explained(error)
    elif isinstance(error, (socket.gaierror, UnicodeError)):
        reason = _unknown_host(host)
    elif isinstance(error, TimeoutError):
        reason = _TOO_SLOW
    else:
        reason = f"cannot connect to {host}:{port}: {_explained(error)}"
    return TransportError(f"{action}: {reason}")


def _forget_headers(error: aiohttp.ClientResponseError) -> None:
    """The cause stays, but its repr shows the request's headers, and so the token."""
    info = error.request_info
    bare = aiohttp.RequestInfo(
        info.url, info.method, CIMultiDictProxy(CIMultiDict()), info.real_url
    )
    error.request_info = bare
    error.args = (bare, ())
    error.history = ()


def _explained(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _certificate(error.certificate_error)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy refused: {error.status} {error.message}; check proxy-url and its login"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"cannot reach the proxy {error.host}:{error.port}: {_system(error.os_error)}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return _unknown_host(error.host)
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return _handshake(error.os_error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect to {error.host}:{error.port}: {_system(error.os_error)}"
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return _TOO_SLOW
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server closed the connection without an answer"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the body broke off before its end; the connection was cut"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"the answer is not HTTP: {error.message[:200]}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate(error)
    if isinstance(error, ssl.SSLError):
        return _handshake(error)
    if isinstance(error, OSError):
        return _system(error)
    return str(error) or type(error).__name__


def _unknown_host(host: str) -> str:
    return f"the host name {host!r} cannot be resolved; check the server's address"


def _certificate(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = _CERTIFICATE_HINTS.get(error.verify_code, error.verify_message)
        return f"the server's certificate is refused: {hint}"
    return f"the server's certificate is refused: {reason_of(error)}"


def _handshake(error: BaseException) -> str:
    reason = reason_of(error)
    if "wrong version number" in reason or "record layer failure" in reason:
        return "the server does not speak TLS on this port; is its address http://?"
    if "certificate required" in reason or "bad certificate" in reason or "unknown ca" in reason:
        return f"the server refused our client certificate ({reason}); is it of this cluster?"
    return f"TLS failed: {reason}"


def _system(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return _handshake(error)
    if error.errno == errno.ECONNREFUSED:
        return "connection refused; is the server running there?"
    if error.errno in (errno.ECONNRESET, errno.EPIPE):
        return "the connection was reset"
    if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
        return "no route to the host"
    if error.errno == errno.ETIMEDOUT:
        return "the other side does not respond any more"
    if isinstance(error, ConnectionResetError) and not error.args:
        return "the server closed the connection"  # asyncio says no more of a TLS handshake
    return error.strerror or str(error) or type(error).__name__
