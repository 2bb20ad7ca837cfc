"""The TLS context of the server, whose certificate authority can be replaced at runtime."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from kinform.errors import ConfigError

if TYPE_CHECKING:
    import trustme

_HOSTS = ("127.0.0.1", "localhost", "::1", "kubernetes.default.svc")


class ServerCertificates:
    """A certificate authority and a serving certificate signed by it.

    Raises:
        ConfigError: The package that creates certificates is not installed.
    """

    def __init__(self) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        self.ca_pem = b""
        self.rotate()

    def rotate(self) -> None:
        """Create a new authority and a new certificate for future connections.

        Clients that only trust the old authority can no longer connect; open connections remain.
        """
        authority = _new_authority()
        # The listening socket uses this same context, so no restart is needed.
        authority.issue_cert(*_HOSTS).configure_cert(self.context)
        self.ca_pem = authority.cert_pem.bytes()


def _new_authority() -> trustme.CA:
    # Imported here, because it imports cryptography and most test servers use plain HTTP.
    try:
        import trustme
    except ImportError as error:
        raise ConfigError(
            "an embedded API server with tls=True needs the package trustme: "
            "pip install 'kinform[tls]'"
        ) from error
    # Elliptic curves, because creating an RSA key would noticeably slow down every test.
    return trustme.CA(organization_name="kinform", key_type=trustme.KeyType.ECDSA)
