"""Protobuf, where it is more than another form: who gets it, who does not, and what may be sent."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVK
from kinform.objects import METADATA as METADATA_KIND
from kinform.protobuf import codec_for, split_list, unwrap, wrap
from tests.conformance.harness import (
    JSON,
    METADATA,
    METADATA_LIST,
    PROTOBUF,
    Answer,
    Server,
    assert_refused,
    decoded,
)
from tests.conformance.samples import config_map, deployment, widget

BINARY_METADATA = METADATA.replace(JSON, PROTOBUF)
BINARY_METADATA_LIST = METADATA_LIST.replace(JSON, PROTOBUF)
STREAM = f"{PROTOBUF};stream=watch"
EITHER = f"{PROTOBUF},{JSON}"


def _packed(obj: dict[str, Any]) -> bytes:
    codec = codec_for(GVK.of(obj["apiVersion"], obj["kind"]))
    assert codec is not None
    return wrap(obj["apiVersion"], obj["kind"], codec.encode(obj))


def _metadata(message: bytes) -> Any:
    codec = codec_for(METADATA_KIND)
    assert codec is not None
    return codec.decode(message)["metadata"]


async def _send(
    server: Server, method: str, path: str, body: bytes, *, accept: str = JSON
) -> Answer:
    return await server.request(method, path, body, accept=accept, content_type=PROTOBUF)


@pytest.mark.parametrize(
    ("accept", "answered"),
    [
        (PROTOBUF, PROTOBUF),
        (STREAM, PROTOBUF),
        (f"{PROTOBUF};q=0.5,{JSON};q=0.9", JSON),
        (f"{JSON};q=0.1,{PROTOBUF};q=0.5", PROTOBUF),
        (f"{JSON},{PROTOBUF}", JSON),
        (f"*/*,{PROTOBUF}", PROTOBUF),
        (f"{PROTOBUF};as=Bogus;g=meta.k8s.io;v=v1,{JSON}", JSON),
        (BINARY_METADATA, PROTOBUF),
    ],
)
async def test_the_best_of_what_is_accepted_is_answered(
    server: Server, configmaps: str, accept: str, answered: str
) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await server.get(f"{configmaps}/one", accept=accept)

    assert (answer.status, answer.headers["Content-Type"]) == (200, answered)


async def test_it_says_what_json_says(server: Server, deployments: str) -> None:
    await server.request("POST", deployments, _packed(deployment("one")), content_type=PROTOBUF)

    as_json = await server.get(f"{deployments}/one", accept=JSON)
    as_protobuf = await server.get(f"{deployments}/one", accept=PROTOBUF)

    assert as_protobuf.object() == as_json.object()


async def test_one_form_of_metadata_is_that_of_the_other(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one", labels={"a": "b"}))

    one = unwrap((await server.get(f"{configmaps}/one", accept=BINARY_METADATA)).body)
    many = unwrap((await server.get(configmaps, accept=BINARY_METADATA_LIST)).body)

    assert (one.api_version, one.kind) == ("meta.k8s.io/v1", "PartialObjectMetadata")
    assert (many.api_version, many.kind) == ("meta.k8s.io/v1", "PartialObjectMetadataList")
    assert _metadata(one.raw) == created["metadata"]
    assert [_metadata(item) for item in split_list(many.raw).items] == [created["metadata"]]


@pytest.mark.parametrize("accept", [PROTOBUF, STREAM, BINARY_METADATA, f"{STREAM},{JSON}"])
async def test_a_watch_says_that_it_is_one(server: Server, configmaps: str, accept: str) -> None:
    await server.create(configmaps, config_map("one"))

    async with server.watch(configmaps, accept=accept) as watch:
        assert watch.headers["Content-Type"] == STREAM
        assert (await watch.event())["object"]["metadata"]["name"] == "one"


@pytest.mark.parametrize("accept", ["application/yaml", f"application/yaml,{PROTOBUF}"])
async def test_there_is_no_watch_in_yaml(server: Server, configmaps: str, accept: str) -> None:
    answer = await server.get(configmaps, accept=accept, watch="true")

    assert answer.status == 406
    assert answer.headers["Content-Type"] == "application/yaml"
    assert b"application/json;stream=watch" in answer.body


# Custom resources, which have no protobuf


async def test_custom_kinds_come_as_json_to_who_accepts_that(server: Server, widgets: str) -> None:
    created = await server.create(widgets, widget("one"))

    one = await server.get(f"{widgets}/one", accept=EITHER)
    many = await server.get(widgets, accept=EITHER)
    async with server.watch(widgets, accept=f"{STREAM},{JSON}") as watch:
        added = await watch.event()

    assert (one.headers["Content-Type"], one.object()) == (JSON, created)
    assert (many.headers["Content-Type"], many.object()["items"]) == (JSON, [created])
    assert (watch.headers["Content-Type"], added["object"]) == (JSON, created)


@pytest.mark.parametrize("params", [{}, {"watch": "true"}], ids=["list", "watch"])
async def test_custom_kinds_are_not_acceptable_in_protobuf_alone(
    server: Server, widgets: str, params: dict[str, str]
) -> None:
    answer = await server.get(widgets, accept=PROTOBUF, **params)

    assert answer.status == 406
    # But the refusal is.
    assert answer.headers["Content-Type"] == PROTOBUF
    assert decoded(unwrap(answer.body))["reason"] == "NotAcceptable"


async def test_metadata_of_custom_kinds_comes_in_protobuf(server: Server, widgets: str) -> None:
    created = await server.create(widgets, widget("one"))

    one = await server.get(f"{widgets}/one", accept=BINARY_METADATA)
    many = unwrap((await server.get(widgets, accept=BINARY_METADATA_LIST)).body)
    async with server.watch(widgets, accept=BINARY_METADATA) as watch:
        added = await watch.event()

    assert one.headers["Content-Type"] == PROTOBUF
    assert one.object()["metadata"] == created["metadata"]
    assert [_metadata(item) for item in split_list(many.raw).items] == [created["metadata"]]
    assert added["object"]["metadata"] == created["metadata"]


# Refusals


@pytest.mark.parametrize(
    ("accept", "answered"),
    [(PROTOBUF, PROTOBUF), (EITHER, PROTOBUF), (BINARY_METADATA, JSON)],
    ids=["protobuf", "either", "metadata"],
)
async def test_a_refusal_comes_in_the_first_form_that_is_no_view(
    server: Server, configmaps: str, accept: str, answered: str
) -> None:
    answer = await server.get(f"{configmaps}/nope", accept=accept)

    assert (answer.status, answer.headers["Content-Type"]) == (404, answered)
    status = answer.json()
    assert (status["kind"], status["reason"]) == ("Status", "NotFound")
    assert status["details"] == {"name": "nope", "kind": "configmaps"}


async def test_custom_kinds_are_refused_in_protobuf_too(server: Server, widgets: str) -> None:
    answer = await server.get(f"{widgets}/nope", accept=EITHER)

    assert (answer.status, answer.headers["Content-Type"]) == (404, PROTOBUF)


# Writing


async def test_who_sends_protobuf_can_read_json(server: Server, configmaps: str) -> None:
    sent = _packed(config_map("one", key="value"))

    created = (await _send(server, "POST", configmaps, sent)).object(201)
    replaced = (
        await _send(server, "PUT", f"{configmaps}/one", _packed(config_map("one", key="new")))
    ).object()

    assert created["data"] == {"key": "value"}
    assert replaced["data"] == {"key": "new"}


async def test_a_body_that_does_not_say_its_kind_is_of_the_one_served_here(
    server: Server, configmaps: str
) -> None:
    sent = wrap("", "", unwrap(_packed(config_map("one", key="value"))).raw)

    created = (await _send(server, "POST", configmaps, sent)).object(201)

    assert (created["kind"], created["data"]) == ("ConfigMap", {"key": "value"})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the object provided is unrecognized (must be of type ConfigMap)"),
        (b"k8s\0", "the object provided is unrecognized (must be of type ConfigMap)"),
        (b"{}", "the object provided is unrecognized (must be of type ConfigMap)"),
        (b"k8s\0\xff\xff\xff", "the object provided is unrecognized (must be of type ConfigMap)"),
        (wrap("v1", "ConfigMap", b"\xff\xff\xff"), "ConfigMap in version "),
        (wrap("v1", "ConfigMap", b"\x0a\x7fcut"), "ConfigMap in version "),
        (wrap("v1", "Secret", b""), "Secret in version "),
        (wrap("v1", "Bogus", b""), "Bogus in version "),
        (wrap("v7", "ConfigMap", b""), "ConfigMap in version "),
    ],
    ids=["empty", "magic", "json", "envelope", "message", "cut", "kind", "unknown", "version"],
)
async def test_what_is_no_such_object_is_a_bad_request(
    server: Server, configmaps: str, body: bytes, said: str
) -> None:
    answer = await _send(server, "POST", configmaps, body)

    status = assert_refused(answer, 400, "BadRequest")
    assert status["message"].startswith(said)
    assert (await server.read(configmaps))["items"] == []


async def test_a_patch_is_not_protobuf(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await _send(server, "PATCH", f"{configmaps}/one", b"k8s\0")

    assert_refused(answer, 415, "UnsupportedMediaType")


@pytest.mark.parametrize("api_version", ["", "v1", "meta.k8s.io/v1", "apps/v1"])
async def test_how_to_delete_can_be_said_in_protobuf(
    server: Server, deployments: str, api_version: str
) -> None:
    await server.create(deployments, deployment("one"))
    codec = codec_for(GVK("", "v1", "DeleteOptions"))
    assert codec is not None
    dry = wrap(api_version, "DeleteOptions", codec.encode({"dryRun": ["All"]}))

    answer = await _send(server, "DELETE", f"{deployments}/one", dry, accept=PROTOBUF)

    assert answer.object()["status"] == "Success"
    assert (await server.get(f"{deployments}/one")).status == 200


@pytest.mark.parametrize(
    "body", [b"nonsense", wrap("v1", "DeleteOptions", b"\xff"), _packed(config_map("one"))]
)
async def test_what_does_not_say_how_to_delete_is_a_bad_request(
    server: Server, configmaps: str, body: bytes
) -> None:
    await server.create(configmaps, config_map("one"))

    assert_refused(await _send(server, "DELETE", f"{configmaps}/one", body), 400, "BadRequest")
    assert (await server.get(f"{configmaps}/one")).status == 200


async def test_a_deletion_is_answered_in_protobuf(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one"))
    await server.create(configmaps, config_map("two"))

    one = (await server.request("DELETE", f"{configmaps}/one", accept=PROTOBUF)).object()
    rest = (await server.request("DELETE", configmaps, accept=PROTOBUF)).object()

    assert one["details"]["uid"] == created["metadata"]["uid"]
    assert [item["metadata"]["name"] for item in rest["items"]] == ["two"]


async def test_questions_can_be_asked_in_protobuf(server: Server) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    question = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    }

    answer = await _send(server, "POST", path, _packed(question), accept=PROTOBUF)

    assert answer.object(201)["status"]["allowed"] is True
