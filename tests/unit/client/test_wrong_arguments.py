"""What a client cannot have meant is refused by name, before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from kinform import blocking
from kinform.api import GVK, GVR
from kinform.client import Client
from kinform.errors import ConfigError, InvalidNameError, SelectorError
from kinform.models.core.v1 import Pod
from kinform.transport import ClusterConfig
from tests.support.memory_transport import MemoryTransport

CONFIG = ClusterConfig(server="https://cluster.test")


@pytest.mark.parametrize("room", [Client, blocking.Client])
@pytest.mark.parametrize("config", [None, "https://cluster.test", {"server": "x"}])
def test_a_client_is_made_of_a_configuration(room: Any, config: object) -> None:
    with pytest.raises(ConfigError, match=r"Client takes a kinform\.ClusterConfig, not .*from_env"):
        room(config)


@pytest.mark.parametrize("option", ["page_size", "max_retries", "max_body_size", "timeout"])
def test_an_option_that_is_no_number_is_named(option: str) -> None:
    options: Any = {option: "many"}
    with pytest.raises(ConfigError, match=f"{option} must be .*'many'"):
        Client(CONFIG, **options)


def test_a_loop_that_is_none_is_named() -> None:
    loop: Any = 5
    with pytest.raises(ConfigError, match=r"loop= takes a kinform\.blocking\.LoopThread, not int"):
        blocking.Client(CONFIG, loop=loop)


@pytest.mark.parametrize("wrong", [["app=web"], ("a",), 5, None, b"app=web"], ids=repr)
@pytest.mark.parametrize(("option", "way_out"), [("labels", "Label"), ("fields", "Field")])
async def test_what_is_no_selector_is_named_with_the_way_out(
    client: Client, memory: MemoryTransport, option: str, way_out: str, wrong: object
) -> None:
    options: Any = {option: wrong}
    complaint = (
        rf"{option}=.* is not a selector; pass a string such as .*, a dict or a {way_out}Sel"
    )
    with pytest.raises(SelectorError, match=complaint):
        await client.list(Pod, **options)
    with pytest.raises(SelectorError, match=complaint):
        client.watch(Pod, **options)
    with pytest.raises(SelectorError, match=complaint):
        await client.delete_collection(Pod, namespace="x", **options)
    assert memory.requests == []


@pytest.mark.parametrize("wrong", [5, b"a", Pod, ["a"]], ids=repr)
async def test_what_is_no_name_is_refused(
    client: Client, memory: MemoryTransport, wrong: Any
) -> None:
    with pytest.raises(InvalidNameError, match="cannot be the name of an object in v1/pods"):
        await client.get(Pod, wrong)
    with pytest.raises(InvalidNameError, match="cannot be the namespace: it is not a string"):
        await client.list(Pod, namespace=wrong)
    with pytest.raises(InvalidNameError, match="cannot be the subresource: it is not a string"):
        await client.get(Pod, "a", subresource=wrong)
    assert memory.requests == []


async def test_an_object_without_a_name_is_not_all_objects(
    client: Client, memory: MemoryTransport
) -> None:
    nobody: Any = None
    for verb in (client.get, client.delete, client.metadata.get, client.metadata.delete):
        with pytest.raises(
            InvalidNameError, match=r"which object of v1/pods\? the given name is None"
        ):
            await verb(Pod, nobody)
    with pytest.raises(InvalidNameError, match=r"which object of v1/pods\?"):
        await client.patch(GVR("", "v1", "pods"), nobody, {}, namespace="x")
    assert memory.requests == []


@pytest.mark.parametrize(
    "wrong", ["pods", 5, ["pods"], Pod()], ids=lambda each: type(each).__name__
)
async def test_discovery_finds_only_kinds_and_resources(client: Client, wrong: Any) -> None:
    with pytest.raises(InvalidNameError, match=r"is not a GVR; pass GVR\.parse"):
        await client.discovery.for_resource(wrong)
    with pytest.raises(InvalidNameError, match="is not a GVK; pass GVK"):
        await client.discovery.for_kind(wrong)


@pytest.mark.parametrize("wrong", [5, "a=b", {"limit": 5}, Pod], ids=repr)
async def test_options_are_list_options(client: Client, wrong: Any) -> None:
    with pytest.raises(ConfigError, match=r"page\(\) takes kinform\.ListOptions, not "):
        await client.page(Pod, wrong)
    with pytest.raises(ConfigError, match=r"pages\(\) takes kinform\.ListOptions, not "):
        await anext(client.pages(Pod, wrong))
    with pytest.raises(ConfigError, match=r"watch\(\) takes kinform\.ListOptions, not "):
        client.watch(Pod, wrong)


async def test_a_type_of_patch_that_cannot_be_one_is_refused(client: Client) -> None:
    wrong: Any = ["merge"]
    with pytest.raises(ConfigError, match=r"\['merge'\] is not a type of patch"):
        await client.patch(GVK("", "v1", "Pod"), "a", {}, type=wrong)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"method": None}, "method= of request.. takes a string, not None"),
        ({"path": 5}, "path= of request.. takes a string, not int"),
        ({"query": "a=b"}, "query= of request.. takes a dict of strings, not str"),
        ({"headers": 5}, "headers= of request.. takes a dict of strings, not int"),
        ({"body": {"kind": "Pod"}}, "body= of request.. takes bytes, not dict"),
    ],
)
async def test_a_request_says_which_of_its_parts_is_wrong(
    client: Client, memory: MemoryTransport, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        await client.request(**{"method": "GET", "path": "/version", **options})
    assert memory.requests == []
