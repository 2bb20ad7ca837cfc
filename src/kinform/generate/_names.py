"""Names of a schema in; names that Python takes out: snake_case, safe, and one of each."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from kinform.objects import Model, TypedObject

_WORD = re.compile(
    r"IPv[46]"
    r"|[A-Z]{2,}s(?![a-z])"  # IPs, URLs: a plural of capitals is one word
    r"|[A-Z]+(?=V\d)"  # openAPIV3Schema: the version is a word of its own
    r"|V\d+(?:(?:alpha|beta)\d+)?"
    r"|[A-Z]+(?![a-z])\d*"  # capitals up to where the next word begins
    r"|[A-Z]?[a-z][a-z0-9]*"
    r"|\d+[a-z]*"
)
_PLAIN = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")

# An annotation or a default in the same class would find the field in place of these.
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
    """``externalIPs`` → ``["external", "ips"]``; all in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def snake_case(name: str) -> str:
    """``clusterIP`` → ``cluster_ip``; empty if there is nothing in it that a name may have."""
    return "_".join(words(name))


def attribute_name(json: str, *, of_kind: bool = False) -> str:
    """The attribute for a JSON field: ``from`` → ``from_``, ``$ref`` → ``ref``.

    A kind has more names of its own than a struct has; ``of_kind`` keeps clear of them, too.
    """
    name = snake_case(json) or "field"
    if name[0].isdigit():
        name = f"field_{name}"
    taken = _OF_KINDS if of_kind else _OF_MODELS
    return f"{name}_" if is_reserved(name) or name in taken else name


def is_reserved(name: str) -> bool:
    """Whether Python, or what generated classes are written with, has this word already."""
    return keyword.iskeyword(name) or name in _SHADOWED


def module_name(name: str) -> str:
    """A part of a module's path: ``v1alpha1``, ``cert_manager_io``."""
    text = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_") or "module"
    if text[0].isdigit():
        text = f"v{text}"
    return f"{text}_" if keyword.iskeyword(text) else text


def class_name(name: str) -> str:
    """``podTemplate`` → ``PodTemplate``, ``my-kind`` → ``MyKind``; capitals stay as they are."""
    pieces = re.findall(r"[A-Za-z0-9]+", name)
    text = "".join(piece[0].upper() + piece[1:] for piece in pieces) or "Struct"
    if text[0].isdigit():
        text = f"Struct{text}"
    return f"{text}_" if keyword.iskeyword(text) else text


def plural_name(kind: str, plural: str) -> str:
    """The resource's attribute, with words split as the kind has them.

    ``NetworkPolicy`` and ``networkpolicies`` → ``network_policies``. A plural that is not made
    of the kind's words stays in one piece.
    """
    *first, last = words(kind) or [""]
    rest = plural.removeprefix("".join(first))
    if first and plural.startswith("".join(first)) and rest[:1] == last[:1]:
        name = "_".join([*first, rest])
    else:
        name = module_name(plural)
    return f"{name}_" if is_reserved(name) else name


def member_name(value: str) -> str:
    """The constant for a value of an enum: ``NoSchedule`` → ``NO_SCHEDULE``, ``""`` → ``EMPTY``."""
    if not value:
        return "EMPTY"
    if value == "*":
        return "ALL"
    name = snake_case(value.replace("+", " plus ")).upper()
    if not name or name[0].isdigit():
        name = f"VALUE_{name}".rstrip("_")
    return name


def distinct(names: Iterable[str]) -> list[str]:
    """The same names; where one came before, with the first number that makes it another."""
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
    """Whether the wire's name follows from the attribute by ``rename="camel"`` alone."""
    plain = attribute.rstrip("_")
    if not _PLAIN.fullmatch(plain):
        return False
    first, *others = plain.split("_")
    return json == first + "".join(word.title() for word in others)
