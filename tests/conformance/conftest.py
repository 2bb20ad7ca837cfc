"""A server's name in, that server on trial out; and fresh places in it for each test."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest

from tests.conformance.harness import Json, Server
from tests.conformance.samples import CRDS, GROUP, custom_resource_definition
from tests.support.cluster import RealCluster

_TOKEN = "conformance-admin"


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.cluster)])
async def server(request: pytest.FixtureRequest, wire_format: str) -> AsyncIterator[Server]:
    """Each test runs against both servers, unchanged."""
    if request.param == "embedded":
        from kinform.testing import ApiServer

        async with ApiServer(tokens={_TOKEN: "admin"}) as api:

            async def compact() -> None:
                api.compact()

            async with _session(api.url, tls=None) as session:
                yield Server(session, token=_TOKEN, forget_history=compact, wire_format=wire_format)
    else:
        cluster: RealCluster = request.getfixturevalue("real_cluster")

        async def compact() -> None:
            cluster.compact()

        async with _session(cluster.url, tls=cluster.ssl_context()) as session:
            yield Server(
                session,
                token=cluster.admin_token,
                forget_history=compact,
                wire_format=wire_format,
            )


@pytest.fixture
def wire_format(request: pytest.FixtureRequest) -> str:
    """What a server is asked for, and sent; JSON, but where a module is marked IN_BOTH_FORMS."""
    return str(getattr(request, "param", "json"))


def _session(url: str, *, tls: ssl.SSLContext | None) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        url,
        connector=aiohttp.TCPConnector(ssl=tls or True, limit=0),
        # The bytes as sent, and no header that a test did not ask for.
        auto_decompress=False,
        skip_auto_headers=["Accept-Encoding", "User-Agent", "Content-Type"],
    )


@pytest.fixture
async def namespace(server: Server) -> str:
    """A namespace nobody else uses."""
    return await server.new_namespace()


@pytest.fixture
def configmaps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


@pytest.fixture
def deployments(namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/deployments"


@pytest.fixture
def events(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/events"


@pytest.fixture
def define(server: Server) -> Callable[[Json], Awaitable[None]]:
    """Define a kind, unless it is there, and wait until it is served."""

    async def defined(definition: Json) -> None:
        answer = await server.post(CRDS, definition)
        assert answer.status in (201, 409), answer.body
        spec = definition["spec"]
        version = spec["versions"][-1]["name"]
        path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"

        async def served() -> bool:
            return (await server.get(path)).status == 200

        await server.eventually(served, what=f"{path} is served")

    return defined


@pytest.fixture
async def widgets(define: Callable[[Json], Awaitable[None]], namespace: str) -> str:
    """A kind with everything: two versions, status, scale, selectable fields.

    Shared by all tests: a real server takes 2 s for the first object of a new kind.
    """
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    await define(
        custom_resource_definition(
            "widgets",
            "Widget",
            versions=("v1beta1", "v1"),
            subresources={"status": {}, "scale": scale},
            selectableFields=[{"jsonPath": ".spec.color"}],
        )
    )
    return f"/apis/{GROUP}/v1/namespaces/{namespace}/widgets"


@pytest.fixture
async def gadgets(define: Callable[[Json], Awaitable[None]]) -> str:
    """A kind with nothing: cluster-wide, one version, no subresource."""
    await define(custom_resource_definition("gadgets", "Gadget", scope="Cluster"))
    return f"/apis/{GROUP}/v1/gadgets"
