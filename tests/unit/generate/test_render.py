"""Rendered modules are accepted by linters, type checkers and Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kinform.generate import EnumDef, FieldDef, KindDef, ModuleDef, StructDef, render_module
from kinform.generate._render import in_order

META = "from kinform.models.meta import v1 as meta_v1"


def loaded(source: str) -> ModuleType:
    module = ModuleType("rendered")
    sys.modules["rendered"] = module
    exec(compile(source, "rendered.py", "exec"), vars(module))
    return module


def struct_of(*fields: FieldDef, name: str = "Sample") -> ModuleDef:
    return ModuleDef("sample.v1", "A sample.", structs=(StructDef(name, fields),))


def line_of(*field: str) -> str:
    """The line, or the lines, of the only field of a struct."""
    source = render_module(struct_of(FieldDef(*field)))
    return source.partition("class Sample(Model):\n")[2].rstrip("\n")


@pytest.mark.parametrize(
    ("field", "line"),
    [
        (("name", "name", "str", '""'), '    name: str = ""'),
        (("nodePort", "node_port", "int", "0"), "    node_port: int = 0"),
        (("tty", "tty", "bool", "False"), "    tty: bool = False"),
        (("weight", "weight", "float", "0.0"), "    weight: float = 0.0"),
        (("data", "data", "bytes", 'b""'), '    data: bytes = b""'),
        (("args", "args", "list[str]", "[]"), "    args: list[str] = []"),
        (("labels", "labels", "dict[str, str]", "{}"), "    labels: dict[str, str] = {}"),
        (("probe", "probe", "Sample | None", "None"), "    probe: Sample | None = None"),
        (("port", "port", "int | str", "0"), "    port: int | str = 0"),
        (("from", "from_", "Any", "None"), "    from_: Any = None"),
        (
            ("part", "part", "Other", "Other()"),
            "    part: Other = msgspec.field(default_factory=Other)",
        ),
        (
            ("clusterIP", "cluster_ip", "str", '""'),
            '    cluster_ip: str = msgspec.field(default="", name="clusterIP")',
        ),
        (
            ("podIPs", "pod_ips", "list[str]", "[]"),
            '    pod_ips: list[str] = msgspec.field(default_factory=list, name="podIPs")',
        ),
        (
            ("partURL", "part_url", "Other", "Other()"),
            '    part_url: Other = msgspec.field(default_factory=Other, name="partURL")',
        ),
        (
            ('a"b\\', "a_b", "str", '""'),
            '    a_b: str = msgspec.field(default="", name="a\\"b\\\\")',
        ),
    ],
)
def test_a_field_of_a_struct_is_one_line(field: tuple[str, ...], line: str) -> None:
    assert line_of(*field) == line


def rich_module(*, stem: str = "") -> ModuleDef:
    """Every shape there is; with a ``stem``, names are so long that lines break."""
    part = f"Part{stem.title().replace('_', '')}Struct"

    def fields(*, prefix: str) -> tuple[FieldDef, ...]:
        shapes = [
            ("text", "str", '""'),
            ("count", "int", "0"),
            ("flag", "bool", "False"),
            ("ratio", "float", "0.0"),
            ("blob", "bytes", 'b""'),
            ("names", "list[str]", "[]"),
            ("pieces", f"list[{part}]", "[]"),
            ("byName", f"dict[str, {part}]", "{}"),
            ("maybe", f"{part} | None", "None"),
            ("fresh", part, f"{part}()"),
            ("when", "datetime | None", "None"),
            ("precisely", "MicroTime | None", "None"),
            ("amount", "Quantity | None", "None"),
            ("amounts", "dict[str, Quantity]", "{}"),
            ("owned", "FieldsV1 | None", "None"),
            ("port", "int | str", "0"),
            ("maybePort", "int | str | None", "None"),
            ("anything", "Any", "None"),
            ("either", f"{part} | list[{part}] | None", "None"),
            ("meta", "meta_v1.ObjectMeta", "meta_v1.ObjectMeta()"),
            ("someIP", "str", '""'),
            ("someURLs", "list[str]", "[]"),
        ]
        return tuple(
            FieldDef(f"{prefix}{json}", f"{prefix}{attribute(json)}", annotation, default)
            for json, annotation, default in shapes
        )

    def attribute(json: str) -> str:
        known = {"byName": "by_name", "maybePort": "maybe_port", "someIP": "some_ip"}
        return known.get(json, "some_urls" if json == "someURLs" else json)

    return ModuleDef(
        name="sample.v1",
        docstring="A sample.\n\nOf everything.",
        imports=(META, "from kinform.models.core import v1 as core_v1"),
        enums=(EnumDef("Color", ("Red", "DarkBlue", "", "*", "red")),),
        structs=(
            StructDef("Sample", fields(prefix=stem)),
            StructDef(part, (FieldDef("name", "name", "str", '""'),)),
            StructDef("Empty", ()),
        ),
        kinds=(
            KindDef(
                f"Thing{stem.title().replace('_', '')}",
                "example.com",
                "v1",
                "Thing",
                "things",
                True,
                fields(prefix=stem),
            ),
            KindDef("Bare", "example.com", "v1", "Bare", "", False, ()),
        ),
    )


STEMS = [
    "",
    "somewhat_long_",
    "quite_a_bit_longer_than_most_",
    "so_long_that_hardly_anything_fits_",
]


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("inside", [True, False])
def test_the_source_is_as_ruff_would_leave_it(tmp_path: Path, stem: str, inside: bool) -> None:
    path = tmp_path / "sample.py"
    path.write_text(render_module(rich_module(stem=stem), inside_kinform=inside))
    party = "known-first-party" if inside else "known-third-party"
    options = ["--isolated", "--line-length=100"]
    for command in (
        ["format", "--diff", *options],
        [
            "check",
            *options,
            "--select=E,F,W,I,B,UP,C4,PIE,RUF,SIM,N,RET,TID",
            f"--config=lint.isort.{party}=['kinform']",
        ],
    ):
        ruff = [sys.executable, "-m", "ruff", *command, str(path)]
        answer = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stdout + answer.stderr


def test_every_shape_can_be_made_and_travels() -> None:
    module: Any = loaded(render_module(rich_module()))
    sample = module.Sample(
        text="t", names=["a"], pieces=[module.PartStruct(name="p")], some_ip="10.0.0.1", port="http"
    )
    tree = {"text": "t", "names": ["a"], "pieces": [{"name": "p"}], "port": "http"}
    assert sample.to_dict() == {**tree, "someIP": "10.0.0.1"}
    assert module.Sample.from_dict(sample.to_dict()) == sample
    assert module.Sample().fresh == module.PartStruct()
    assert module.Sample().fresh is not module.Sample().fresh
    assert list(module.Color) == ["Red", "DarkBlue", "", "*", "red"]
    assert [color.name for color in module.Color] == ["RED", "DARK_BLUE", "EMPTY", "ALL", "RED_2"]


def test_a_kind_knows_its_resource_and_takes_its_parts_by_keyword() -> None:
    module: Any = loaded(render_module(rich_module()))
    assert str(module.Thing.resource.gvr) == "example.com/v1/things"
    assert module.Bare.resource is None
    thing = module.Thing(text="t", names=["a"], maybe=module.PartStruct(name="p"))
    assert thing.to_dict() == {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "text": "t",
        "names": ["a"],
        "maybe": {"name": "p"},
    }
    assert module.Thing().names == []
    assert module.Thing().maybe is None


def test_only_what_is_used_is_imported() -> None:
    source = render_module(struct_of(FieldDef("name", "name", "str", '""')))
    assert [line for line in source.splitlines() if "import" in line] == [
        "from __future__ import annotations",
        "from kinform.objects import Model",
    ]


def test_a_struct_comes_after_those_that_its_defaults_are_made_of() -> None:
    first = StructDef("A", (FieldDef("b", "b", "B", "B()"),))
    second = StructDef(
        "B", (FieldDef("c", "c", "C", "C()"), FieldDef("a", "a", "A | None", "None"))
    )
    third = StructDef("C", ())
    assert [each.name for each in in_order([first, second, third])] == ["C", "B", "A"]


def test_the_same_description_in_another_order_gives_the_same_structs() -> None:
    structs = [StructDef(name, ()) for name in "BAC"]
    assert in_order(structs) == in_order(structs[::-1])
