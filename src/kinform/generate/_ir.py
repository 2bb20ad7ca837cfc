"""What Python a schema becomes: names and source text, no longer Go or OpenAPI, not yet a file.

Readers of schemas (the built-in kinds, a CRD) write these; the renderer turns each `ModuleDef`
into one module. Everything in here is text that goes into the file as it is, so who builds one
has made the names safe already (`kinform.generate._names`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldDef:
    """One field of a struct or of a kind.

    Attributes:
        json: The name on the wire: ``clusterIP``.
        attribute: The name in Python: ``cluster_ip``.
        annotation: Its type, as source: ``list[Container]``, ``Probe | None``, ``Any``.
        default: The value of an absent one, as source: ``""``, ``0``, ``[]``, ``None``. What
            ends in ``()`` is called for every object: ``ResourceRequirements()``.
    """

    json: str
    attribute: str
    annotation: str
    default: str


@dataclass(frozen=True, slots=True)
class StructDef:
    """A part of a kind: a `kinform.objects.Model`."""

    name: str
    fields: tuple[FieldDef, ...]


@dataclass(frozen=True, slots=True)
class EnumDef:
    """The known values of a string, for the constants alone: fields are plain strings."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KindDef:
    """What can stand alone: a `kinform.objects.TypedObject`. ``apiVersion`` and ``kind`` are no
    fields of it. Without a ``plural`` it is no resource, as an option or a review may be."""

    name: str
    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    fields: tuple[FieldDef, ...]


@dataclass(frozen=True, slots=True)
class ModuleDef:
    """One file.

    Attributes:
        name: Below the package that it goes into: ``core.v1``.
        docstring: Without quotes; of several lines, the first stands alone.
        imports: Lines for other modules that annotations name, such as
            ``from kinform.models.meta import v1 as meta_v1``. What comes from the standard
            library, msgspec and `kinform.objects` the renderer finds by itself.
        structs: In any order; the renderer puts those that others call for defaults first.
    """

    name: str
    docstring: str
    imports: tuple[str, ...] = ()
    enums: tuple[EnumDef, ...] = ()
    structs: tuple[StructDef, ...] = ()
    kinds: tuple[KindDef, ...] = ()
