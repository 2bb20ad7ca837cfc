"""Collects ``tools/schema/kubernetes.json`` from Go's types and a real server.

    python -m tools.schema.collect           # writes the table
    python -m tools.schema.collect --check   # writes nothing; fails if it would differ

Go's types have names, types and protobuf numbers; the server has resources, required fields and
enums. `tools.schema.table` describes the rows. The same versions give the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

import msgspec

from tools.schema import reflection, server
from tools.schema.server import Property, Schemas, ServerFacts
from tools.schema.table import (
    PATH,
    Field,
    GroupVersion,
    NamedType,
    Package,
    Struct,
    Table,
    innermost,
)


def collect() -> Table:
    """Run the Go program, start a server, and combine their results.

    Raises:
        NotBuiltError: The program or the server has not been built yet.
    """
    facts = server.read_real_server()
    types = reflection.reflect()
    packages = tuple(msgspec.convert(types["packages"], list[Package]))
    found = tuple(msgspec.convert(types["structs"], list[Struct]))
    structs = _Annotated(packages, found, facts.schemas).structs()
    return msgspec.convert(
        {
            "version": facts.version,
            "groupVersions": _group_versions(packages, facts),
            "packages": packages,
            "kinds": types["kinds"],
            "resources": sorted(facts.resources, key=lambda r: (r.group, r.version, r.plural)),
            "types": _types(msgspec.convert(types["types"], list[NamedType]), structs),
            "structs": structs,
        },
        Table,
    )


def _group_versions(packages: Sequence[Package], facts: ServerFacts) -> list[GroupVersion]:
    by_name = {
        (package.group, package.version): package.id
        for package in packages
        if package.group is not None and package.version is not None
    }
    served = [
        GroupVersion(
            group=group, version=version, package=by_name.pop((group, version)), served=True
        )
        for group, version in facts.group_versions
    ]
    others = [
        GroupVersion(group=str(group), version=str(version), package=package)
        for (group, version), package in sorted(by_name.items(), key=str)
    ]
    return served + others


def _types(types: Sequence[NamedType], structs: Sequence[Struct]) -> list[NamedType]:
    """Add the enums of their fields; structs that are not served have the same ones."""
    enums: dict[str, tuple[str, ...]] = {}
    for struct in structs:
        for field in struct.fields:
            if field.enum and enums.setdefault(innermost(field.type), field.enum) != field.enum:
                raise ValueError(
                    f"the enum of {struct.id}.{field.go} differs from that of its type"
                )
    return [msgspec.structs.replace(each, enum=enums.get(each.id, ())) for each in types]


class _Annotated:
    """Adds to structs what the schemas contain about their fields."""

    def __init__(
        self, packages: Sequence[Package], structs: Sequence[Struct], schemas: Schemas
    ) -> None:
        self._go = {package.id: package.go for package in packages}
        self._structs = {struct.id: struct for struct in structs}
        self._schemas = schemas
        self._known: dict[tuple[str, str], Property] = {}

    def structs(self) -> list[Struct]:
        for struct in self._structs.values():
            if (schema := self._schema(struct)) is not None:
                self._learn(struct, schema)
        return [
            msgspec.structs.replace(
                struct, fields=tuple(self._field(struct, field) for field in struct.fields)
            )
            for struct in self._structs.values()
        ]

    def _schema(self, struct: Struct) -> Mapping[str, Property] | None:
        """Return the schema ``io.k8s.api.core.v1.Pod`` for ``Pod`` in ``k8s.io/api/core/v1``."""
        package, _, name = struct.id.partition(".")
        host, *path = self._go[package].split("/")
        return self._schemas.get(".".join((*reversed(host.split(".")), *path, name)))

    def _learn(self, struct: Struct, schema: Mapping[str, Property]) -> None:
        for field in struct.fields:
            if field.inline:
                inner = self._structs[field.type.removeprefix("*")]
                # Structs that are only inlined have no schema of their own.
                if self._schema(inner) is None:
                    self._learn(inner, schema)
            elif (said := schema.get(field.json)) is not None and (
                self._known.setdefault((struct.id, field.go), said) != said
            ):
                raise ValueError(f"schemas differ about {struct.id}.{field.go}")

    def _field(self, struct: Struct, field: Field) -> Field:
        known = self._known.get((struct.id, field.go))
        if known is None:
            return field
        return msgspec.structs.replace(field, required=known.required, enum=known.enum)


def render(table: Table) -> str:
    """Return the file: one row per line, and one field per line within a struct."""
    parts = [f'"version":{_line(table.version)}']
    for name, rows in (
        ("groupVersions", table.group_versions),
        ("packages", table.packages),
        ("kinds", table.kinds),
        ("resources", table.resources),
        ("types", table.types),
    ):
        parts.append(f'"{name}":[\n' + ",\n".join(map(_line, rows)) + "\n]")
    parts.append('"structs":[\n' + ",\n".join(map(_struct, table.structs)) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _struct(struct: Struct) -> str:
    head = _line(msgspec.structs.replace(struct, fields=())).removesuffix("]}")
    return head + "".join(f"\n {_line(field)}," for field in struct.fields).removesuffix(",") + "]}"


def _line(row: object) -> str:
    return msgspec.json.encode(row).decode()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="collect", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args(argv)
    text = render(collect())
    if not arguments.check:
        PATH.write_text(text, encoding="utf-8")
        return 0
    if PATH.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PATH} is not up to date; run `python -m tools.schema.collect`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
