"""Converts the names of a schema to Python names: snake_case, safe and unique."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from kinform.objects import Model, TypedObject

_WORD = re.compile(
    r"IPv[46]"
    r"|[A-Z]{2,}s(?![a-z])"  # IPs, URLs: an uppercase plural is one word
    r"|[A-Z]+(?=V\d)"  # openAPIV3Schema: the version is a separate word
    r"|V\d+(?:(?:alpha|beta)\d+)?"
    r"|[A-Z]+(?![a-z])\d*"  # capitals up to the start of the next word
    r"|[A-Z]?[a-z][a-z0-9]*"
    r"|\d+[a-z]*"
)
_PLAIN = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")

# A field with such a name would shadow it for annotations and defaults in the same class.
_SHADOWED = frozenset(
    {"list", "dict", "str", "int", "float", "bool", "bytes", "datetime", "msgspec", "property"}
)
_OF_MODELS = frozenset(name for name in dir(Model) if not name.startswith("_"))
_OF_KINDS = frozenset(name for name in dir(TypedObject) if not name.startswith("_")) | {
    "api_version",
    "cls",
    "kind",
    "self",
}


def words(name: str) -> list[str]:
    """Split a name: ``externalIPs`` → ``["external", "ips"]``; all in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def snake_case(name: str) -> str:
    """``clusterIP`` → ``cluster_ip``; empty if no character is valid in a name."""
    return "_".join(words(name))


def attribute_name(json: str, *, of_kind: bool = False) -> str:
    """Return the attribute for a JSON field: ``from`` → ``from_``, ``$ref`` → ``ref``.

    A kind has more attributes of its own than a struct; ``of_kind`` avoids those, too.
    """
    name = snake_case(json) or "field"
    if name[0].isdigit():
        name = f"field_{name}"
    taken = _OF_KINDS if of_kind else _OF_MODELS
    return f"{name}_" if is_reserved(name) or name in taken else name


def is_reserved(name: str) -> bool:
    """Whether the name is reserved by Python or used by the code of generated classes."""
    return keyword.iskeyword(name) or name in _SHADOWED


def module_name(name: str) -> str:
    """Return a component of a module's path: ``v1alpha1``, ``cert_manager_io``."""
    text = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_") or "module"
    if text[0].isdigit():
        text = f"v{text}"
    return f"{text}_" if keyword.iskeyword(text) else text


def class_name(name: str) -> str:
    """``podTemplate`` → ``PodTemplate``, ``my-kind`` → ``MyKind``; capitals are kept."""
    pieces = re.findall(r"[A-Za-z0-9]+", name)
    text = "".join(piece[0].upper() + piece[1:] for piece in pieces) or "Struct"
    if text[0].isdigit():
        text = f"Struct{text}"
    return f"{text}_" if keyword.iskeyword(text) else text


def plural_name(kind: str, plural: str) -> str:
    """Return the attribute of the resource, with the word boundaries of its kind.

    ``NetworkPolicy`` and ``networkpolicies`` → ``network_policies``. A plural that does not
    consist of the kind's words is not split.
    """
    *first, last = words(kind) or [""]
    rest = plural.removeprefix("".join(first))
    if first and plural.startswith("".join(first)) and rest[:1] == last[:1]:
        name = "_".join([*first, rest])
    else:
        name = module_name(plural)
    return f"{name}_" if is_reserved(name) else name


def member_name(value: str) -> str:
    """Return the constant for a value: ``NoSchedule`` → ``NO_SCHEDULE``, ``""`` → ``EMPTY``."""
    if not value:
        return "EMPTY"
    if value == "*":
        return "ALL"
    name = snake_case(value.replace("+", " plus ")).upper()
    if not name or name[0].isdigit():
        name = f"VALUE_{name}".rstrip("_")
    return name


def distinct(names: Iterable[str]) -> list[str]:
    """Make names unique: a repeated name gets the first number that is free."""
    seen: set[str] = set()
    result = []
    for name in names:
        candidate, count = name, 1
        while candidate in seen:
            count += 1
            candidate = f"{name.rstrip('_')}_{count}"
        seen.add(candidate)
        result.append(candidate)
    return result


def is_camel_of(json: str, attribute: str) -> bool:
    """Whether ``rename="camel"`` alone converts the attribute to the name on the wire."""
    plain = attribute.rstrip("_")
    if not _PLAIN.fullmatch(plain):
        return False
    first, *others = plain.split("_")
    return json == first + "".join(word.title() for word in others)
