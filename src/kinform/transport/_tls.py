"""TLS contexts, which are replaced for new connections when the certificates change."""

from __future__ import annotations

import logging
import re
import ssl

from kinform.errors import ConfigError
from kinform.transport._pem import CertificatePair, PemReader, PemSource
from kinform.transport._private_file import readable_path

logger = logging.getLogger("kinform.transport")

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


class TlsContexts:
    """Provides the context for the current certificates.

    After a rotation new connections use a new context; open streams keep theirs. While files are
    incomplete, the last valid context stays in use.
    """

    def __init__(
        self, *, certificate_authority: PemSource | None, insecure_skip_tls_verify: bool, name: str
    ) -> None:
        self._authority = (
            None
            if certificate_authority is None
            else PemReader(certificate_authority, what=f"certificate authority of {name}")
        )
        self._insecure = insecure_skip_tls_verify
        self._name = name
        self._context: ssl.SSLContext | None = None
        self._made_from: tuple[bytes | None, CertificatePair | None] | None = None

    def current(self, pair: CertificatePair | None) -> ssl.SSLContext:
        """Return the context for new connections.

        Raises:
            ConfigError: The certificates are invalid, and there is no earlier context.
        """
        authority = self._authority.read() if self._authority else None
        material = (authority, pair)
        if self._context is not None and material == self._made_from:
            return self._context
        try:
            context = self._build(authority, pair)
        except ConfigError as error:
            if self._context is None:
                raise
            logger.warning("new certificates are not usable, keeping the last ones: %s", error)
            context = self._context
        self._context, self._made_from = context, material
        return context

    def _build(self, authority: bytes | None, pair: CertificatePair | None) -> ssl.SSLContext:
        # Not ssl.create_default_context: since 3.13 it enables strict X.509 checks, which the CAs
        # of many clusters do not pass.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif authority is None:
            context.load_default_certs()
        else:
            # An intermediate or the server's own certificate can be the trust anchor, as in Go.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            self._trust(context, authority)
        if pair is not None:
            load_client_certificate(context, pair, name=self._name)
        return context

    def _trust(self, context: ssl.SSLContext, authority: bytes) -> None:
        assert self._authority is not None
        label = self._authority.label
        certificates = _CERTIFICATE.findall(authority)
        if not certificates:
            raise ConfigError(
                f"{label} holds no PEM certificate: no '-----BEGIN CERTIFICATE-----' block"
            )
        try:
            context.load_verify_locations(cadata=b"\n".join(certificates).decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"{label} holds a broken certificate: {reason_of(error)}") from error


def load_client_certificate(context: ssl.SSLContext, pair: CertificatePair, *, name: str) -> None:
    """Load a client certificate into ``context``.

    Raises:
        ConfigError: Certificate and key are invalid, encrypted, or do not match.
    """
    asked_for_passphrase = False

    def passphrase() -> bytes:
        # Without this callback OpenSSL would prompt on the terminal and block the loop.
        nonlocal asked_for_passphrase
        asked_for_passphrase = True
        return b""

    try:
        with readable_path(pair.certificate) as certificate, readable_path(pair.key) as key:
            context.load_cert_chain(certificate, key, password=passphrase)
    except (ssl.SSLError, OSError, ValueError) as error:
        if asked_for_passphrase:
            reason = "the key is protected by a passphrase; use one that is not"
        elif isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
            reason = "the key does not belong to the certificate"
        else:
            reason = f"not a usable PEM certificate and key ({reason_of(error)})"
        raise ConfigError(f"client certificate of {name}: {reason}") from error


def reason_of(error: BaseException) -> str:
    """Return OpenSSL's reason as text, without its library codes."""
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return str(error) or type(error).__name__
