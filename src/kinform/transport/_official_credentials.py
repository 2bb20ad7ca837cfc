"""Credentials that are read from an official client's configuration."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from threading import Lock
from typing import Any

from kinform.errors import ConfigError
from kinform.transport._pem import CertificatePair, PemReader
from kinform.transport._single_flight import SingleFlight


class OfficialCredentials:
    """Reads the configuration before each request, as the official client does.

    Tokens that its hook renews, or that are set in the configuration, are therefore used here too.
    A hook may read files, run programs or call a cloud API: it runs on a thread, once for all
    concurrent requests; a coroutine runs on the loop.
    """

    def __init__(self, configuration: Any, default: str | None = None) -> None:
        self._configuration = configuration
        self._default = default
        self._asking = Lock()
        self._flight = SingleFlight(self._ask)
        self._last: Mapping[str, str] | None = None
        self._files: tuple[str, str] | None = None
        self._readers: tuple[PemReader, PemReader] | None = None

    async def headers(self) -> Mapping[str, str]:
        if self._configuration.refresh_api_key_hook is None:
            return await self._ask()
        return await self._flight.run()

    async def client_certificate(self) -> CertificatePair | None:
        certificate = self._configuration.cert_file
        if not certificate:
            return None
        # Without a key file, the certificate file contains the key.
        files = (str(certificate), str(self._configuration.key_file or certificate))
        if self._readers is None or files != self._files:
            self._files = files
            self._readers = (
                PemReader(files[0], what="cert_file of the official client"),
                PemReader(files[1], what="key_file of the official client"),
            )
        chain, key = self._readers
        return CertificatePair(chain.read(), key.read())

    async def refresh(self) -> bool:
        before = self._last
        return await self.headers() != before

    async def _ask(self) -> Mapping[str, str]:
        hook = self._configuration.refresh_api_key_hook
        try:
            if hook is None or inspect.iscoroutinefunction(self._configuration.auth_settings):
                settings = self._settings()
            else:
                settings = await asyncio.to_thread(self._settings)
            if inspect.isawaitable(settings):
                settings = await settings
        except Exception as error:
            # A hook may raise anything; the text of the error may contain a secret.
            raise ConfigError(
                "refresh_api_key_hook of the official client failed with "
                f"{type(error).__name__}; its cause says why"
            ) from error
        self._last = self._as_headers(settings)
        return self._last

    def _settings(self) -> Any:
        # Hooks modify the configuration in place, and clients on other loops read it too.
        with self._asking:
            return self._configuration.auth_settings()

    def _as_headers(self, settings: Mapping[str, Mapping[str, Any]]) -> Mapping[str, str]:
        value = next((each["value"] for each in settings.values() if each["value"]), None)
        value = value or self._default
        if value is None and self._configuration.username:
            value = self._configuration.get_basic_auth_token()
        if not value:
            return {}
        value = str(value).strip()
        if not value.isascii() or not value.isprintable():
            raise ConfigError(
                "api_key['authorization'] of the official client holds characters that a header "
                "cannot have (a line break?)"
            )
        return {"Authorization": value}

    def describe(self) -> str:
        kinds = []
        if self._last:
            kinds.append("an Authorization header")
        if self._configuration.cert_file:
            kinds.append(f"the client certificate {self._configuration.cert_file}")
        return f"{' and '.join(kinds) or 'no credentials'} of the official client's configuration"

    def __repr__(self) -> str:
        return "OfficialCredentials(***)"
