"""Through a proxy: a tunnel for https, absolute addresses for http."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
import trustme

from kinform.errors import TransportError
from kinform.transport import ClientCertificate, Request, StaticToken
from tests.support.wire import (
    Connect,
    Received,
    Serve,
    answer,
    client_pair,
    pem_of,
    read_request,
    server_context,
)

GET = Request("GET", "/version")


@dataclass(slots=True)
class TunnelProxy:
    """A CONNECT proxy that sends every tunnel to one port."""

    target: int
    status: str = "200 OK"
    requests: list[Received] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError, asyncio.IncompleteReadError):
            self.requests.append(await read_request(reader, 0))
            writer.write(f"HTTP/1.1 {self.status}\r\n\r\n".encode())
            if self.status == "200 OK":
                there = await asyncio.open_connection("127.0.0.1", self.target)
                with closing(there[1]):
                    await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


Tunnel = Callable[..., Awaitable[TunnelProxy]]


@pytest.fixture
async def tunnel() -> AsyncIterator[Tunnel]:
    servers: list[asyncio.Server] = []
    tasks: set[asyncio.Task[None]] = set()

    async def start(target: int, status: str = "200 OK") -> TunnelProxy:
        proxy = TunnelProxy(target, status)

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(proxy.serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        proxy.port = server.sockets[0].getsockname()[1]
        servers.append(server)
        return proxy

    yield start
    for server in servers:
        server.close()
    for task in tuple(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_https_goes_through_a_tunnel_and_the_proxy_sees_no_credentials(
    serve: Serve, connect: Connect, authority: trustme.CA, tunnel: Tunnel
) -> None:
    server = await serve(answer(), context=server_context(authority, "api.internal"))
    proxy = await tunnel(server.port)
    transport = connect(
        "https://cluster.example.org:6443",
        certificate_authority=pem_of(authority),
        tls_server_name="api.internal",
        proxy_url=f"http://me:pass@127.0.0.1:{proxy.port}",
        credentials=StaticToken("t"),
    )
    for _ in range(2):
        assert await (await transport.send(GET)).read() == b"ok"
    assert server.requests[0].header("Authorization") == "Bearer t"
    assert server.requests[0].header("Proxy-Authorization") is None
    assert server.requests[0].header("Host") == "cluster.example.org:6443"
    (request,) = proxy.requests
    assert (request.method, request.target) == ("CONNECT", "cluster.example.org:6443")
    assert request.header("Authorization") is None
    assert request.header("Proxy-Authorization") == "Basic bWU6cGFzcw=="


async def test_the_environments_proxy_is_used_too(
    serve: Serve,
    connect: Connect,
    authority: trustme.CA,
    tunnel: Tunnel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = await serve(answer(), context=server_context(authority, "cluster.example.org"))
    proxy = await tunnel(server.port)
    monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy.port}")
    transport = connect("https://cluster.example.org", certificate_authority=pem_of(authority))
    assert await (await transport.send(GET)).read() == b"ok"
    assert proxy.requests[0].target == "cluster.example.org:443"


async def test_http_is_asked_of_the_proxy_itself(serve: Serve, connect: Connect) -> None:
    proxy = await serve(answer())
    transport = connect(
        "http://cluster.example.org:8080", proxy_url=f"http://me:pass@127.0.0.1:{proxy.port}"
    )
    assert await (await transport.send(GET)).read() == b"ok"
    assert proxy.requests[0].target == "http://cluster.example.org:8080/version"
    assert proxy.requests[0].header("Proxy-Authorization") == "Basic bWU6cGFzcw=="


async def test_a_proxy_that_refuses_is_named_without_its_login(
    connect: Connect, tunnel: Tunnel
) -> None:
    proxy = await tunnel(1, status="407 Proxy Authentication Required")
    transport = connect(
        "https://cluster.example.org",
        proxy_url=f"http://me:s3cr3t@127.0.0.1:{proxy.port}",
        credentials=StaticToken("t0k3n"),
    )
    with pytest.raises(TransportError, match="the proxy refused: 407") as caught:
        await transport.send(GET)
    shown = f"{caught.value} {caught.value.__cause__!r}"
    for secret in ("s3cr3t", "t0k3n", "bWU6czNjcjN0"):
        assert secret not in shown


async def test_a_proxy_that_is_not_there_is_named(connect: Connect) -> None:
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    transport = connect("https://cluster.example.org", proxy_url=f"http://127.0.0.1:{port}")
    with pytest.raises(TransportError, match=f"cannot reach the proxy 127.0.0.1:{port}: conn"):
        await transport.send(GET)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("insecure", [True, False])
async def test_an_https_proxy_is_verified_with_the_authorities_of_the_system(
    serve: Serve,
    connect: Connect,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
    trusted: bool,
    insecure: bool,
) -> None:
    """18.21: Neither the authority of the cluster nor insecure-skip-tls-verify is for the proxy."""
    proxy = await serve(
        answer(status="407 Proxy Authentication Required"),
        context=server_context(authority, "localhost"),
    )
    system = ssl.create_default_context()
    if trusted:
        authority.configure_trust(system)
    monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", system)
    trust: dict[str, Any] = (
        {"insecure_skip_tls_verify": True}
        if insecure
        else {"certificate_authority": pem_of(authority)}
    )
    transport = connect(
        "https://cluster.example.org", proxy_url=f"https://me:pw@localhost:{proxy.port}", **trust
    )

    with pytest.raises(TransportError):
        await transport.send(GET)

    assert [request.method for request in proxy.requests] == (["CONNECT"] if trusted else [])


async def test_an_https_proxy_gets_no_client_certificate(
    serve: Serve,
    connect: Connect,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """18.21: It is for the cluster, and says who the user is."""
    certificates: list[object] = []

    async def refuse(_request: Received, writer: asyncio.StreamWriter) -> None:
        certificates.append(writer.get_extra_info("peercert"))
        writer.write(answer(status="407 Proxy Authentication Required"))

    context = server_context(authority, "localhost", client_authority=authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    proxy = await serve(refuse, context=context)
    system = ssl.create_default_context()
    authority.configure_trust(system)
    monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", system)
    transport = connect(
        "https://cluster.example.org",
        proxy_url=f"https://localhost:{proxy.port}",
        certificate_authority=pem_of(authority),
        credentials=ClientCertificate(*client_pair(authority)),
    )

    with pytest.raises(TransportError, match="the proxy refused: 407"):
        await transport.send(GET)

    assert [each or None for each in certificates] == [None]
