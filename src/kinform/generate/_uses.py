"""Describes nested types by the fields that use them, where no other description is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kinform.generate._ir import FieldDef, ModuleDef

_NAMES = re.compile(r"(?:(\w+)\.)?([A-Z]\w*)")
_MOST = 3

Uses = dict[tuple[str, str], list[tuple[str, str]]]
"""By module and struct: the modules and the fields that use it, such as ``PodSpec.containers``."""


def describe_uses(modules: Sequence[ModuleDef]) -> list[ModuleDef]:
    """Return the modules with a docstring for each struct that has none."""
    uses = _uses(modules)
    kinds = {(module.name, kind.name) for module in modules for kind in module.kinds}
    return [
        replace(
            module,
            structs=tuple(
                struct if struct.docstring else replace(struct, docstring=_about(name, uses, kinds))
                for struct in module.structs
                for name in [(module.name, struct.name)]
            ),
        )
        for module in modules
    ]


def used_in(fields: Sequence[str], *, before: str = "Used in") -> str:
    """Return one sentence that names the first few fields; empty if there are none."""
    if not fields:
        return ""
    named, more = fields[:_MOST], len(fields) - _MOST
    if more > 0:
        return f"{before} {', '.join(named)} and {more} more."
    return f"{before} {' and '.join(filter(None, [', '.join(named[:-1]), named[-1]]))}."


def _about(struct: tuple[str, str], uses: Uses, kinds: set[tuple[str, str]]) -> str:
    module, _ = struct
    found = uses.get(struct, [])
    if len(found) == 1:
        owner, _, attribute = found[0][1].rpartition(".")
        if (found[0][0], owner) in kinds and attribute in ("spec", "status"):
            return f"The {attribute} of {_article(owner)} {owner}."
    # Fields of the same module first: they are the ones that a reader of it knows.
    ordered = sorted(found, key=lambda use: use[0] != module)
    return used_in([field if home == module else f"{home}.{field}" for home, field in ordered])


def _article(name: str) -> str:
    return "an" if name[:1] in "AEIO" else "a"


def _uses(modules: Sequence[ModuleDef]) -> Uses:
    homes = {module.name.replace(".", "_"): module.name for module in modules}
    found: Uses = {}
    for module in modules:
        for owner, field in _fields(module):
            for alias, name in _NAMES.findall(field.annotation):
                struct = (homes.get(alias, alias) if alias else module.name, name)
                found.setdefault(struct, []).append((module.name, f"{owner}.{field.attribute}"))
    return found


def _fields(module: ModuleDef) -> Iterator[tuple[str, FieldDef]]:
    owners: list[tuple[str, tuple[FieldDef, ...]]]
    owners = [(kind.name, kind.fields) for kind in module.kinds]
    owners += [(struct.name, struct.fields) for struct in module.structs]
    for owner, fields in owners:
        yield from ((owner, field) for field in fields)
