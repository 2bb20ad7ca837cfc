"""Conversion of socket and TLS errors to ``TransportError``, with a remedy."""

from __future__ import annotations

import errno
import socket
import ssl

from kinform.errors import TransportError
from kinform.transport._tls import reason_of

CONNECTION_ERRORS = (OSError, TimeoutError, ssl.SSLError)
"""The exceptions of a failed connection."""

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

TOO_SLOW = "no connection was established in time; is a firewall in between?"


def lost(error: BaseException, *, action: str) -> TransportError:
    """Return the error to raise for a lost connection. ``action`` is the failed request."""
    return TransportError(f"{action}: {explained(error)}")


def not_connected(error: BaseException, *, action: str, host: str, port: int) -> TransportError:
    """Return the error to raise if a stream cannot connect."""
    if isinstance(error, ssl.SSLError):
        reason = explained(error)
    elif isinstance(error, (socket.gaierror, UnicodeError)):
        reason = unknown_host(host)
    elif isinstance(error, TimeoutError):
        reason = TOO_SLOW
    else:
        reason = f"cannot connect to {host}:{port}: {explained(error)}"
    return TransportError(f"{action}: {reason}")


def explained(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return certificate_refused(error)
    if isinstance(error, ssl.SSLError):
        return handshake_failed(error)
    if isinstance(error, OSError):
        return system_says(error)
    return str(error) or type(error).__name__


def unknown_host(host: str) -> str:
    return f"the host name {host!r} cannot be resolved; check the server's address"


def certificate_refused(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = _CERTIFICATE_HINTS.get(error.verify_code, error.verify_message)
        return f"the server's certificate is refused: {hint}"
    return f"the server's certificate is refused: {reason_of(error)}"


def handshake_failed(error: BaseException) -> str:
    reason = reason_of(error)
    if "wrong version number" in reason or "record layer failure" in reason:
        return "the server does not speak TLS on this port; is its address http://?"
    if "certificate required" in reason or "bad certificate" in reason or "unknown ca" in reason:
        return f"the server refused our client certificate ({reason}); is it of this cluster?"
    return f"TLS failed: {reason}"


def system_says(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return handshake_failed(error)
    if error.errno == errno.ECONNREFUSED:
        return "connection refused; is the server running there?"
    if error.errno in (errno.ECONNRESET, errno.EPIPE):
        return "the connection was reset"
    if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
        return "no route to the host"
    if error.errno == errno.ETIMEDOUT:
        return "the other side does not respond any more"
    if isinstance(error, ConnectionResetError) and not error.args:
        return "the server closed the connection"  # asyncio gives no details for a TLS handshake
    return error.strerror or str(error) or type(error).__name__
