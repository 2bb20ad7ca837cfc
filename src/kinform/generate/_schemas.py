"""Reads a kind's OpenAPI v3 schema: its class, and the structs and enums below it.

Only names, types and descriptions are used; the server does all validation. Fields without a
matching Python type become ``Any``, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinform.generate._class_names import ClassNames
from kinform.generate._crd import CustomKind, Json, Warn
from kinform.generate._ir import EnumDef, FieldDef, KindDef, StructDef
from kinform.generate._names import attribute_name, distinct

METADATA = FieldDef("metadata", "metadata", "meta_v1.ObjectMeta", "meta_v1.ObjectMeta()")

_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")
_NEVER_ABSENT = ("spec", "status")
_DEEPEST = 60
_COMBINED = ("allOf", "anyOf", "oneOf", "not")
# Types without properties and items. Their required zero values are sent explicitly: a struct
# omits fields that equal a plain default, which the server would reject as missing.
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_UNUSABLE = re.compile(r'["\\\x00-\x1f]')
_ZEROS = {"str": '""', "int": "0", "float": "0.0", "bool": "False"}


@dataclass(frozen=True, slots=True)
class _Type:
    """A type as source, and the value of an absent required field of that type.

    Attributes:
        zero: The value; ``None`` if even a required field may be ``None``.
        is_container: Whether an absent field reads as an empty container, required or not.
    """

    text: str
    zero: str = "None"
    is_container: bool = False


_ANY = _Type("Any")


class SchemaReader:
    """Reads the kinds of one module and collects the results in its attributes.

    Args:
        names: The class names of the module.
        warn: Receives a warning for each field that becomes ``Any`` for lack of a better type.
    """

    def __init__(self, names: ClassNames, warn: Warn) -> None:
        self.enums: list[EnumDef] = []
        self.structs: list[StructDef] = []
        self.references: dict[str, _Type] = {}
        self._names = names
        self._warn = warn

    def read(self, kind: CustomKind) -> KindDef:
        """Return the class of the kind; its structs and enums are added to the module."""
        reading = _Reading(self, kind, self._names, self._warn)
        return KindDef(
            name=self._names.of_kind(kind.kind),
            group=kind.gvr.group,
            version=kind.gvr.version,
            kind=kind.kind,
            plural=kind.gvr.resource,
            namespaced=kind.namespaced,
            fields=(METADATA, *reading.parts()),
            description=reading.description(),
        )


class _Reading:
    """The traversal of one kind's schema."""

    def __init__(
        self, module: SchemaReader, kind: CustomKind, names: ClassNames, warn: Warn
    ) -> None:
        self._module = module
        self._kind = kind
        self._names = names
        self._tell = warn
        self._open_schemas: list[int] = []
        self._open_references: list[str] = []

    def description(self) -> str:
        """Return the description of the kind itself."""
        return _description(self._resolved(self._kind.schema))

    def parts(self) -> tuple[FieldDef, ...]:
        """Return the top-level fields, except those that every object has."""
        schema = self._resolved(self._kind.schema)
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            if not schema:
                self._warn((), "the definition has no schema; spec and status are")
            # No known fields: spec and status are attributes, all others are in to_dict().
            return tuple(FieldDef(name, name, "Any", "dict()") for name in _NEVER_ABSENT)
        own = {name: each for name, each in properties.items() if name not in _OF_EVERY_OBJECT}
        required = {*_required(schema), *_NEVER_ABSENT}
        return self._fields(own, required, (), of_kind=True)

    def _warn(self, path: Sequence[str], why: str) -> None:
        where = f" {'.'.join(path)}" if path else ""
        self._tell(f"{self._kind}{where}: {why} typed as Any")

    def _any(self, path: Sequence[str], why: str) -> _Type:
        self._warn(path, f"{why};")
        return _ANY

    # -- fields ------------------------------------------------------------------------------

    def _fields(
        self,
        properties: Mapping[Any, Any],
        required: Collection[str],
        path: tuple[str, ...],
        *,
        of_kind: bool = False,
    ) -> tuple[FieldDef, ...]:
        named = []
        for name, schema in properties.items():
            if isinstance(name, str) and _UNUSABLE.search(name):
                # A struct cannot have such a field; untyped objects keep it.
                self._tell(f"{self._kind}: a field is called {name!r}; left out")
            elif isinstance(name, str) and name:
                named.append((name, schema))
            else:
                # YAML reads keys such as `on:` and `404:` as other types, but JSON only has text.
                where = f"a field of {'.'.join(path)}" if path else "a field"
                self._tell(f"{self._kind}: {where} is called {name!r}; put it in quotes; left out")
        # Sorted by name as on servers, so that a file and a cluster give the same package.
        named.sort(key=lambda pair: pair[0])
        attributes = distinct(attribute_name(name, of_kind=of_kind) for name, _ in named)
        return tuple(
            self._field(name, attribute, schema, (*path, name), is_required=name in required)
            for (name, schema), attribute in zip(named, attributes, strict=True)
        )

    def _field(
        self, name: str, attribute: str, schema: Any, path: tuple[str, ...], *, is_required: bool
    ) -> FieldDef:
        found = self._type(schema, path)
        is_part = path == (name,) and name in _NEVER_ABSENT
        if found is _ANY:
            default = "dict()" if is_part else "None"
            return FieldDef(name, attribute, "Any", default, _description(schema))
        nullable = _is_nullable(schema) and not is_part
        has_zero = found.is_container or (is_required and not nullable)
        default = found.zero if has_zero else "None"
        optional = nullable or default == "None"
        text = f"{found.text} | None" if optional else found.text
        if is_required and not optional and not is_part:
            # The server requires the field even if it is empty.
            text = f"Always[{text}]"
        return FieldDef(name, attribute, text, default, _description(schema))

    # -- types -------------------------------------------------------------------------------

    def _type(self, schema: Any, path: tuple[str, ...]) -> _Type:
        if not isinstance(schema, Mapping):
            return self._any(path, "its schema is not a mapping")
        if id(schema) in self._open_schemas:
            # Possible with an alias in YAML.
            return self._any(path, "its schema contains itself")
        if len(self._open_schemas) == _DEEPEST:
            return self._any(path[:8], f"its schema is more than {_DEEPEST} levels deep")
        self._open_schemas.append(id(schema))
        found = self._known_type(schema, path)
        self._open_schemas.pop()
        return found

    def _known_type(self, schema: Json, path: tuple[str, ...]) -> _Type:
        reference = _reference(schema)
        if reference is not None:
            return self._referred(reference, path)
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return _Type("int | str", "0")
        if schema.get("x-kubernetes-embedded-resource"):
            return _ANY
        kind = schema.get("type")
        contradiction = _contradiction(schema, kind)
        if contradiction:
            return self._any(path, contradiction)
        if kind == "array":
            return self._array(schema, path)
        if kind == "object" or (kind is None and schema.get("properties")):
            return self._object(schema, path)
        if isinstance(kind, str) and kind in _SCALARS:
            return self._scalar(schema, kind, path)
        return self._untyped(schema, path)

    def _untyped(self, schema: Json, path: tuple[str, ...]) -> _Type:
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return _ANY
        kind = schema.get("type")
        if kind is not None:
            return self._any(path, f"its type is {kind!r}")
        combined = [each for each in _COMBINED if each in schema]
        if combined:
            return self._any(path, f"{' and '.join(combined)} without a type")
        return self._any(path, "its schema has no type")

    def _scalar(self, schema: Json, kind: str, path: tuple[str, ...]) -> _Type:
        if kind == "string":
            form = schema.get("format")
            if form == "date-time":
                return _Type("datetime")
            if form == "byte":
                return _Type("bytes", 'b""')
            self._note_values(schema, path)
        word = _SCALARS[kind]
        return _Type(word, _ZEROS[word])

    def _note_values(self, schema: Json, path: tuple[str, ...]) -> None:
        listed = schema.get("enum")
        if not isinstance(listed, list):
            return
        values = tuple(dict.fromkeys(value for value in listed if isinstance(value, str)))
        if values:
            name = self._names.at_path(self._kind.kind, path)
            about = f"Values of {'.'.join(path)} in {self._kind.kind}."
            self._module.enums.append(EnumDef(name, values, about))

    def _array(self, schema: Json, path: tuple[str, ...]) -> _Type:
        items = schema.get("items")
        if items is None or items == {}:
            self._warn(path, "an array without an item type; its items are")
            return _Type("list[Any]", "[]", is_container=True)
        return _Type(f"list[{self._element(items, path)}]", "[]", is_container=True)

    def _object(self, schema: Json, path: tuple[str, ...]) -> _Type:
        properties = schema.get("properties")
        values = schema.get("additionalProperties")
        if isinstance(properties, Mapping) and properties:
            if isinstance(values, Mapping) and values:
                return self._any(path, "it has both properties and additionalProperties")
            name = self._names.at_path(self._kind.kind, path)
            return self._struct(properties, schema, path, name)
        if isinstance(values, Mapping) and values:
            return _Type(f"dict[str, {self._element(values, path)}]", "{}", is_container=True)
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return _ANY
        return _Type("dict[str, Any]", "{}", is_container=True)

    def _element(self, schema: Any, path: tuple[str, ...]) -> str:
        """Return the type of a container's elements, which are only ``None`` if nullable."""
        found = self._type(schema, path)
        nullable = found is not _ANY and _is_nullable(schema)
        return f"{found.text} | None" if nullable else found.text

    def _struct(self, properties: Json, schema: Json, path: tuple[str, ...], name: str) -> _Type:
        fields = self._fields(properties, _required(schema), path)
        self._module.structs.append(StructDef(name, fields, _description(schema)))
        return _Type(name, f"{name}()")

    # -- references --------------------------------------------------------------------------

    def _resolved(self, schema: Json) -> Json:
        """Return the schema, or the one that it refers to."""
        target = self._kind.components.get(_reference(schema) or "")
        return target if isinstance(target, Mapping) else schema

    def _referred(self, name: str, path: tuple[str, ...]) -> _Type:
        """Return a struct of the document, shared by all references to it."""
        known = self._module.references.get(name)
        if known is not None:
            # A struct that is still being read contains itself, so its default would be infinite.
            return _Type(known.text) if name in self._open_references else known
        target = self._kind.components.get(name)
        if not isinstance(target, Mapping):
            return self._any(path, f"it refers to {name!r}, which is not defined")
        last = name.rpartition(".")[2]
        properties = target.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            found = _QUANTITY if last == "Quantity" else self._type(target, path)
            self._module.references[name] = found
            return found
        title = self._names.of_struct(last)
        found = _Type(title, f"{title}()")
        self._module.references[name] = found
        self._open_references.append(name)
        self._struct(properties, target, path, title)
        self._open_references.pop()
        return found


_QUANTITY = _Type("Quantity")


def _reference(schema: Json) -> str | None:
    """Return the name that a schema refers to; with a default, it is wrapped in ``allOf``."""
    for each in (schema, *_only(schema.get("allOf"))):
        target = each.get("$ref")
        if isinstance(target, str):
            return target.rpartition("/")[2]
    return None


def _only(schemas: object) -> tuple[Json, ...]:
    if isinstance(schemas, list) and len(schemas) == 1 and isinstance(schemas[0], Mapping):
        return (schemas[0],)
    return ()


def _description(schema: object) -> str:
    text = schema.get("description") if isinstance(schema, Mapping) else None
    return text if isinstance(text, str) else ""


def _required(schema: Json) -> frozenset[str]:
    names = schema.get("required")
    if not isinstance(names, list):
        return frozenset()
    return frozenset(name for name in names if isinstance(name, str))


def _is_nullable(schema: Json) -> bool:
    return schema.get("nullable") is True


def _contradiction(schema: Json, kind: object) -> str:
    """Return why no value can satisfy both; empty if one can."""
    if kind not in (None, "object"):
        for member in ("properties", "additionalProperties"):
            if schema.get(member):
                return f"its type is {kind!r} and it has {member}"
    if kind not in (None, "array") and schema.get("items"):
        return f"its type is {kind!r} and it has items"
    return ""
