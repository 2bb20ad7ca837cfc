"""Lists: their shape, their order, and what selectors choose."""

from __future__ import annotations

import re

import pytest

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    Server,
    assert_refused,
    names,
    version,
)
from tests.conformance.samples import config_map, pod, widget

pytestmark = IN_BOTH_FORMS


async def test_a_list_names_its_kind_and_version(server: Server, configmaps: str) -> None:
    listed = await server.read(configmaps)

    assert listed["kind"] == "ConfigMapList"
    assert listed["apiVersion"] == "v1"
    assert listed["items"] == []
    assert re.fullmatch(r"[1-9]\d*", listed["metadata"]["resourceVersion"])


async def test_items_of_a_built_in_kind_do_not_repeat_it(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one", key="value"))

    (item,) = (await server.read(configmaps))["items"]

    assert "kind" not in item
    assert "apiVersion" not in item
    assert {"kind": "ConfigMap", "apiVersion": "v1", **item} == created


async def test_items_of_a_custom_kind_repeat_it(server: Server, widgets: str) -> None:
    created = await server.create(widgets, widget("one", color="red"))

    listed = await server.read(widgets)

    assert listed["kind"] == "WidgetList"
    assert listed["apiVersion"] == created["apiVersion"]
    assert listed["items"] == [created]


async def test_a_list_is_ordered_by_name(server: Server, configmaps: str) -> None:
    for name in ("b", "a.b", "c", "a", "a-b"):
        await server.create(configmaps, config_map(name))

    assert names(await server.read(configmaps)) == ["a", "a-b", "a.b", "b", "c"]


async def test_a_list_of_all_namespaces_is_ordered_by_namespace_and_name(server: Server) -> None:
    made = sorted([await server.new_namespace(), await server.new_namespace()])
    for namespace in reversed(made):
        for name in ("b", "a"):
            await server.create(f"/api/v1/namespaces/{namespace}/configmaps", config_map(name))

    listed = await server.read("/api/v1/configmaps")

    found = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in listed["items"]]
    assert [pair for pair in found if pair[0] in made] == [
        (made[0], "a"),
        (made[0], "b"),
        (made[1], "a"),
        (made[1], "b"),
    ]


async def test_a_list_is_at_least_as_new_as_the_last_write(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one"))

    listed = await server.read(configmaps)

    assert names(listed) == ["one"]
    assert version(listed) >= version(created)


async def test_a_missing_namespace_is_an_empty_list(server: Server) -> None:
    assert names(await server.read("/api/v1/namespaces/not-there/configmaps")) == []


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("app", "front back"),
        ("!app", "bare"),
        ("app=web", "front"),
        ("app==web", "front"),
        ("app!=web", "back bare"),
        ("app in (web,db)", "front back"),
        ("app in (web)", "front"),
        ("app notin (web)", "back bare"),
        ("app notin (web),app", "back"),
        ("tier>5", "back"),
        ("tier<5", "front"),
        ("tier>1,tier<100", "front back"),
        ("app=web,tier=2", "front"),
        ("app=web,tier=10", ""),
        ("app=", ""),
        ("app in ()", ""),
        (" app = web , tier = 2 ", "front"),
        ("example.test/role=main", "front"),
        ("", "front back bare"),
    ],
)
async def test_a_label_selector_chooses(
    server: Server, configmaps: str, selector: str, expected: str
) -> None:
    role = {"example.test/role": "main"}
    await server.create(configmaps, config_map("front", labels={"app": "web", "tier": "2", **role}))
    await server.create(configmaps, config_map("back", labels={"app": "db", "tier": "10"}))
    await server.create(configmaps, config_map("bare"))

    listed = await server.read(configmaps, labelSelector=selector)

    assert names(listed) == sorted(expected.split())


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("app in (web", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("=web", "found '=', expected: !, identifier, or 'end of string'"),
        ("app=web,", "found '', expected: identifier after ','"),
        ("app=web=db", "found '=', expected: ',' or 'end of string'"),
        (
            "tier>high",
            'unable to parse requirement: values[0]: Invalid value: "high": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("app web", None),
        ("-app=web", None),
        ("app=-web", None),
        ("(app)", None),
        ("example.test/" + "a" * 64, None),
    ],
)
async def test_an_illegal_label_selector_is_a_bad_request(
    server: Server, configmaps: str, selector: str, message: str | None
) -> None:
    answer = await server.get(configmaps, labelSelector=selector)

    status = assert_refused(answer, 400, "BadRequest", message)
    assert "details" not in status


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=a", "a"),
        ("metadata.name==a", "a"),
        ("metadata.name!=a", "b c"),
        ("metadata.name=a,metadata.name=b", ""),
        ("metadata.name!=a,metadata.name!=b", "c"),
        ("metadata.namespace=elsewhere", ""),
        ("metadata.namespace!=elsewhere", "a b c"),
        ("", "a b c"),
    ],
)
async def test_a_field_selector_chooses(
    server: Server, configmaps: str, selector: str, expected: str
) -> None:
    for name in ("a", "b", "c"):
        await server.create(configmaps, config_map(name))

    listed = await server.read(configmaps, fieldSelector=selector)

    assert names(listed) == expected.split()


async def test_a_field_selector_chooses_a_namespace(
    server: Server, namespace: str, configmaps: str
) -> None:
    await server.create(configmaps, config_map("one"))

    listed = await server.read(
        "/api/v1/configmaps", fieldSelector=f"metadata.namespace={namespace}"
    )

    assert names(listed) == ["one"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("spec.nodeName=here", "running"),
        ("spec.nodeName!=here", "waiting"),
        ("spec.nodeName=", "waiting"),
        ("spec.nodeName!=", "running"),
        ("status.phase=Running", "running"),
        ("status.phase!=Running", "waiting"),
        ("spec.nodeName=here,status.phase=Running", "running"),
        ("spec.restartPolicy=Always", "running"),
    ],
)
async def test_pods_are_chosen_by_fields_of_their_own(
    server: Server, pods: str, selector: str, expected: str
) -> None:
    waiting, running = pod("waiting"), pod("running", node="here")
    waiting["spec"]["restartPolicy"] = "Never"
    running["spec"]["restartPolicy"] = "Always"
    await server.create(pods, waiting)
    await server.create(pods, running)
    await server.edit(f"{pods}/running/status", {"status": {"phase": "Running"}})

    assert names(await server.read(pods, fieldSelector=selector)) == [expected]


async def test_secrets_are_chosen_by_type(server: Server, namespace: str) -> None:
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    for name, kind in (("plain", "Opaque"), ("special", "example.test/special")):
        await server.create(secrets, {"metadata": {"name": name}, "type": kind})

    assert names(await server.read(secrets, fieldSelector="type=Opaque")) == ["plain"]


async def test_events_are_chosen_by_what_they_are_about(
    server: Server, namespace: str, events: str
) -> None:
    for name in ("one", "two"):
        about = {"kind": "Pod", "namespace": namespace, "name": f"about-{name}"}
        body = {"metadata": {"name": name}, "involvedObject": about, "reason": "Tested"}
        await server.create(events, body)

    listed = await server.read(events, fieldSelector="involvedObject.name=about-two")

    assert names(listed) == ["two"]


async def test_an_unknown_field_of_a_plain_kind_is_a_bad_request(
    server: Server, configmaps: str
) -> None:
    assert_refused(
        await server.get(configmaps, fieldSelector="data.key=value"),
        400,
        "BadRequest",
        '"data.key" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )


async def test_an_unknown_field_of_a_kind_with_its_own_is_a_bad_request(
    server: Server, pods: str
) -> None:
    assert_refused(
        await server.get(pods, fieldSelector="spec.unknown=x"),
        400,
        "BadRequest",
        "field label not supported: spec.unknown",
    )


@pytest.mark.parametrize("selector", ["metadata.name", "metadata.name>a", "metadata.name in (a)"])
async def test_an_illegal_field_selector_is_a_bad_request(
    server: Server, configmaps: str, selector: str
) -> None:
    assert_refused(
        await server.get(configmaps, fieldSelector=selector),
        400,
        "BadRequest",
        f"invalid selector: '{selector}'; can't understand '{selector}'",
    )


async def test_both_selectors_must_agree(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("a", labels={"app": "web"}))
    await server.create(configmaps, config_map("b", labels={"app": "web"}))
    await server.create(configmaps, config_map("c"))

    listed = await server.read(configmaps, labelSelector="app", fieldSelector="metadata.name!=a")

    assert names(listed) == ["b"]
