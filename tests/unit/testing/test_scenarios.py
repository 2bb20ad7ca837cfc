"""What needs no fault because the server does it when told: rotation, clocks, new lives."""

from __future__ import annotations

import ssl
from typing import Any

import aiohttp
import pytest

from kinform.api import GVR
from kinform.errors import ConflictError, StateError
from kinform.testing import ApiServer
from tests.support import raw_http

MAPS = "/api/v1/namespaces/default/configmaps"
CONFIG_MAPS = GVR("", "v1", "configmaps")


def _config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


async def test_after_a_rotation_an_old_token_gets_401_and_a_new_one_is_let_in() -> None:
    async with ApiServer(tokens={"old": "jane"}) as api:
        before = await raw_http.ask(api.url, MAPS, headers={"Authorization": "Bearer old"})
        api.replace_tokens({"new": "jane"})
        old = await raw_http.ask(api.url, MAPS, headers={"Authorization": "Bearer old"})
        new = await raw_http.ask(api.url, MAPS, headers={"Authorization": "Bearer new"})

    assert (before.status, old.status, new.status) == (200, 401, 200)
    assert old.json()["reason"] == "Unauthorized"


async def test_a_watch_survives_the_rotation_of_its_token() -> None:
    async with ApiServer(tokens={"old": "jane"}) as api:
        headers = {"Authorization": "Bearer old"}
        watch = f"{MAPS}?watch=true&resourceVersion={api.resource_version}"
        async with raw_http.open_answer(api.url, watch, headers=headers) as answer:
            api.replace_tokens({"new": "jane"})
            api.create(_config_map("a"))
            event = await answer.event()

    assert event["object"]["metadata"]["name"] == "a"


async def test_after_a_rotation_of_the_authority_only_its_new_friends_connect() -> None:
    async with ApiServer(tls=True) as api:
        old = _trusting(api)
        api.rotate_certificates()
        new = _trusting(api)
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await session.get(f"{api.url}/version", ssl=old)
            async with session.get(f"{api.url}/version", ssl=new) as answer:
                assert answer.status == 200


def _trusting(api: ApiServer) -> ssl.SSLContext:
    assert api.ca_data is not None
    return ssl.create_default_context(cadata=api.ca_data.decode())


async def test_without_tls_there_is_nothing_to_rotate(kinform_api: ApiServer) -> None:
    with pytest.raises(StateError, match="tls=True"):
        kinform_api.rotate_certificates()


async def test_objects_are_stamped_by_the_clock_one_sets(kinform_api: ApiServer) -> None:
    kinform_api.clock = lambda: 1_000_000_000.0
    first = kinform_api.create(_config_map("a"))
    kinform_api.clock = lambda: 0.0
    second = kinform_api.create(_config_map("b"))

    assert first["metadata"]["creationTimestamp"] == "2001-09-09T01:46:40Z"
    assert second["metadata"]["creationTimestamp"] == "1970-01-01T00:00:00Z"


async def test_a_recreated_object_has_the_same_name_and_content_and_a_new_uid(
    kinform_api: ApiServer,
) -> None:
    old = kinform_api.create({**_config_map("a", labels={"app": "x"}), "data": {"k": "v"}})
    watch = f"{MAPS}?watch=true&resourceVersion={old['metadata']['resourceVersion']}"

    new = kinform_api.recreate(CONFIG_MAPS, "a")
    async with raw_http.open_answer(kinform_api.url, watch) as answer:
        events = [await answer.event() for _ in range(2)]

    assert (new["data"], new["metadata"]["labels"]) == ({"k": "v"}, {"app": "x"})
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert [event["type"] for event in events] == ["DELETED", "ADDED"]


async def test_an_object_that_a_finalizer_keeps_cannot_be_recreated(
    kinform_api: ApiServer,
) -> None:
    kinform_api.create(_config_map("a", finalizers=["example.com/keep"]))

    with pytest.raises(ConflictError, match="finalizers keep it"):
        kinform_api.recreate(CONFIG_MAPS, "a")
