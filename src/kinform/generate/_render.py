"""Renders a `ModuleDef` as source code, formatted as by a formatter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kinform.generate._docstrings import docstring
from kinform.generate._ir import EnumDef, FieldDef, KindDef, ModuleDef, StructDef
from kinform.generate._layout import (
    bracketed,
    declared,
    from_import,
    listed,
    member_key,
    parameter,
    quoted,
)
from kinform.generate._names import distinct, is_camel_of, member_name

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*")
_OBJECTS = ("Always", "FieldsV1", "MicroTime", "Quantity")


def render_module(module: ModuleDef, *, inside_kinform: bool = False) -> str:
    """Return the whole file.

    Args:
        module: The content.
        inside_kinform: Whether to sort imports of kinform separately from those of other
            libraries, as for files of kinform itself.
    """
    bodies: list[list[str]] = [
        *([*_enum(enum)] for enum in module.enums),
        *([*_struct(struct)] for struct in in_order(module.structs)),
        *([*_kind(kind)] for kind in module.kinds),
    ]
    head = [*docstring(module.docstring), ""]
    ignored = []
    if not all(line.isascii() for body in bodies for line in body):
        # Descriptions may be written in any script, and wide characters count twice. RUF100
        # complains where these rules are not enabled.
        ignored += ["E501", "RUF001", "RUF002", "RUF100"]
    if any(line.endswith((" = []", " = {}")) for body in bodies for line in body):
        ignored += ["RUF012"]  # msgspec copies empty defaults, which a linter cannot know
    if ignored:
        head += [f"# ruff: noqa: {', '.join(ignored)}", ""]
    head += ["from __future__ import annotations", ""]
    head.extend(_imports(module, bodies, apart=inside_kinform))
    head.extend(listed("__all__ = ", map(quoted, _exported(module))))
    text = "\n".join(head)
    for body in bodies:
        text += "\n\n\n" + "\n".join(body)
    return text + "\n"


def in_order(structs: Sequence[StructDef]) -> list[StructDef]:
    """Sort structs by name, but each after those that its defaults use."""
    by_name = {struct.name: struct for struct in sorted(structs, key=lambda s: s.name)}
    ordered: dict[str, StructDef] = {}

    def visit(struct: StructDef) -> None:
        for field in struct.fields:
            needed = by_name.get(field.default.removesuffix("()"))
            if needed is not None and needed.name not in ordered:
                visit(needed)
        ordered[struct.name] = struct

    for struct in by_name.values():
        if struct.name not in ordered:
            visit(struct)
    return list(ordered.values())


def _exported(module: ModuleDef) -> list[str]:
    names = {each.name for each in module.enums}
    names |= {each.name for each in module.structs} | {each.name for each in module.kinds}
    return sorted(names, key=member_key)


# -- imports -----------------------------------------------------------------------------------


def _imports(module: ModuleDef, bodies: list[list[str]], *, apart: bool) -> Iterator[str]:
    """Yield the imports in sections, each followed by an empty line."""
    used = _used_names(module)
    standard = []
    if "datetime" in used:
        standard.append("from datetime import datetime")
    if module.enums:
        standard.append("from enum import StrEnum")
    if "Any" in used:
        standard.append("from typing import Any")
    msgspec_line = ["import msgspec"] if any(_calls_msgspec(body) for body in bodies) else []
    ours = [line for line in module.imports if _imported_name(line) in used]
    needed = {name for name in _OBJECTS if name in used}
    needed |= {"Model"} if module.structs else set()
    needed |= {"Part"} if any(kind.fields for kind in module.kinds) else set()
    needed |= {"TypedObject"} if module.kinds else set()
    if needed:
        ours.extend(from_import("kinform.objects", needed))
    sections = [standard, msgspec_line, ours] if apart else [standard, msgspec_line + ours]
    for section in filter(None, sections):
        yield from section
        yield ""


def _used_names(module: ModuleDef) -> set[str]:
    """Return the names in annotations and defaults; for ``meta_v1.ObjectMeta``, the module."""
    fields = [field for struct in module.structs for field in struct.fields]
    fields += [field for kind in module.kinds for field in kind.fields]
    text = " ".join(f"{field.annotation} {field.default}" for field in fields)
    return {found.partition(".")[0] for found in _IDENTIFIER.findall(text)}


def _imported_name(line: str) -> str:
    """Return the name that an import line defines."""
    return line.split()[-1]


def _calls_msgspec(body: list[str]) -> bool:
    return any(" = msgspec.field(" in line for line in body)


# -- enums and structs -------------------------------------------------------------------------


def _enum(enum: EnumDef) -> Iterator[str]:
    yield f"class {enum.name}(StrEnum):"
    members = [
        f"    {name} = {quoted(value)}"
        for name, value in zip(distinct(map(member_name, enum.values)), enum.values, strict=True)
    ]
    yield from _body(enum.docstring, members)


def _struct(struct: StructDef) -> Iterator[str]:
    yield f"class {struct.name}(Model):"
    fields = [line for field in struct.fields for line in _struct_field(field)]
    yield from _body(struct.docstring, fields)


def _body(text: str, lines: Sequence[str]) -> Iterator[str]:
    about = [*docstring(text, indent=1)]
    yield from about
    if about and lines:
        yield ""
    yield from lines
    if not about and not lines:
        yield "    pass"


def _struct_field(field: FieldDef) -> Iterator[str]:
    follows = is_camel_of(field.json, field.attribute)
    factory = _factory(field.default)
    if follows and (factory in ("", "list", "dict")):
        yield from declared(field.attribute, field.annotation, field.default)
    else:
        pieces = [f"default_factory={factory}" if factory else f"default={field.default}"]
        if not follows:
            pieces.append(f"name={quoted(field.json)}")
        yield from declared(field.attribute, field.annotation, "msgspec.field", pieces)
    yield from docstring(field.docstring, indent=1)


def _factory(default: str) -> str:
    """Return the factory for new values; empty if one value can be shared."""
    known = {"[]": "list", "{}": "dict"}
    return known.get(default) or (default[:-2] if default.endswith("()") else "")


# -- kinds -------------------------------------------------------------------------------------


def _kind(kind: KindDef) -> Iterator[str]:
    bases = [
        "TypedObject",
        f"group={quoted(kind.group)}",
        f"version={quoted(kind.version)}",
        f"kind={quoted(kind.kind)}",
    ]
    if kind.plural:
        bases += [f"plural={quoted(kind.plural)}", f"namespaced={kind.namespaced}"]
    yield from bracketed(f"class {kind.name}", bases, ":")
    parts = [line for field in kind.fields for line in _part(field)]
    yield from _body(_titled(kind), ["    __slots__ = ()", *parts])
    if kind.fields:
        yield ""
        yield from _constructor(kind.fields)


def _titled(kind: KindDef) -> str:
    return f"{kind.kind} ({kind.api_version}).\n\n{kind.description}"


def _part(field: FieldDef) -> Iterator[str]:
    pieces = [quoted(field.json), field.annotation.removesuffix(" | None")]
    if field.default != "None":
        pieces.append(_factory(field.default) or field.default)
    yield from declared(field.attribute, f"Part[{_unmarked(field.annotation)}]", "Part", pieces)
    yield from docstring(field.docstring, indent=1)


def _constructor(fields: Sequence[FieldDef]) -> Iterator[str]:
    yield "    def __init__("
    yield "        self,"
    yield "        *,"
    for field in fields:
        yield from _parameter(field)
    yield "    ) -> None:"
    passed = [f"{field.attribute}={field.attribute}" for field in fields]
    yield from bracketed("self._build", passed, "", indent=2)


def _parameter(field: FieldDef) -> Iterator[str]:
    annotation = _unmarked(field.annotation)
    if not _factory(field.default):
        yield from parameter(field.attribute, annotation, field.default)
    else:
        yield from parameter(field.attribute, f"{annotation} | None", "None")


def _unmarked(annotation: str) -> str:
    """Return the type of the value, without the ``Always`` marker."""
    return annotation[7:-1] if annotation.startswith("Always[") else annotation
