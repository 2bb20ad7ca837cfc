"""Credentials: tokens, passwords and client certificates. Secrets never appear in a repr."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from kinform.errors import ConfigError
from kinform.transport._pem import CertificatePair, PemReader, PemSource
from kinform.transport._redacted import SecretText

logger = logging.getLogger("kinform.transport")

# Kubelets replace projected tokens well before they expire; client-go also uses a minute.
_TOKEN_FILE_PERIOD = 60.0


class Credentials(Protocol):
    """Authenticates requests. May be shared by any number of clients, also on different loops."""

    async def headers(self) -> Mapping[str, str]:
        """Return the headers to add to a request.

        Raises:
            ConfigError: The credentials are not available.
        """
        ...

    async def client_certificate(self) -> CertificatePair | None:
        """Return the client certificate for new TLS connections, if any.

        Raises:
            ConfigError: The credentials are not available.
        """
        ...

    async def refresh(self) -> bool:
        """Renew credentials that the server rejected. Returns true if they have changed.

        Raises:
            ConfigError: The credentials are not available.
        """
        ...

    def describe(self) -> str:
        """Return their kind and origin for error messages, such as ``the token file /x``.

        Never a secret.
        """
        ...


class Anonymous:
    """No credentials."""

    async def headers(self) -> Mapping[str, str]:
        return {}

    async def client_certificate(self) -> CertificatePair | None:
        return None

    async def refresh(self) -> bool:
        return False

    def describe(self) -> str:
        return "no credentials"

    def __repr__(self) -> str:
        return "Anonymous()"


class StaticToken(Anonymous):
    """A bearer token that never changes.

    Args:
        token: The token.
        origin: Where the token comes from, for error messages.
    """

    def __init__(self, token: str, *, origin: str = "") -> None:
        token = SecretText(token)
        self._origin = origin
        self._headers = bearer(token, origin="the token")

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    def describe(self) -> str:
        return f"a bearer token from {self._origin}" if self._origin else "a bearer token"

    def __repr__(self) -> str:
        return "StaticToken(***)"


class TokenFile(Anonymous):
    """A bearer token in a file that another program renews.

    The file is read again after a minute and when the server rejects the token. While it cannot be
    read, the last token stays in use.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._headers: Mapping[str, str] | None = None
        self._read_at = 0.0

    async def headers(self) -> Mapping[str, str]:
        now = asyncio.get_running_loop().time()
        # A time before the last read comes from the clock of another loop: read again.
        if self._headers is None or not 0 <= now - self._read_at < _TOKEN_FILE_PERIOD:
            self._headers = self._read()
            self._read_at = now
        return self._headers

    async def refresh(self) -> bool:
        before = self._headers
        self._headers = self._read()
        self._read_at = asyncio.get_running_loop().time()
        return self._headers != before

    def _read(self) -> Mapping[str, str]:
        try:
            return bearer(self._path.read_text("utf-8"), origin=f"the token file {self._path}")
        except (OSError, UnicodeDecodeError) as error:
            if self._headers is not None:
                logger.warning(
                    "cannot read the token file %s, the last token stays in use: %s",
                    self._path,
                    type(error).__name__,
                )
                return self._headers
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise ConfigError(f"cannot read the token file {self._path}: {reason}") from error
        except ConfigError as error:
            if self._headers is None:
                raise
            logger.warning("%s; the last token stays in use", error)
            return self._headers

    def describe(self) -> str:
        return f"a bearer token from the file {self._path}"

    def __repr__(self) -> str:
        return f"TokenFile({str(self._path)!r})"


class BasicAuth(Anonymous):
    """A user name and a password."""

    def __init__(self, username: str, password: str) -> None:
        password = SecretText(password)
        self._username = username  # first, for the repr in a traceback
        if ":" in username:
            raise ConfigError("a user name for basic authentication must not contain ':'")
        pair = SecretText(base64.b64encode(f"{username}:{password}".encode()).decode("ascii"))
        self._headers = {"Authorization": SecretText(f"Basic {pair}")}

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    def describe(self) -> str:
        return f"the password of user {self._username!r} (basic authentication)"

    def __repr__(self) -> str:
        return f"BasicAuth({self._username!r}, ***)"


class ClientCertificate(Anonymous):
    """A TLS client certificate and its key: paths, or PEM as ``bytes``. Files may rotate."""

    def __init__(self, certificate: PemSource, key: PemSource) -> None:
        self._certificate = PemReader(certificate, what="client certificate")
        self._key = PemReader(key, what="client key")

    async def client_certificate(self) -> CertificatePair | None:
        return CertificatePair(self._certificate.read(), self._key.read())

    async def refresh(self) -> bool:
        # The files are checked before every request, so they cannot be newer.
        return False

    def describe(self) -> str:
        return f"a {self._certificate.label}"

    def __repr__(self) -> str:
        return f"ClientCertificate({self._certificate.label})"


class CombinedCredentials:
    """Several credentials: headers and certificate come from the first one that has them."""

    def __init__(self, *parts: Credentials) -> None:
        self._parts = parts

    async def headers(self) -> Mapping[str, str]:
        for part in self._parts:
            headers = await part.headers()
            if headers:
                return headers
        return {}

    async def client_certificate(self) -> CertificatePair | None:
        for part in self._parts:
            pair = await part.client_certificate()
            if pair is not None:
                return pair
        return None

    async def refresh(self) -> bool:
        changed = [await part.refresh() for part in self._parts]
        return any(changed)

    def describe(self) -> str:
        return " and ".join(part.describe() for part in self._parts)

    def __repr__(self) -> str:
        return f"CombinedCredentials({', '.join(map(repr, self._parts))})"


def bearer(token: str, *, origin: str) -> Mapping[str, str]:
    """Return the header for a token, stripped of the white space that files may add.

    Raises:
        ConfigError: The token is invalid. The message does not show it.
    """
    token = SecretText(token.strip())
    if not token:
        raise ConfigError(f"{origin} is empty")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(f"{origin} holds characters that a token cannot have (a line break?)")
    return {"Authorization": SecretText(f"Bearer {token}")}
