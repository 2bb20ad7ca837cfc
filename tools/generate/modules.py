"""Converts the table to a `ModuleDef` for each group-version that has models."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from kinform.generate import EnumDef, FieldDef, KindDef, ModuleDef, StructDef, used_in
from kinform.generate._names import attribute_name, distinct
from tools.generate.descriptions import STRUCTS, description_of
from tools.generate.go_types import TypeReader, innermost_structs
from tools.schema.table import Field, Kind, Resource, Struct, Table, innermost

META = "meta/v1"
_TYPE_META = "meta/v1.TypeMeta"
# Go's factory still has this group, but no server serves it, so its resources are listed here.
_NOT_SERVED = {
    ("extensions", "v1beta1"): {
        "DaemonSet": "daemonsets",
        "Deployment": "deployments",
        "Ingress": "ingresses",
        "NetworkPolicy": "networkpolicies",
        "ReplicaSet": "replicasets",
    }
}
_LIST_AND_WATCH = ("get", "list", "watch")
# Kinds of meta/v1 that are query parameters or watch frames, or have a class in kinform.
_NOT_MODELS = frozenset(
    {
        "CreateOptions",
        "GetOptions",
        "ListOptions",
        "PartialObjectMetadata",
        "PatchOptions",
        "TableOptions",
        "UpdateOptions",
        "WatchEvent",
    }
)


class Catalogue:
    """The parts of the table that become Python."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @cached_property
    def packages(self) -> list[str]:
        """In the server's order of preference; those that no server serves come last."""
        served = [each.package for each in self.table.group_versions if each.served]
        return [*served, *("/".join(each) for each in _NOT_SERVED), META]

    @cached_property
    def resources(self) -> dict[tuple[str, str, str], Resource]:
        """By group, version and kind."""
        found = {(each.group, each.version, each.kind): each for each in self.table.resources}
        for (group, version), plurals in _NOT_SERVED.items():
            for kind, plural in plurals.items():
                found[group, version, kind] = Resource(
                    group=group,
                    version=version,
                    plural=plural,
                    singular=kind.lower(),
                    kind=kind,
                    namespaced=True,
                    verbs=_LIST_AND_WATCH,
                )
        return found

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """All kinds with a class, by the id of their struct. Lists have none: see `ObjectList`."""
        return {
            kind.struct: kind
            for kind in self.table.kinds
            if _package(kind.struct) in self.packages
            and kind.kind not in _NOT_MODELS
            and not kind.kind.endswith("List")
        }

    @cached_property
    def structs(self) -> set[str]:
        """The ids of the structs that kinds consist of, except kinds themselves."""
        found: set[str] = set()
        waiting = list(self.kinds)
        while waiting:
            for field in self.fields(waiting.pop()):
                new = innermost_structs(self.table, field.type) - found
                found |= new
                waiting.extend(new)
        return found - self.kinds.keys()

    @cached_property
    def enum_uses(self) -> dict[str, list[str]]:
        """The fields that take the values of an enum, such as ``core/v1.PodStatus.phase``."""
        found: dict[str, list[str]] = {}
        for struct in sorted({*self.kinds, *self.structs}):
            for field in self.fields(struct):
                name = innermost(field.type)
                if name in self.table.type_by_id:
                    attribute = attribute_name(field.json, of_kind=struct in self.kinds)
                    found.setdefault(name, []).append(f"{struct}.{attribute}")
        return found

    def fields(self, struct: str) -> Iterator[Field]:
        """Yield the fields as in JSON: inlined structs are replaced by their fields."""
        row: Struct = self.table.struct_by_id[struct]
        for field in row.fields:
            if not field.inline:
                yield field
            elif field.type != _TYPE_META:
                yield from self.fields(field.type)


def module_of(package: str) -> str:
    """``core/v1`` → ``core.v1``."""
    return package.replace("/", ".")


def alias_of(package: str) -> str:
    """Return the name in other modules: ``core/v1`` → ``core_v1``."""
    return package.replace("/", "_")


def modules(catalogue: Catalogue) -> Iterator[ModuleDef]:
    for package in catalogue.packages:
        yield _Module(catalogue, package).build()


class _Module:
    """Builds the `ModuleDef` of one group-version."""

    def __init__(self, catalogue: Catalogue, package: str) -> None:
        self._catalogue = catalogue
        self._package = package
        self._others: set[str] = set()
        self._types = TypeReader(catalogue.table, self._name_of)

    def build(self) -> ModuleDef:
        kinds = tuple(self._kind(*each) for each in sorted(self._own(self._catalogue.kinds)))
        structs = tuple(self._struct(struct) for struct in sorted(self._catalogue.structs))
        group, _, version = self._package.partition("/")
        release = self._catalogue.table.version
        return ModuleDef(
            name=module_of(self._package),
            docstring=f"{group} {version} of Kubernetes {release}.\n\n"
            "Generated by tools/generate; do not edit (`make generate`).",
            imports=tuple(_import_line(other) for other in sorted(self._others)),
            enums=tuple(self._enums()),
            structs=tuple(struct for struct in structs if struct is not None),
            kinds=kinds,
        )

    def _own(self, kinds: dict[str, Kind]) -> Iterator[tuple[str, Kind]]:
        return ((id_, kind) for id_, kind in kinds.items() if _package(id_) == self._package)

    def _name_of(self, struct: str) -> str:
        package, _, name = struct.rpartition(".")
        if package == self._package:
            return name
        if package not in self._catalogue.packages:
            raise LookupError(f"{self._package} needs {struct}, which has no generated module")
        self._others.add(package)
        return f"{alias_of(package)}.{name}"

    def _enums(self) -> Iterator[EnumDef]:
        for named in self._catalogue.table.types:
            if named.enum and _package(named.id) == self._package:
                uses = self._catalogue.enum_uses.get(named.id, [])
                about = used_in([self._in_module(use) for use in uses], before="Values of")
                yield EnumDef(named.id.rpartition(".")[2], named.enum, about)

    def _in_module(self, field: str) -> str:
        """Return a field as code in this module would name it."""
        package, _, name = field.partition(".")
        return name if package == self._package else f"{module_of(package)}.{name}"

    def _struct(self, id_: str) -> StructDef | None:
        if _package(id_) != self._package:
            return None
        return StructDef(id_.rpartition(".")[2], self._fields(id_), STRUCTS.get(id_, ""))

    def _kind(self, id_: str, kind: Kind) -> KindDef:
        resource = self._catalogue.resources.get((kind.group, kind.version, kind.kind))
        return KindDef(
            name=id_.rpartition(".")[2],
            # Every group has these options; clients send "v1".
            group="" if kind.kind == "DeleteOptions" else kind.group,
            version=kind.version,
            kind=kind.kind,
            plural=resource.plural if resource else "",
            namespaced=resource.namespaced if resource else False,
            fields=self._fields(id_, of_kind=True),
            description=description_of(kind.group, kind.kind),
        )

    def _fields(self, id_: str, *, of_kind: bool = False) -> tuple[FieldDef, ...]:
        fields = list(self._catalogue.fields(id_))
        names = distinct(attribute_name(field.json, of_kind=of_kind) for field in fields)
        return tuple(
            FieldDef(field.json, name, *self._types.field(field.type))
            for field, name in zip(fields, names, strict=True)
        )


def _package(id_: str) -> str:
    return id_.rpartition(".")[0]


def _import_line(package: str) -> str:
    group, _, version = package.partition("/")
    return f"from kinform.models.{group} import {version} as {alias_of(package)}"
