"""Subresources, and questions that are answered and not stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kinform.api import GVR
from kinform.testing import ApiServer
from tests.support import raw_http

PODS = GVR("", "v1", "pods")
POD = "/api/v1/namespaces/default/pods/p"


async def _post(api: ApiServer, path: str, body: dict[str, Any], **headers: str) -> Any:
    sent = json.dumps(body).encode()
    answer = await raw_http.ask(api.url, path, method="POST", body=sent, headers=headers)
    return answer.status, answer.json()


@pytest.fixture
def api(kinform_api: ApiServer) -> ApiServer:
    """A server with a pod that is not scheduled."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    kinform_api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    return kinform_api


@pytest.mark.parametrize(
    "path",
    [f"{POD}/binding", "/api/v1/namespaces/default/bindings"],
    ids=["of the pod", "beside it"],
)
async def test_a_binding_puts_a_pod_on_a_node(api: ApiServer, path: str) -> None:
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n1"},
    }

    status, answer = await _post(api, path, binding)

    assert (status, answer["status"]) == (201, "Success")
    assert api.get(PODS, "p")["spec"]["nodeName"] == "n1"
    again, refusal = await _post(api, path, binding)
    assert (again, refusal["reason"]) == (409, "Conflict")


async def test_a_binding_needs_a_node(api: ApiServer) -> None:
    nowhere = {"metadata": {"name": "p"}, "target": {}}
    status, answer = await _post(api, f"{POD}/binding", nowhere)
    other, _ = await _post(api, f"{POD}/binding", {"metadata": {"name": "other"}})

    assert (status, answer["details"]["causes"][0]["field"]) == (422, "target.name")
    assert other == 400


async def test_an_eviction_deletes_the_pod(api: ApiServer) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}

    status, answer = await _post(api, f"{POD}/eviction", eviction)

    assert (status, answer["status"]) == (201, "Success")
    assert api.list(PODS) == []


async def test_a_service_account_has_tokens(kinform_api: ApiServer) -> None:
    kinform_api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}})
    path = "/api/v1/namespaces/default/serviceaccounts/sa/token"

    status, answer = await _post(kinform_api, path, {"spec": {"audiences": ["a"]}})

    assert status == 201
    assert answer["status"]["token"].count(".") == 2
    assert answer["spec"]["audiences"] == ["a"]
    missing, _ = await _post(kinform_api, path.replace("/sa/", "/none/"), {})
    assert missing == 404


@pytest.mark.parametrize("subresource", ["log", "proxy", "proxy/a/b"])
async def test_what_needs_a_node_is_not_implemented(api: ApiServer, subresource: str) -> None:
    answer = await raw_http.ask(api.url, f"{POD}/{subresource}")

    assert answer.status == 501
    assert f"pods/{subresource} needs a node" in answer.json()["message"]
    missing = await raw_http.ask(api.url, f"{POD}-missing/{subresource}")
    assert missing.status == 404


async def test_ephemeral_containers_are_a_part_of_the_pod(api: ApiServer) -> None:
    patch = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "i"}]}}

    answer = await raw_http.ask(
        api.url,
        f"{POD}/ephemeralcontainers",
        method="PATCH",
        headers={"Content-Type": "application/strategic-merge-patch+json"},
        body=json.dumps(patch).encode(),
    )

    assert answer.status == 200
    assert api.get(PODS, "p")["spec"]["ephemeralContainers"][0]["name"] == "debug"


async def test_everything_is_allowed(kinform_api: ApiServer) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}

    status, answer = await _post(kinform_api, path, {"spec": spec})

    assert (status, answer["status"]) == (201, {"allowed": True})
    assert answer["spec"] == spec


async def test_one_can_ask_who_one_is_and_whose_a_token_is() -> None:
    async with ApiServer(tokens={"secret": "me"}) as api:
        authorized = {"Authorization": "Bearer secret"}
        group = "/apis/authentication.k8s.io/v1"
        _, self_review = await _post(api, f"{group}/selfsubjectreviews", {}, **authorized)
        token = {"spec": {"token": "secret"}}
        _, known = await _post(api, f"{group}/tokenreviews", token, **authorized)
        token = {"spec": {"token": "other"}}
        _, unknown = await _post(api, f"{group}/tokenreviews", token, **authorized)

    assert self_review["status"]["userInfo"]["username"] == "me"
    assert known["status"]["authenticated"] is True
    assert known["status"]["user"]["username"] == "me"
    assert "authenticated" not in unknown["status"]


async def test_rights_can_be_listed(kinform_api: ApiServer) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"

    _, answer = await _post(kinform_api, path, {"spec": {"namespace": "default"}})

    assert answer["status"]["resourceRules"][0]["verbs"] == ["*"]
