"""The rows of ``kubernetes.json``: the built-in API of Kubernetes.

The file has one row per line, sorted, without default values. Its parts:

``version``
    The release of Kubernetes.
``groupVersions``
    `GroupVersion`: the served ones in the server's order of preference, then others that only Go's
    types have.
``packages``
    `Package`: the Go packages of the types. The ``id`` is the prefix of type names:
    ``core/v1.Pod``, ``meta/v1.ObjectMeta``, ``resource.Quantity``, ``types.UID``.
``kinds``
    `Kind`: objects with an ``apiVersion`` and a ``kind`` on the wire, and their structs. Lists and
    options are kinds, too.
``resources``
    `Resource`: the served resources, with all feature gates enabled, and their subresources.
``types``
    `NamedType`: named types that are not structs, such as ``core/v1.PodPhase``.
``structs``
    `Struct`, each with its `Field` rows in Go's order.

Types are written as in Go: ``string``, ``bool``, ``int``, ``int32``, ``int64``,
``float64``, ``bytes`` (base64 in JSON), ``any``, a name with a dot (a struct or a named type),
``*T``, ``[]T``, ``map[K]T``. `parse_type` parses them.
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
    """The base class of rows: default values are omitted, unknown fields are errors."""


class GroupVersion(Row, frozen=True, kw_only=True):
    """A group and version; ``package`` has its Go types. Only served ones have resources."""

    group: str
    version: str
    package: str
    served: bool = False


class Package(Row, frozen=True, kw_only=True):
    """A Go package; without group and version if it has no kinds, as ``intstr``."""

    id: str
    go: str
    group: str | None = None
    version: str | None = None


class Kind(Row, frozen=True, kw_only=True):
    """The name of a struct in a group-version."""

    group: str
    version: str
    kind: str
    struct: str


class Subresource(Row, frozen=True, kw_only=True):
    """A subresource. Its kind may be in another group, as ``deployments/scale``."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


class Resource(Row, frozen=True, kw_only=True):
    """A resource of the server; ``kind`` is in the same group-version."""

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
    """A named type: its underlying ``type``, and the values that the server's schemas allow.

    A list that is a ``message`` has its own protobuf message with ``items = 1``; other lists are
    repeated fields.
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
        inline: In JSON, the fields of this struct replace it; in protobuf it is a field.
        omitempty: Go omits it in JSON if it is false, 0, "", nil or of length 0.
        omitzero: Go omits it in JSON if it is the zero value, also of a struct.
        required: The server's schema requires it; only known for served group-versions.
        enum: The values that the server's schema allows, for a list or map those of elements.
        number: The number in protobuf; 0 if protobuf does not have the field.
        wire: The wire type in protobuf, of each element if repeated; empty without a number.
        repeated: In protobuf there is a record for each element or map entry.
        proto: The name in protobuf; empty if it is the same as in JSON.
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

    If it is ``custom``, it implements its own JSON in Go, and ``fields`` only describe protobuf.
    Without ``message``, protobuf does not have it.
    """

    id: str
    custom: bool = False
    message: bool = False
    fields: tuple[Field, ...]


class Table(Row, frozen=True, kw_only=True, dict=True):
    """The whole file, with lookups."""

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
    """A parsed type: a ``name``, or the type it is ``of``; a map also has a ``key``."""

    form: Literal["name", "pointer", "list", "map"]
    name: str = ""
    key: TypeExpression | None = None
    of: TypeExpression | None = None


def parse_type(text: str) -> TypeExpression:
    """Parse a type: ``[]*core/v1.Pod`` is a list of pointers to a name."""
    if text.startswith("*"):
        return TypeExpression("pointer", of=parse_type(text[1:]))
    if text.startswith("[]"):
        return TypeExpression("list", of=parse_type(text[2:]))
    if text.startswith("map["):
        # Keys are strings in JSON, so they have no brackets.
        key, _, value = text.removeprefix("map[").partition("]")
        return TypeExpression("map", key=parse_type(key), of=parse_type(value))
    return TypeExpression("name", name=text)


def innermost(text: str) -> str:
    """Return the innermost name: ``core/v1.Pod`` for ``map[string][]*core/v1.Pod``."""
    expression = parse_type(text)
    while expression.of is not None:
        expression = expression.of
    return expression.name


def load(path: Path = PATH) -> Table:
    """Load the committed table, or the one at ``path``.

    Raises:
        msgspec.ValidationError: The file is invalid; the message names the place.
    """
    return msgspec.json.decode(path.read_bytes(), type=Table)
