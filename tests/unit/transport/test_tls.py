"""TLS: whom we trust, who we are, and certificates that change while we run."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from kinform.errors import ConfigError, TransportError
from kinform.transport import AiohttpTransport, ClientCertificate, Request
from tests.support.wire import (
    Connect,
    Received,
    Serve,
    answer,
    chunk,
    client_pair,
    pem_of,
    server_context,
    stream_head,
)

GET = Request("GET", "/version")

# Streams share no connections, so there is nothing in these for them.
pooled = pytest.mark.parametrize("connect", ["requests"], indirect=True)


async def status(transport: AiohttpTransport) -> int:
    response = await transport.send(GET)
    assert await response.read() == b"ok"
    return response.status


async def test_the_configured_authority_is_trusted(
    serve: Serve, connect: Connect, authority: trustme.CA, tmp_path: Path
) -> None:
    server = await serve(answer(), context=server_context(authority))
    assert await status(connect(server, certificate_authority=pem_of(authority))) == 200
    path = tmp_path / "ca.crt"
    path.write_bytes("Größe: comments are no harm\n".encode() + pem_of(authority))
    assert await status(connect(server, certificate_authority=path)) == 200


async def test_another_authority_is_not_trusted(
    serve: Serve, connect: Connect, authority: trustme.CA
) -> None:
    server = await serve(answer(), context=server_context(authority))
    transport = connect(server, certificate_authority=pem_of(trustme.CA()))
    with pytest.raises(TransportError, match="certificate authority is not") as caught:
        await transport.send(GET)
    assert f"GET {server.url}/version" in str(caught.value)
    assert isinstance(caught.value.__cause__, Exception)


async def test_only_the_configured_authority_counts_not_the_systems(
    serve: Serve,
    connect: Connect,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    system = tmp_path / "system.crt"
    system.write_bytes(pem_of(authority))
    monkeypatch.setenv("SSL_CERT_FILE", str(system))
    server = await serve(answer(), context=server_context(authority))
    assert await status(connect(server)) == 200
    with pytest.raises(TransportError, match="certificate authority is not"):
        await connect(server, certificate_authority=pem_of(trustme.CA())).send(GET)


async def test_a_certificate_for_another_name_says_what_to_set(
    serve: Serve, connect: Connect, authority: trustme.CA
) -> None:
    server = await serve(answer(), context=server_context(authority, "api.internal"))
    trusting = {"certificate_authority": pem_of(authority)}
    with pytest.raises(TransportError, match="another IP address; set tls-server-name"):
        await connect(server, **trusting).send(GET)
    assert await status(connect(server, tls_server_name="api.internal", **trusting)) == 200
    with pytest.raises(TransportError, match="another host name; set tls-server-name"):
        await connect(server, tls_server_name="wrong.internal", **trusting).send(GET)


async def test_an_expired_certificate_is_named(
    serve: Serve, connect: Connect, authority: trustme.CA
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    authority.issue_cert("127.0.0.1", not_after=past).configure_cert(context)
    server = await serve(answer(), context=context)
    with pytest.raises(TransportError, match="has expired; renew it on the server"):
        await connect(server, certificate_authority=pem_of(authority)).send(GET)


async def test_insecure_trusts_everybody(
    serve: Serve, connect: Connect, authority: trustme.CA
) -> None:
    server = await serve(answer(), context=server_context(authority, "elsewhere"))
    assert await status(connect(server, insecure_skip_tls_verify=True)) == 200


async def test_a_server_without_tls_is_told_apart(serve: Serve, connect: Connect) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    plain = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = plain.sockets[0].getsockname()[1]
    async with plain:
        with pytest.raises(TransportError, match="does not speak TLS on this port"):
            await connect(f"https://127.0.0.1:{port}").send(GET)


async def test_only_http_1_1_is_offered(
    serve: Serve, connect: Connect, authority: trustme.CA
) -> None:
    context = server_context(authority)
    context.set_alpn_protocols(["h2", "http/1.1"])
    agreed: list[str | None] = []

    async def note(_request: Received, writer: asyncio.StreamWriter) -> None:
        agreed.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
        writer.write(answer())

    server = await serve(note, context=context)
    await status(connect(server, certificate_authority=pem_of(authority)))
    assert agreed == ["http/1.1"]


def mutual(authority: trustme.CA) -> ssl.SSLContext:
    return server_context(authority, client_authority=authority)


async def test_a_client_certificate_is_shown(
    serve: Serve, connect: Connect, authority: trustme.CA, tmp_path: Path
) -> None:
    server = await serve(answer(), context=mutual(authority))
    certificate, key = client_pair(authority)
    trusting = {"certificate_authority": pem_of(authority)}
    assert (
        await status(connect(server, credentials=ClientCertificate(certificate, key), **trusting))
        == 200
    )
    (tmp_path / "crt").write_bytes(certificate)
    (tmp_path / "key").write_bytes(key)
    files = ClientCertificate(tmp_path / "crt", tmp_path / "key")
    assert await status(connect(server, credentials=files, **trusting)) == 200


async def test_a_missing_or_foreign_client_certificate_is_an_error(
    serve: Serve, connect: Connect, authority: trustme.CA
) -> None:
    server = await serve(answer(), context=mutual(authority))
    trusting = {"certificate_authority": pem_of(authority)}
    with pytest.raises(TransportError, match=f"GET {server.url}/version: "):
        await connect(server, **trusting).send(GET)
    foreign = ClientCertificate(*client_pair(trustme.CA()))
    with pytest.raises(TransportError, match=f"GET {server.url}/version: "):
        await connect(server, credentials=foreign, **trusting).send(GET)


def encrypted(key: bytes) -> bytes:
    loaded = serialization.load_pem_private_key(key, None)
    return loaded.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"passphrase"),
    )


Spoil = Callable[[tuple[bytes, bytes], tuple[bytes, bytes]], tuple[bytes, bytes]]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda one, two: (one[0], two[1]), "the key does not belong to the certificate"),
        (lambda one, _two: (one[0], encrypted(one[1])), "protected by a passphrase; use one that"),
        (lambda one, _two: (one[0], b"rubbish"), "not a usable PEM certificate and key"),
        (lambda one, _two: (b"", one[1]), "not a usable PEM certificate and key"),
    ],
    ids=["mismatch", "encrypted", "broken key", "empty certificate"],
)
async def test_a_client_certificate_that_cannot_be_used_is_named(
    connect: Connect, authority: trustme.CA, spoil: Spoil, complaint: str
) -> None:
    pair = spoil(client_pair(authority), client_pair(authority))
    transport = connect(
        "https://127.0.0.1:1", credentials=ClientCertificate(*pair), name="the test cluster"
    )
    with pytest.raises(ConfigError, match=f"client certificate of the test cluster: .*{complaint}"):
        await transport.send(GET)


@pytest.mark.parametrize(
    ("pem", "complaint"),
    [
        (b"", "holds no PEM certificate"),
        (b"-----BEGIN PRIVATE KEY-----\n", "holds no PEM certificate"),
        (
            b"-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----",
            "holds a broken certificate",
        ),
    ],
)
async def test_an_authority_that_cannot_be_used_is_named(
    connect: Connect, tmp_path: Path, pem: bytes, complaint: str
) -> None:
    path = tmp_path / "ca.crt"
    path.write_bytes(pem)
    with pytest.raises(ConfigError, match=f"{path}.* {complaint}"):
        await connect("https://127.0.0.1:1", certificate_authority=path).send(GET)


async def test_an_authority_file_that_is_missing_is_named(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    with pytest.raises(ConfigError, match=f"cannot read certificate authority .*{path}"):
        await connect("https://127.0.0.1:1", certificate_authority=path).send(GET)


async def test_a_rotated_authority_counts_for_new_connections_and_streams_live_on(
    serve: Serve, connect: Connect, tmp_path: Path
) -> None:
    old, new = trustme.CA(), trustme.CA()
    path = tmp_path / "ca.crt"
    path.write_bytes(pem_of(old))
    rotated = asyncio.Event()

    async def stream_across_the_rotation(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + chunk(b"start"))
        await rotated.wait()
        writer.write(chunk(b"still here") + chunk(b""))

    first = await serve(stream_across_the_rotation, context=server_context(old))
    transport = connect(first, certificate_authority=path)
    stream = await transport.send(Request("GET", "/stream"))
    chunks = stream.chunks()
    assert await anext(chunks) == b"start"

    first.stop_listening()
    await serve(answer(), context=server_context(new), port=first.port)
    with pytest.raises(TransportError, match="certificate authority is not"):
        await transport.send(GET)
    path.write_bytes(pem_of(new))
    assert await status(transport) == 200
    rotated.set()
    assert [piece async for piece in chunks] == [b"still here"]


@pooled
async def test_a_rotated_client_certificate_is_shown_to_new_connections(
    serve: Serve, connect: Connect, authority: trustme.CA, tmp_path: Path
) -> None:
    shown: list[str] = []

    async def note(_request: Received, writer: asyncio.StreamWriter) -> None:
        certificate = writer.get_extra_info("ssl_object").getpeercert()
        shown.extend(value for _kind, value in certificate["subjectAltName"])
        writer.write(answer())

    server = await serve(note, context=mutual(authority))
    certificate, key = tmp_path / "crt", tmp_path / "key"

    def store(name: str) -> None:
        pair = client_pair(authority, name)
        certificate.write_bytes(pair[0])
        key.write_bytes(pair[1])

    store("one@example.org")
    transport = connect(
        server,
        credentials=ClientCertificate(certificate, key),
        certificate_authority=pem_of(authority),
    )
    await status(transport)
    await status(transport)
    assert server.connections == 1
    store("two@example.org")
    await status(transport)
    assert server.connections == 2
    assert shown == ["one@example.org", "one@example.org", "two@example.org"]


@pooled
async def test_files_caught_half_rotated_keep_the_last_good_ones(
    serve: Serve,
    connect: Connect,
    authority: trustme.CA,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = await serve(answer(), context=mutual(authority))
    certificate, key = tmp_path / "crt", tmp_path / "key"
    old, new = client_pair(authority), client_pair(authority)
    certificate.write_bytes(old[0])
    key.write_bytes(old[1])
    transport = connect(
        server,
        credentials=ClientCertificate(certificate, key),
        certificate_authority=pem_of(authority),
    )
    await status(transport)
    certificate.write_bytes(new[0])
    assert await status(transport) == 200
    assert "new certificates are not usable, keeping the last ones" in caplog.text
    key.write_bytes(new[1])
    assert await status(transport) == 200
    assert server.connections == 2
