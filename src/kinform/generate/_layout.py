"""Lays out source code in lines of limited length, broken as a formatter would."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

LINE_LENGTH = 100
INDENT = "    "


def quoted(text: str) -> str:
    """Return ``text`` as a literal in double quotes."""
    return json.dumps(text)


def bracketed(
    before: str, pieces: Sequence[str], after: str, *, indent: int = 0, brackets: str = "()"
) -> Iterator[str]:
    """Yield ``before(piece, piece)after``: on one line, all pieces on the next, or one per line.

    The last form ends in a comma, which makes formatters keep it.
    """
    opening, closing = brackets[0], brackets[1]
    space = INDENT * indent
    line = f"{space}{before}{opening}{', '.join(pieces)}{closing}{after}"
    if len(line) <= LINE_LENGTH or not pieces:
        yield line
        return
    yield f"{space}{before}{opening}"
    inside = f"{space}{INDENT}{', '.join(pieces)}"
    if len(inside) <= LINE_LENGTH:
        yield inside
    else:
        for piece in pieces:
            yield from _opened(piece, ",", indent=indent + 1)
    yield f"{space}{closing}{after}"


def declared(
    name: str, annotation: str, value: str, pieces: Sequence[str] = (), *, indent: int = 1
) -> Iterator[str]:
    """Yield ``name: annotation = value(pieces)``, or ``name: annotation = value`` without pieces.

    If it is too long, the pieces are placed on separate lines, or the annotation is if the part
    before the pieces is already too long.
    """
    space = INDENT * indent
    right = f"{value}({', '.join(pieces)})" if pieces else value
    left = f"{name}: {annotation} = "
    if len(f"{space}{left}{right}") <= LINE_LENGTH:
        yield f"{space}{left}{right}"
    elif pieces and len(f"{space}{left}{value}(") <= LINE_LENGTH:
        yield from bracketed(left + value, pieces, "", indent=indent)
    elif pieces and len(f"{space}{left}(") <= LINE_LENGTH:
        yield f"{space}{left}("
        yield from bracketed(value, pieces, "", indent=indent + 1)
        yield f"{space})"
    elif (outer := _outer(annotation)) is not None:
        opening, inner, closing = outer
        yield f"{space}{name}: {opening}"
        yield from _opened(inner, "", indent=indent + 1)
        yield from _assigned(f"{closing} = {value}", pieces, indent=indent)
    else:
        yield from _assigned(left + value, pieces, indent=indent)


def _assigned(before: str, pieces: Sequence[str], *, indent: int) -> Iterator[str]:
    if pieces:
        yield from bracketed(before, pieces, "", indent=indent)
    else:
        yield f"{INDENT * indent}{before}"


def parameter(name: str, annotation: str, default: str, *, indent: int = 2) -> Iterator[str]:
    """Yield ``name: annotation = default,`` as a parameter of a function."""
    space = INDENT * indent
    line = f"{space}{name}: {annotation} = {default},"
    first, *others = _alternatives(annotation)
    if len(line) <= LINE_LENGTH or not others:
        yield line
        return
    if (outer := _outer(first)) is not None and len(f"{space}{name}: {first}") > LINE_LENGTH:
        opening, inner, closing = outer
        yield f"{space}{name}: {opening}"
        yield f"{space}{INDENT}{inner}"
        yield f"{space}{closing}"
    else:
        yield f"{space}{name}: {first}"
    yield from (f"{space}| {each}" for each in others[:-1])
    yield f"{space}| {others[-1]} = {default},"


def _opened(annotation: str, after: str, *, indent: int) -> Iterator[str]:
    """Yield the annotation on one line if it fits, otherwise one alternative per line."""
    space = INDENT * indent
    first, *others = _alternatives(annotation)
    if len(f"{space}{annotation}{after}") <= LINE_LENGTH or not others:
        yield f"{space}{annotation}{after}"
        return
    yield f"{space}{first}"
    yield from (f"{space}| {each}" for each in others[:-1])
    yield f"{space}| {others[-1]}{after}"


def _outer(annotation: str) -> tuple[str, str, str] | None:
    """Return where to break an annotation: around its alternatives, or at its own bracket."""
    if len(_alternatives(annotation)) > 1:
        return "(", annotation, ")"
    if annotation.endswith("]"):
        name, _, inner = annotation[:-1].partition("[")
        return f"{name}[", inner, "]"
    return None


def _alternatives(annotation: str) -> list[str]:
    """Split the alternatives: ``A | list[B | C]`` → ``A`` and ``list[B | C]``."""
    found = [""]
    depth = 0
    for piece in re.split(r"(\[|\]| \| )", annotation):
        depth += {"[": 1, "]": -1}.get(piece, 0)
        if piece == " | " and depth == 0:
            found.append("")
        else:
            found[-1] += piece
    return found


def listed(before: str, pieces: Iterable[str], *, indent: int = 0) -> Iterator[str]:
    """Yield ``before[`` and one piece per line; the final comma makes formatters keep it."""
    space = INDENT * indent
    yield f"{space}{before}["
    yield from (f"{space}{INDENT}{piece}," for piece in pieces)
    yield f"{space}]"


def from_import(module: str, names: Iterable[str], *, indent: int = 0) -> Iterator[str]:
    """Yield ``from module import name, name``, sorted as linters require."""
    ordered = sorted(names, key=member_key)
    space = INDENT * indent
    line = f"{space}from {module} import {', '.join(ordered)}"
    if len(line) <= LINE_LENGTH:
        yield line
        return
    yield f"{space}from {module} import ("
    yield from (f"{space}{INDENT}{name}," for name in ordered)
    yield f"{space})"


def member_key(name: str) -> tuple[int, list[tuple[bool, int, str]], str]:
    """Sort key: constants, then classes, then the rest; numbers in names sort as numbers."""
    first = name[:1]
    rank = 0 if name.isupper() and len(name) > 1 else 1 if first.isupper() else 2
    return rank, natural_key(name), name


def natural_key(name: str) -> list[tuple[bool, int, str]]:
    """Sort key that puts ``V2`` before ``V10``."""
    return [
        (not piece.isdigit(), int(piece) if piece.isdigit() else 0, piece)
        for piece in re.findall(r"\d+|\D", name)
    ]
