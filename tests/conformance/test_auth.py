"""Who is asking: a known token, an unknown one, or nobody."""

from __future__ import annotations

import pytest

from tests.conformance.harness import Json, Server, assert_refused
from tests.conformance.samples import config_map


@pytest.mark.parametrize("path", ["/api/v1/namespaces", "/apis", "/version", "/not-there"])
async def test_an_unknown_token_is_unauthorized_everywhere(server: Server, path: str) -> None:
    answer = await server.request("GET", path, token="unknown")

    status = assert_refused(answer, 401, "Unauthorized", "Unauthorized")
    assert status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


async def test_an_unknown_token_writes_nothing(server: Server, configmaps: str) -> None:
    answer = await server.request("POST", configmaps, config_map("one"), token="unknown")

    assert_refused(answer, 401, "Unauthorized")
    assert_refused(await server.get(f"{configmaps}/one"), 404, "NotFound")


async def test_an_unknown_token_is_no_watch(server: Server, configmaps: str) -> None:
    answer = await server.request("GET", configmaps, params={"watch": "true"}, token="unknown")

    assert_refused(answer, 401, "Unauthorized")


@pytest.mark.parametrize(
    ("method", "path", "query", "message", "details"),
    [
        (
            "GET",
            "/api/v1/namespaces/default/configmaps",
            {},
            'configmaps is forbidden: User "system:anonymous" cannot list resource '
            '"configmaps" in API group "" in the namespace "default"',
            {"kind": "configmaps"},
        ),
        (
            "GET",
            "/api/v1/namespaces/default/configmaps",
            {"watch": "true"},
            'configmaps is forbidden: User "system:anonymous" cannot watch resource '
            '"configmaps" in API group "" in the namespace "default"',
            {"kind": "configmaps"},
        ),
        (
            "GET",
            "/api/v1/nodes",
            {},
            'nodes is forbidden: User "system:anonymous" cannot list resource '
            '"nodes" in API group "" at the cluster scope',
            {"kind": "nodes"},
        ),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/default/deployments/one",
            {},
            'deployments.apps "one" is forbidden: User "system:anonymous" cannot delete resource '
            '"deployments" in API group "apps" in the namespace "default"',
            {"name": "one", "group": "apps", "kind": "deployments"},
        ),
        (
            "GET",
            "/apis/apps/v1/namespaces/default/deployments/one/scale",
            {},
            'deployments.apps "one" is forbidden: User "system:anonymous" cannot get resource '
            '"deployments/scale" in API group "apps" in the namespace "default"',
            {"name": "one", "group": "apps", "kind": "deployments"},
        ),
        (
            "GET",
            "/apis",
            {},
            'forbidden: User "system:anonymous" cannot get path "/apis"',
            {},
        ),
    ],
    ids=["list", "watch", "cluster", "named", "subresource", "path"],
)
async def test_without_a_token_one_is_anonymous_and_allowed_nothing(
    server: Server, method: str, path: str, query: dict[str, str], message: str, details: Json
) -> None:
    answer = await server.request(method, path, params=query, token=None)

    assert_refused(answer, 403, "Forbidden", message, details=details)
