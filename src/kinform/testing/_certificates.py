"""Host names in, a live TLS context out; its authority can be exchanged while it serves."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from kinform.errors import ConfigError

if TYPE_CHECKING:
    import trustme

_HOSTS = ("127.0.0.1", "localhost", "::1", "kubernetes.default.svc")


class ServerCertificates:
    """A certificate authority of its own, and a serving certificate signed by it.

    Raises:
        ConfigError: The package that makes certificates is not installed.
    """

    def __init__(self) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        self.ca_pem = b""
        self.rotate()

    def rotate(self) -> None:
        """A new authority and a new certificate, for connections made from now on.

        Who trusts the old authority alone can no longer connect; open connections go on.
        """
        authority = _new_authority()
        # The context is the same object that the listening socket holds, so it needs no restart.
        authority.issue_cert(*_HOSTS).configure_cert(self.context)
        self.ca_pem = authority.cert_pem.bytes()


def _new_authority() -> trustme.CA:
    # Imported here: it brings cryptography with it, and most servers in tests speak plain HTTP.
    try:
        import trustme
    except ImportError as error:
        raise ConfigError(
            "an embedded API server with tls=True needs the package trustme: "
            "pip install 'kinform[tls]'"
        ) from error
    # Elliptic curves: an RSA key takes long enough to make to be felt in every test.
    return trustme.CA(organization_name="kinform", key_type=trustme.KeyType.ECDSA)
