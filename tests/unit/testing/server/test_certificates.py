"""Certificates as a TLS client meets them: trusted by their own authority, and by no other."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kinform.errors import ConfigError
from kinform.testing.server import ServerCertificates


@asynccontextmanager
async def _tls_server(certificates: ServerCertificates) -> AsyncIterator[int]:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=certificates.context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _greeting(port: int, *, ca_pem: bytes, host: str) -> bytes:
    trust = ssl.create_default_context(cadata=ca_pem.decode())
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=trust, server_hostname=host
    )
    try:
        return await reader.readexactly(5)
    finally:
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_client_that_trusts_the_authority_is_served_under_each_loopback_name(
    host: str,
) -> None:
    certificates = ServerCertificates()
    async with _tls_server(certificates) as port:
        assert await _greeting(port, ca_pem=certificates.ca_pem, host=host) == b"hello"


async def test_a_name_that_is_not_on_the_certificate_is_refused_by_the_client() -> None:
    certificates = ServerCertificates()
    async with _tls_server(certificates) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await _greeting(port, ca_pem=certificates.ca_pem, host="example.com")


async def test_after_a_rotation_only_the_new_authority_is_good_for_a_new_connection() -> None:
    certificates = ServerCertificates()
    old = certificates.ca_pem
    async with _tls_server(certificates) as port:
        certificates.rotate()

        with pytest.raises(ssl.SSLCertVerificationError):
            await _greeting(port, ca_pem=old, host="localhost")
        assert await _greeting(port, ca_pem=certificates.ca_pem, host="localhost") == b"hello"


def test_without_trustme_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)

    with pytest.raises(ConfigError, match=r"pip install 'kinform\[tls\]'"):
        ServerCertificates()
