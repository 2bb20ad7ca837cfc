"""Schemas of every shape: the types that they become, and the warnings for those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVR
from kinform.generate._class_names import ClassNames
from kinform.generate._crd import CustomKind
from kinform.generate._ir import EnumDef, FieldDef, KindDef, StructDef
from kinform.generate._schemas import METADATA, SchemaReader


class Read:
    """What became of one kind's schema."""

    def __init__(self, schema: Any, components: dict[str, Any] | None = None) -> None:
        self.warnings: list[str] = []
        kind = CustomKind(
            GVR("stable.example.com", "v1", "crontabs"), "CronTab", True, schema, components or {}
        )
        reader = SchemaReader(ClassNames(["CronTab", "Other"]), self.warnings.append)
        self.kind: KindDef = reader.read(kind)
        self.structs: dict[str, StructDef] = {each.name: each for each in reader.structs}
        self.enums: list[EnumDef] = reader.enums

    def field(self, struct: str, json: str) -> tuple[str, str]:
        """The annotation and the default."""
        [found] = [each for each in self.structs[struct].fields if each.json == json]
        return found.annotation, found.default

    def part(self, json: str) -> tuple[str, str]:
        [found] = [each for each in self.kind.fields if each.json == json]
        return found.annotation, found.default


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties}


def _read_spec(required: tuple[str, ...] = (), **properties: Any) -> Read:
    return Read(_object(spec=_object(required, **properties)))


@pytest.mark.parametrize(
    ("schema", "optional", "required"),
    [
        ({"type": "string"}, ("str | None", "None"), ("str", '""')),
        ({"type": "integer", "format": "int64"}, ("int | None", "None"), ("int", "0")),
        ({"type": "number"}, ("float | None", "None"), ("float", "0.0")),
        ({"type": "boolean"}, ("bool | None", "None"), ("bool", "False")),
        ({"type": "string", "format": "byte"}, ("bytes | None", "None"), ("bytes", 'b""')),
        (
            {"type": "string", "format": "date-time"},
            ("datetime | None", "None"),
            ("datetime | None", "None"),
        ),
        (
            {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}]},
            ("int | str | None", "None"),
            ("int | str", "0"),
        ),
        ({"type": "array", "items": {"type": "string"}}, ("list[str]", "[]"), ("list[str]", "[]")),
        (
            {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            ("list[list[float]]", "[]"),
            ("list[list[float]]", "[]"),
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            ("dict[str, int]", "{}"),
            ("dict[str, int]", "{}"),
        ),
        ({"type": "object"}, ("dict[str, Any]", "{}"), ("dict[str, Any]", "{}")),
        (
            {"type": "object", "additionalProperties": True},
            ("dict[str, Any]", "{}"),
            ("dict[str, Any]", "{}"),
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            ("Any", "None"),
            ("Any", "None"),
        ),
        ({"x-kubernetes-preserve-unknown-fields": True}, ("Any", "None"), ("Any", "None")),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"a": {}}},
            ("Any", "None"),
            ("Any", "None"),
        ),
        (
            _object(name={"type": "string"}),
            ("CronTabSpecField | None", "None"),
            ("CronTabSpecField", "CronTabSpecField()"),
        ),
        (
            {**_object(a={"type": "string"}), "x-kubernetes-preserve-unknown-fields": True},
            ("CronTabSpecField | None", "None"),
            ("CronTabSpecField", "CronTabSpecField()"),
        ),
        (
            {"type": "array", "items": _object(name={"type": "string"})},
            ("list[CronTabSpecField]", "[]"),
            ("list[CronTabSpecField]", "[]"),
        ),
        (
            {"type": "object", "additionalProperties": {"type": "array", "items": _object(a={})}},
            ("dict[str, list[CronTabSpecField]]", "{}"),
            ("dict[str, list[CronTabSpecField]]", "{}"),
        ),
        (
            {"type": "string", "nullable": True},
            ("str | None", "None"),
            ("str | None", "None"),
        ),
        (
            {"type": "array", "nullable": True, "items": {"type": "string", "nullable": True}},
            ("list[str | None] | None", "[]"),
            ("list[str | None] | None", "[]"),
        ),
        (
            {"type": "string", "oneOf": [{"pattern": "a"}, {"pattern": "b"}], "default": "a"},
            ("str | None", "None"),
            ("str", '""'),
        ),
    ],
    ids=str,
)
def test_a_schema_becomes_a_type_and_a_default(
    schema: dict[str, Any], optional: tuple[str, str], required: tuple[str, str]
) -> None:
    assert _read_spec(field=schema).field("CronTabSpec", "field") == optional
    text, default = required
    if default != "None" and not text.endswith("| None"):
        # The server would miss it, empty or not.
        text = f"Always[{text}]"
    found = _read_spec(("field",), field=schema).field("CronTabSpec", "field")
    assert found == (text, default)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({}, "its schema has no type"),
        ({"anyOf": [{"type": "string"}, {"type": "object"}]}, "anyOf without a type"),
        ({"oneOf": [], "not": {}}, "oneOf and not without a type"),
        ({"allOf": [{"type": "string"}, {}]}, "allOf without a type"),
        ({"$ref": "#/definitions/Thing"}, "it refers to 'Thing', which is not defined"),
        ({"type": ["string", "null"]}, r"its type is ['string', 'null']"),
        ({"type": "tuple"}, "its type is 'tuple'"),
        ({"type": "string", "properties": {"a": {}}}, "its type is 'string' and it has properties"),
        (
            {"type": "array", "additionalProperties": {"type": "string"}},
            "its type is 'array' and it has additionalProperties",
        ),
        ({"type": "object", "items": {"type": "string"}}, "its type is 'object' and it has items"),
        (
            {**_object(a={"type": "string"}), "additionalProperties": {"type": "string"}},
            "it has both properties and additionalProperties",
        ),
        ("string", "its schema is not a mapping"),
        (None, "its schema is not a mapping"),
    ],
    ids=str,
)
def test_a_schema_without_a_python_type_is_any_with_a_warning(schema: Any, why: str) -> None:
    read = _read_spec(("schedule",), schedule=schema, beside={"type": "string"})

    assert read.field("CronTabSpec", "schedule") == ("Any", "None")
    assert read.field("CronTabSpec", "beside") == ("str | None", "None")
    assert read.warnings == [
        f"stable.example.com/v1 CronTab spec.schedule: {why}; typed as Any",
    ]


def test_only_the_part_without_a_python_type_is_any() -> None:
    read = _read_spec(
        many={"type": "array", "items": {}},
        mapped={"type": "object", "additionalProperties": {"oneOf": []}},
        deep=_object(deeper=_object(deepest={})),
    )

    assert read.field("CronTabSpec", "many") == ("list[Any]", "[]")
    assert read.field("CronTabSpec", "mapped") == ("dict[str, Any]", "{}")
    assert [warning.partition(": ")[0].split()[-1] for warning in read.warnings] == [
        "spec.deep.deeper.deepest",
        "spec.many",
        "spec.mapped",
    ]


def test_a_field_name_that_is_not_text_is_left_out_with_a_warning() -> None:
    spec: dict[Any, Any] = {
        True: {"type": "string"},
        404: {"type": "string"},
        "a": {"type": "string"},
    }
    read = Read(_object(spec={"type": "object", "properties": spec}))

    assert [field.json for field in read.structs["CronTabSpec"].fields] == ["a"]
    assert read.warnings == [
        "stable.example.com/v1 CronTab: a field of spec is called True; put it in quotes; left out",
        "stable.example.com/v1 CronTab: a field of spec is called 404; put it in quotes; left out",
    ]


def test_a_schema_that_contains_itself_ends_in_any() -> None:
    tree: dict[str, Any] = _object(value={"type": "string"})
    tree["properties"]["left"] = tree
    tree["properties"]["rest"] = {"type": "array", "items": tree}

    read = _read_spec(tree=tree)

    assert read.field("CronTabSpecTree", "value") == ("str | None", "None")
    assert read.field("CronTabSpecTree", "left") == ("Any", "None")
    assert read.field("CronTabSpecTree", "rest") == ("list[Any]", "[]")
    assert len(read.warnings) == 2


def test_a_schema_of_endless_depth_ends_in_any() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        schema = _object(a=schema)

    read = Read(schema)

    assert len(read.warnings) == 1
    assert "levels deep" in read.warnings[0]


# -- the top level -----------------------------------------------------------------------------


def test_metadata_spec_and_status_are_never_none() -> None:
    read = Read(
        _object(
            apiVersion={"type": "string"},
            kind={"type": "string"},
            metadata={"type": "object"},
            spec=_object(a={"type": "string"}),
            status={**_object(b={"type": "string"}), "nullable": True},
        )
    )

    assert read.kind.fields == (
        METADATA,
        FieldDef("spec", "spec", "CronTabSpec", "CronTabSpec()"),
        FieldDef("status", "status", "CronTabStatus", "CronTabStatus()"),
    )
    assert (read.kind.group, read.kind.version, read.kind.kind) == (
        "stable.example.com",
        "v1",
        "CronTab",
    )
    assert (read.kind.plural, read.kind.namespaced) == ("crontabs", True)


def test_other_fields_of_the_top_level_are_like_fields_of_any_struct() -> None:
    read = Read(
        _object(
            ("paused", "limits"),
            paused={"type": "boolean"},
            limits={"type": "object", "additionalProperties": {"type": "integer"}},
            note={"type": "string"},
            extra=_object(a={"type": "string"}),
            data={"type": "object", "additionalProperties": {"type": "string"}},
        )
    )

    assert read.part("paused") == ("Always[bool]", "False")
    assert read.part("limits") == ("Always[dict[str, int]]", "{}")
    assert read.part("note") == ("str | None", "None")
    assert read.part("extra") == ("CronTabExtra | None", "None")
    assert read.part("data") == ("dict[str, str]", "{}")


@pytest.mark.parametrize(
    "schema", [{"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"type": "object"}]
)
def test_an_open_kind_has_an_open_spec_and_status(schema: dict[str, Any]) -> None:
    read = Read(schema)

    assert read.part("spec") == ("Any", "dict()")
    assert read.part("status") == ("Any", "dict()")
    assert read.warnings == []


def test_a_kind_without_a_schema_is_open_with_a_warning() -> None:
    read = Read({})

    assert read.part("spec") == ("Any", "dict()")
    assert read.warnings == [
        "stable.example.com/v1 CronTab: the definition has no schema; "
        "spec and status are typed as Any"
    ]


def test_a_spec_that_is_open_reads_as_an_empty_dict_when_absent() -> None:
    read = Read(_object(spec={"type": "object", "x-kubernetes-preserve-unknown-fields": True}))

    assert read.part("spec") == ("Any", "dict()")


# -- names -------------------------------------------------------------------------------------


def test_enums_are_constants_beside_fields_of_plain_strings() -> None:
    read = _read_spec(
        policy={"type": "string", "enum": ["Allow", "Forbid", "Allow", None]},
        usages={"type": "array", "items": {"type": "string", "enum": ["sign", ""]}},
        level={"type": "integer", "enum": [1, 2]},
    )

    assert read.enums == [
        EnumDef("CronTabSpecPolicy", ("Allow", "Forbid"), "Values of spec.policy in CronTab."),
        EnumDef("CronTabSpecUsages", ("sign", ""), "Values of spec.usages in CronTab."),
    ]
    assert read.field("CronTabSpec", "policy") == ("str | None", "None")
    assert read.field("CronTabSpec", "level") == ("int | None", "None")


def test_descriptions_become_docstrings() -> None:
    template = {
        "type": "object",
        "description": "The pod to run.",
        "properties": {"name": {"type": "string"}},
    }
    schema = _object(
        spec={
            "type": "object",
            "description": "What to run.",
            "properties": {
                "template": template,
                "steps": {"type": "array", "description": "In order.", "items": template},
                "anything": {
                    "description": "Whatever.",
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "wrong": {"type": "string", "description": ["not", "text"]},
                "mode": {"type": "string", "description": "How.", "enum": ["a"]},
            },
        },
    )
    read = Read({**schema, "description": "Runs pods."})

    assert read.kind.description == "Runs pods."
    assert [each.docstring for each in read.kind.fields] == ["", "What to run."]
    assert {name: struct.docstring for name, struct in read.structs.items()} == {
        "CronTabSpec": "What to run.",
        "CronTabSpecTemplate": "The pod to run.",
        "CronTabSpecSteps": "The pod to run.",
    }
    assert {each.json: each.docstring for each in read.structs["CronTabSpec"].fields} == {
        "template": "The pod to run.",
        "steps": "In order.",
        "anything": "Whatever.",
        "wrong": "",
        "mode": "How.",
    }


def test_a_reference_keeps_the_description_of_the_field_and_of_its_target() -> None:
    target = {
        "type": "object",
        "description": "A period.",
        "properties": {"seconds": {"type": "integer"}},
    }
    window = {"allOf": [{"$ref": "#/components/schemas/Window"}], "description": "When."}
    read = Read(
        _object(spec={"type": "object", "properties": {"window": window}}),
        components={"Window": target},
    )

    assert read.structs["Window"].docstring == "A period."
    assert read.structs["CronTabSpec"].fields[0].docstring == "When."


def test_attributes_of_one_struct_are_distinct() -> None:
    text = {"type": "string"}
    names = {"fooBar": text, "foo-bar": text, "class": text, "clusterIP": text}
    read = Read(_object(spec={"type": "object", "properties": names}))

    fields = [(field.json, field.attribute) for field in read.structs["CronTabSpec"].fields]
    assert fields == [
        ("class", "class_"),
        ("clusterIP", "cluster_ip"),
        ("foo-bar", "foo_bar"),
        ("fooBar", "foo_bar_2"),
    ]


def test_classes_are_distinct_and_step_aside_for_kinds() -> None:
    names = ClassNames(["CronTab", "CronTabSpec", "Model", "my-kind"])

    assert names.of_kind("Model") == "Model2"
    assert names.of_kind("my-kind") == "MyKind"
    assert names.at_path("CronTab", ["spec"]) == "CronTabSpec2"
    assert names.at_path("CronTab", ["spec", "jobTemplate"]) == "CronTabSpecJobTemplate"
    assert names.at_path("CronTab", ["spec", "job-template"]) == "CronTabSpecJobTemplate2"


def test_the_class_of_a_long_path_is_named_for_its_end() -> None:
    names = ClassNames(["CronTab"])
    path = ["spec", "template", "affinity", "nodeAffinity", "preference", "matchExpressions"]

    assert names.at_path("CronTab", path) == "CronTabNodeAffinityPreferenceMatchExpressions"
    long = "preferredDuringSchedulingIgnoredDuringExecution"
    assert names.at_path("CronTab", [*path[:4], long]) == "CronTabPreferredDuring"


# -- references --------------------------------------------------------------------------------

COMPONENTS: dict[str, Any] = {
    "com.example.v1.Spec": _object(
        ("engine",),
        engine={"allOf": [{"$ref": "#/components/schemas/com.example.v1.Engine"}], "default": {}},
        spare={"$ref": "#/components/schemas/com.example.v1.Engine"},
        since={"$ref": "#/components/schemas/io.k8s.meta.v1.Time"},
        memory={"allOf": [{"$ref": "#/components/schemas/io.k8s.api.resource.Quantity"}]},
        limits={
            "type": "object",
            "additionalProperties": {"$ref": "#/components/schemas/io.k8s.api.resource.Quantity"},
        },
    ),
    "com.example.v1.Engine": _object(
        ("parent",),
        name={"type": "string"},
        parent={"$ref": "#/components/schemas/com.example.v1.Engine"},
        parts={"type": "array", "items": {"$ref": "#/components/schemas/com.example.v1.Engine"}},
    ),
    "io.k8s.meta.v1.Time": {"type": "string", "format": "date-time"},
    "io.k8s.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
}


def test_references_share_one_struct() -> None:
    read = Read(_object(spec={"$ref": "#/components/schemas/com.example.v1.Spec"}), COMPONENTS)

    assert read.part("spec") == ("Spec", "Spec()")
    assert read.field("Spec", "engine") == ("Always[Engine]", "Engine()")
    assert read.field("Spec", "spare") == ("Engine | None", "None")
    assert read.field("Spec", "since") == ("datetime | None", "None")
    assert read.field("Spec", "memory") == ("Quantity | None", "None")
    assert read.field("Spec", "limits") == ("dict[str, Quantity]", "{}")
    assert set(read.structs) == {"Spec", "Engine"}
    assert read.warnings == []


def test_a_struct_that_contains_itself_may_lack_itself() -> None:
    read = Read(_object(spec={"$ref": "#/components/schemas/com.example.v1.Engine"}), COMPONENTS)

    assert read.field("Engine", "parent") == ("Engine | None", "None")
    assert read.field("Engine", "parts") == ("list[Engine]", "[]")


def test_a_reference_that_leads_to_itself_is_any() -> None:
    loop = {"type": "array", "items": {"$ref": "#/components/schemas/Loop"}}
    read = Read(_object(spec={"$ref": "#/components/schemas/Loop"}), {"Loop": loop})

    assert read.part("spec") == ("list[Any]", "[]")
    assert len(read.warnings) == 1
