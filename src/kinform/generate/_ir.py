"""The intermediate representation between schemas and Python source: names and source text.

Schema readers (for built-in kinds and CRDs) create it; the renderer turns each `ModuleDef` into
one module. Names and types are copied into the file unchanged, so the readers must provide safe
ones (`kinform.generate._names`). Docstrings are escaped by the renderer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldDef:
    """One field of a struct or of a kind.

    Attributes:
        json: The name on the wire: ``clusterIP``.
        attribute: The name in Python: ``cluster_ip``.
        annotation: The type, as source: ``list[Container]``, ``Probe | None``, ``Any``.
        default: The value if absent, as source: ``""``, ``0``, ``[]``, ``None``. A default that
            ends in ``()`` is called for every object: ``ResourceRequirements()``.
        docstring: Any text; the renderer escapes it.
    """

    json: str
    attribute: str
    annotation: str
    default: str
    docstring: str = ""


@dataclass(frozen=True, slots=True)
class StructDef:
    """A part of a kind: a `kinform.objects.Model`."""

    name: str
    fields: tuple[FieldDef, ...]
    docstring: str = ""


@dataclass(frozen=True, slots=True)
class EnumDef:
    """The known values of a string, as constants only: the fields are plain strings."""

    name: str
    values: tuple[str, ...]
    docstring: str = ""


@dataclass(frozen=True, slots=True)
class KindDef:
    """A top-level object: a `kinform.objects.TypedObject`.

    ``apiVersion`` and ``kind`` are not fields. Without a ``plural`` it is not a resource, as for
    some options and reviews. The ``description`` becomes a part of the docstrings of the class
    and of its accessor.
    """

    name: str
    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    fields: tuple[FieldDef, ...]
    description: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True, slots=True)
class ModuleDef:
    """One file.

    Attributes:
        name: The module path below its package: ``core.v1``.
        docstring: Without quotes; if it has several lines, the first is the summary.
        imports: Import lines for other modules in annotations, such as
            ``from kinform.models.meta import v1 as meta_v1``. The renderer adds imports from
            the standard library, msgspec and `kinform.objects`.
        structs: In any order; the renderer sorts those that others use as defaults first.
    """

    name: str
    docstring: str
    imports: tuple[str, ...] = ()
    enums: tuple[EnumDef, ...] = ()
    structs: tuple[StructDef, ...] = ()
    kinds: tuple[KindDef, ...] = ()
