"""Docstrings of nested types that have no description: the fields that use them."""

from __future__ import annotations

import pytest

from kinform.generate import FieldDef, KindDef, ModuleDef, StructDef, describe_uses, used_in


def field(name: str, annotation: str) -> FieldDef:
    return FieldDef(name, name, annotation, "None")


def kind(name: str, *fields: FieldDef) -> KindDef:
    return KindDef(name, "example.com", "v1", name, f"{name.lower()}s", True, fields)


def described(*modules: ModuleDef) -> dict[str, str]:
    return {
        each.name: each.docstring for module in describe_uses(modules) for each in module.structs
    }


def test_the_spec_of_one_kind_is_called_so() -> None:
    found = described(
        ModuleDef(
            "apps.v1",
            "",
            structs=(StructDef("AppSpec", ()), StructDef("JobStatus", ())),
            kinds=(
                kind("App", field("spec", "AppSpec")),
                kind("Job", field("status", "JobStatus | None")),
            ),
        )
    )
    assert found == {"AppSpec": "The spec of an App.", "JobStatus": "The status of a Job."}


def test_other_types_name_the_fields_that_use_them() -> None:
    port = StructDef("Port", ())
    host = StructDef("Host", (field("ports", "dict[str, list[Port]]"), field("admin", "Port")))
    here = ModuleDef("net.v1", "", structs=(port, host))
    there = ModuleDef("apps.v1", "", structs=(StructDef("App", (field("port", "net_v1.Port"),)),))

    found = described(there, here)

    assert found["Port"] == "Used in Host.ports, Host.admin and apps.v1.App.port."
    assert found["Host"] == found["App"] == ""


def test_a_description_is_kept() -> None:
    spec = StructDef("AppSpec", (), "What to run.")
    module = ModuleDef("a.v1", "", structs=(spec,), kinds=(kind("App", field("spec", "AppSpec")),))
    assert described(module) == {"AppSpec": "What to run."}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ([], ""),
        (["A.a"], "Used in A.a."),
        (["A.a", "B.b"], "Used in A.a and B.b."),
        (["A.a", "B.b", "C.c"], "Used in A.a, B.b and C.c."),
        (["A.a", "B.b", "C.c", "D.d", "E.e"], "Used in A.a, B.b, C.c and 2 more."),
    ],
)
def test_only_the_first_uses_are_named(fields: list[str], sentence: str) -> None:
    assert used_in(fields) == sentence
