"""The committed table of the Kubernetes API is whole, and agrees with itself."""

from __future__ import annotations

import pytest

from tools.cluster_binaries import KUBERNETES
from tools.schema.collect import render
from tools.schema.table import (
    PATH,
    Field,
    Struct,
    Table,
    TypeExpression,
    innermost,
    load,
    parse_type,
)

# As the accessors of a factory are called in Go.
GROUPS = {
    "admissionregistration": "admissionregistration.k8s.io",
    "apiserverinternal": "internal.apiserver.k8s.io",
    "apps": "apps",
    "autoscaling": "autoscaling",
    "batch": "batch",
    "certificates": "certificates.k8s.io",
    "coordination": "coordination.k8s.io",
    "core": "",
    "discovery": "discovery.k8s.io",
    "events": "events.k8s.io",
    "extensions": "extensions",
    "flowcontrol": "flowcontrol.apiserver.k8s.io",
    "networking": "networking.k8s.io",
    "node": "node.k8s.io",
    "policy": "policy",
    "rbac": "rbac.authorization.k8s.io",
    "resource": "resource.k8s.io",
    "scheduling": "scheduling.k8s.io",
    "storage": "storage.k8s.io",
}
WORDS = {"string", "bool", "int", "int32", "int64", "float64", "bytes", "any"}
WRITTEN_BY_HAND = {
    "apiextensions/v1.JSON",
    "intstr.IntOrString",
    "meta/v1.FieldsV1",
    "meta/v1.MicroTime",
    "meta/v1.Time",
    "resource.Quantity",
    "runtime.RawExtension",
}


@pytest.fixture(scope="module")
def table() -> Table:
    return load()


def _numbers(struct: Struct) -> dict[str, int]:
    return {field.json: field.number for field in struct.fields if field.json}


def _field(table: Table, struct: str, name: str) -> Field:
    (found,) = (field for field in table.struct_by_id[struct].fields if field.json == name)
    return found


def test_it_is_of_the_kubernetes_that_the_tests_build(table: Table) -> None:
    assert table.version == KUBERNETES


def test_it_is_written_as_it_is_rendered(table: Table) -> None:
    assert render(table) == PATH.read_text("utf-8")


@pytest.mark.parametrize("package", GROUPS)
def test_every_group_that_go_has_a_factory_for_is_there(table: Table, package: str) -> None:
    found = {row.group for row in table.group_versions if row.package.startswith(f"{package}/")}

    assert found == {GROUPS[package]}


@pytest.mark.parametrize(
    ("struct", "expected"),
    [
        ("core/v1.Pod", {"metadata": 1, "spec": 2, "status": 3}),
        ("core/v1.Node", {"metadata": 1, "spec": 2, "status": 3}),
        ("apps/v1.StatefulSet", {"metadata": 1, "spec": 2, "status": 3}),
        ("core/v1.PodList", {"metadata": 1, "items": 2}),
        ("meta/v1.ObjectMeta", {"name": 1, "uid": 5, "labels": 11, "managedFields": 17}),
    ],
)
def test_protobuf_numbers_are_the_known_ones(
    table: Table, struct: str, expected: dict[str, int]
) -> None:
    numbers = _numbers(table.struct_by_id[struct])

    assert {name: numbers[name] for name in expected} == expected


def test_every_field_of_a_protobuf_message_has_a_number(table: Table) -> None:
    without = [
        f"{struct.id}.{field.go}"
        for struct in table.structs
        for field in struct.fields
        # The envelope has what is in TypeMeta.
        if struct.message and not field.number and field.type != "meta/v1.TypeMeta"
        if struct.id != "meta/v1.TypeMeta"
    ]

    assert without == []


def test_no_message_uses_a_number_twice(table: Table) -> None:
    for struct in table.structs:
        numbers = [field.number for field in struct.fields if field.number]
        assert len(numbers) == len(set(numbers)), struct.id


def test_every_field_has_a_name_in_json_unless_it_is_inlined(table: Table) -> None:
    unnamed = [
        f"{struct.id}.{field.go}"
        for struct in table.structs
        for field in struct.fields
        if not struct.custom and bool(field.json) is field.inline
    ]

    assert unnamed == []


def test_every_kind_has_a_struct_and_every_resource_a_kind(table: Table) -> None:
    assert [kind for kind in table.kinds if kind.struct not in table.struct_by_id] == []
    for resource in table.resources:
        own = (resource.group, resource.version, resource.kind)
        others = [(sub.group, sub.version, sub.kind) for sub in resource.subresources]
        assert {own, *others} <= table.kind_by_name.keys(), resource.plural


def test_every_served_group_version_has_resources_and_no_other_has(table: Table) -> None:
    served = {(row.group, row.version) for row in table.group_versions if row.served}

    assert {(row.group, row.version) for row in table.resources} == served


def test_every_type_that_a_field_names_is_there(table: Table) -> None:
    known = WORDS | table.struct_by_id.keys() | table.type_by_id.keys()
    types = [
        *(field.type for struct in table.structs for field in struct.fields),
        *(named.type for named in table.types),
    ]

    assert {innermost(text) for text in types} - known == set()


def test_every_type_lives_in_a_package_that_is_there(table: Table) -> None:
    names = [*table.struct_by_id, *table.type_by_id]

    assert {name.partition(".")[0] for name in names} == table.package_by_id.keys()


def test_types_with_json_of_their_own_are_marked(table: Table) -> None:
    custom = {struct.id for struct in table.structs if struct.custom}

    assert custom >= WRITTEN_BY_HAND
    assert not any(table.struct_by_id[kind.struct].custom for kind in table.kinds)


def test_lists_that_are_messages_of_their_own_are_marked(table: Table) -> None:
    messages = {named.id for named in table.types if named.message}

    assert messages >= {"authentication/v1.ExtraValue", "meta/v1.Verbs"}
    assert {table.type_by_id[name].type for name in messages} == {"[]string"}


def test_kinds_that_every_group_registers_are_listed_once(table: Table) -> None:
    for name, group in (
        ("ListOptions", "meta.k8s.io"),
        ("Status", ""),
        ("WatchEvent", "meta.k8s.io"),
    ):
        found = [(kind.group, kind.version) for kind in table.kinds if kind.kind == name]
        assert found == [(group, "v1")], name


def test_it_knows_which_zero_values_go_leaves_out(table: Table) -> None:
    assert _field(table, "meta/v1.ObjectMeta", "creationTimestamp").omitzero
    assert _field(table, "core/v1.PodSpec", "nodeName").omitempty
    assert not _field(table, "core/v1.PodSpec", "containers").omitempty
    assert _field(table, "apps/v1.StatefulSetSpec", "replicas").is_pointer


def test_the_server_adds_required_fields_and_enums(table: Table) -> None:
    phases = ("Failed", "Pending", "Running", "Succeeded", "Unknown")

    assert _field(table, "core/v1.PodSpec", "containers").required
    assert not _field(table, "core/v1.PodSpec", "nodeName").required
    assert _field(table, "core/v1.PodStatus", "phase").enum == phases
    assert table.type_by_id["core/v1.PodPhase"].enum == phases


def test_the_server_tells_about_inlined_structs_where_they_are(table: Table) -> None:
    assert _field(table, "core/v1.EphemeralContainerCommon", "name").required
    assert _field(table, "core/v1.EphemeralContainerCommon", "imagePullPolicy").enum


def test_a_subresource_can_be_of_another_group(table: Table) -> None:
    (deployments,) = (row for row in table.resources if row.plural == "deployments")
    (scale,) = (row for row in deployments.subresources if row.name == "scale")

    assert deployments.namespaced
    assert deployments.short_names == ("deploy",)
    assert (scale.group, scale.version, scale.kind) == ("autoscaling", "v1", "Scale")


def test_a_type_is_taken_apart() -> None:
    pod = TypeExpression("name", name="core/v1.Pod")
    pods = TypeExpression("list", of=TypeExpression("pointer", of=pod))

    assert parse_type("[]*core/v1.Pod") == pods
    assert parse_type("map[string][]*core/v1.Pod") == TypeExpression(
        "map", key=TypeExpression("name", name="string"), of=pods
    )
    assert innermost("map[string][]*core/v1.Pod") == "core/v1.Pod"
