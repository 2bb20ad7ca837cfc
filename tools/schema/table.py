"""``kubernetes.json`` in, typed rows out: what the built-in API of Kubernetes is made of.

The file has one row per line, sorted, without what is at its default. Its parts:

``version``
    The release of Kubernetes that it tells about.
``groupVersions``
    `GroupVersion`: the served ones in the server's order of preference, then the others that the
    Go types still have.
``packages``
    `Package`: the Go packages that types live in. The ``id`` is what the names of types start
    with: ``core/v1.Pod``, ``meta/v1.ObjectMeta``, ``resource.Quantity``, ``types.UID``.
``kinds``
    `Kind`: what has an ``apiVersion`` and a ``kind`` on the wire, and its struct. Lists, options
    and the like are kinds, too.
``resources``
    `Resource`: what is served, with every gate open, and its subresources.
``types``
    `NamedType`: names for what is no struct, such as ``core/v1.PodPhase``.
``structs``
    `Struct`, each with its `Field` rows in Go's order.

A type is written as Go writes it: ``string``, ``bool``, ``int``, ``int32``, ``int64``,
``float64``, ``bytes`` (base64 in JSON), ``any``, a name with a dot (a struct or a named type),
``*T``, ``[]T``, ``map[K]T``. `parse_type` takes it apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

PATH = Path(__file__).parent / "kubernetes.json"

Wire = Literal["varint", "fixed64", "bytes"]


class Row(
    msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"
):
    """What all rows share: what is at its default is left out, and there is nothing else."""


class GroupVersion(Row, frozen=True, kw_only=True):
    """``package`` holds its Go types; a served one has resources."""

    group: str
    version: str
    package: str
    served: bool = False


class Package(Row, frozen=True, kw_only=True):
    """``group`` and ``version`` are ``None`` where only parts live, as in ``intstr``."""

    id: str
    go: str
    group: str | None = None
    version: str | None = None


class Kind(Row, frozen=True, kw_only=True):
    """A struct that goes by this name in this group-version."""

    group: str
    version: str
    kind: str
    struct: str


class Subresource(Row, frozen=True, kw_only=True):
    """Its kind can be of another group: ``deployments/scale`` is autoscaling/v1 Scale."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


class Resource(Row, frozen=True, kw_only=True):
    """A path of the server; ``kind`` is in the same group-version."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool = False
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()


class NamedType(Row, frozen=True, kw_only=True):
    """``type`` is what it is made of, ``enum`` the values that the server's schemas allow.

    A list that is a ``message`` has a protobuf message of its own, with ``items = 1``; as a plain
    list it would be repeated in place.
    """

    id: str
    type: str
    message: bool = False
    enum: tuple[str, ...] = ()


class Field(Row, frozen=True, kw_only=True):
    """A field of a struct, in JSON and in protobuf.

    Attributes:
        json: The name in JSON; empty if ``inline``, and in custom structs.
        go: The name in Go.
        inline: JSON has the fields of this struct in place of it; protobuf has it as a field.
        omitempty: Go leaves it out of JSON if it is false, 0, "", nil or of length 0.
        omitzero: Go leaves it out of JSON if it is the zero value; of structs, too.
        required: The server's schema demands it. Known for served group-versions only.
        enum: The values that the server's schema allows; of a list or a map, for its elements.
        number: In protobuf; 0 where protobuf has no such field.
        wire: How protobuf writes it, or each element of it; empty without a number.
        repeated: Protobuf has a record for each element, or for each entry of a map.
        proto: The name in protobuf; empty if it is the one in JSON.
    """

    json: str = ""
    go: str
    type: str
    inline: bool = False
    omitempty: bool = False
    omitzero: bool = False
    required: bool = False
    enum: tuple[str, ...] = ()
    number: int = 0
    wire: Wire | Literal[""] = ""
    repeated: bool = False
    proto: str = ""

    @property
    def is_pointer(self) -> bool:
        return self.type.startswith("*")

    @property
    def proto_name(self) -> str:
        return self.proto or self.json


class Struct(Row, frozen=True, kw_only=True):
    """A Go struct.

    If it is ``custom``, Go has code of its own for its JSON, and ``fields`` tell about protobuf
    alone. Without ``message`` there is no protobuf of it.
    """

    id: str
    custom: bool = False
    message: bool = False
    fields: tuple[Field, ...]


class Table(Row, frozen=True, kw_only=True, dict=True):
    """The whole file, and ways to find a row."""

    version: str
    group_versions: tuple[GroupVersion, ...]
    packages: tuple[Package, ...]
    kinds: tuple[Kind, ...]
    resources: tuple[Resource, ...]
    types: tuple[NamedType, ...]
    structs: tuple[Struct, ...]

    @cached_property
    def package_by_id(self) -> dict[str, Package]:
        return {package.id: package for package in self.packages}

    @cached_property
    def kind_by_name(self) -> dict[tuple[str, str, str], Kind]:
        """By group, version and kind."""
        return {(kind.group, kind.version, kind.kind): kind for kind in self.kinds}

    @cached_property
    def type_by_id(self) -> dict[str, NamedType]:
        return {named.id: named for named in self.types}

    @cached_property
    def struct_by_id(self) -> dict[str, Struct]:
        return {struct.id: struct for struct in self.structs}


@dataclass(frozen=True, slots=True)
class TypeExpression:
    """A type, taken apart: ``name`` of a ``name``, else what it is ``of``; a map has a ``key``."""

    form: Literal["name", "pointer", "list", "map"]
    name: str = ""
    key: TypeExpression | None = None
    of: TypeExpression | None = None


def parse_type(text: str) -> TypeExpression:
    """``[]*core/v1.Pod`` as a list of pointers to a name."""
    if text.startswith("*"):
        return TypeExpression("pointer", of=parse_type(text[1:]))
    if text.startswith("[]"):
        return TypeExpression("list", of=parse_type(text[2:]))
    if text.startswith("map["):
        # No key has brackets of its own: JSON has none but strings.
        key, _, value = text.removeprefix("map[").partition("]")
        return TypeExpression("map", key=parse_type(key), of=parse_type(value))
    return TypeExpression("name", name=text)


def innermost(text: str) -> str:
    """The name within: of ``map[string][]core/v1.Pod``, and of ``*core/v1.Pod``, the pod."""
    expression = parse_type(text)
    while expression.of is not None:
        expression = expression.of
    return expression.name


def load(path: Path = PATH) -> Table:
    """The committed table, or the one at ``path``.

    Raises:
        msgspec.ValidationError: It does not have this shape; says where.
    """
    return msgspec.json.decode(path.read_bytes(), type=Table)
