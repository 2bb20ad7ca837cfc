"""Real servers on loopback, and transports that are closed when the test ends."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trustme
from msgspec.structs import replace

from kinform.transport import AiohttpTransport, ClusterConfig, Request
from kinform.transport._aiohttp import AnyResponse
from tests.support.wire import Connect, Handler, Serve, WireServer, always


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start a server for a handler, or for one fixed response."""
    started: list[WireServer] = []

    async def start(
        handler: Handler | bytes, *, context: ssl.SSLContext | None = None, port: int = 0
    ) -> WireServer:
        made = always(handler) if isinstance(handler, bytes) else handler
        server = WireServer(made, context, port=port)
        await server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        await server.stop()


class StreamingTransport(AiohttpTransport):
    """Asks as a watch does whenever it can."""

    async def send(self, request: Request) -> AnyResponse:
        return await super().send(replace(request, is_stream=request.method == "GET"))


@pytest.fixture(params=["requests", "streams"])
async def connect(request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    """A transport to a server, with the options of a ``ClusterConfig``; once for each way."""
    kind = StreamingTransport if request.param == "streams" else AiohttpTransport
    made: list[AiohttpTransport] = []

    def build(server: WireServer | str, **options: Any) -> AiohttpTransport:
        url = server if isinstance(server, str) else server.url
        transport = kind(ClusterConfig(server=url, **options))
        made.append(transport)
        return transport

    yield build
    for transport in made:
        await transport.close()


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "KUBECONFIG",
        "KUBERNETES_SERVICE_HOST",
        "KUBERNETES_SERVICE_PORT",
        "POD_NAMESPACE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "KINFORM_EXEC_DEPTH",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()
