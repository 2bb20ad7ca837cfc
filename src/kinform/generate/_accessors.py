"""Renders the classes with accessors, for built-in groups and those of CRDs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from kinform.generate._docstrings import docstring
from kinform.generate._ir import KindDef
from kinform.generate._layout import LINE_LENGTH, bracketed


def accessor_class(name: str, about: str) -> Iterator[str]:
    """Yield the start of a class; methods or properties follow."""
    yield ""
    yield ""
    yield f"class {name}(Group[F_co]):"
    yield from docstring(about, indent=1)
    yield ""
    yield "    __slots__ = ()"


def accessor_method(name: str, kind: KindDef, model: str) -> Iterator[str]:
    """Yield the start of an accessor; a body that returns the model follows."""
    yield ""
    yield "    @accessor"
    yield from _signature(name, f"type[{model}]")
    about = f"{_plural(kind)} ({kind.api_version}).\n\n{kind.description}"
    yield from docstring(about, indent=2)


def version_property(name: str, class_: str) -> Iterator[str]:
    """Yield the property of a group for one of its versions."""
    yield ""
    yield "    @property"
    yield from _signature(name, f"{class_}[F_co]")
    yield from bracketed(f"return {class_}", ["self._factory"], "", indent=2)


def _plural(kind: KindDef) -> str:
    """Return ``NetworkPolicies`` for a ``NetworkPolicy``."""
    pairs = zip(kind.kind.lower(), kind.plural, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return f"{kind.kind[:shared]}{kind.plural[shared:]}"


def _signature(name: str, result: str) -> Iterator[str]:
    line = f"    def {name}(self) -> {result}:"
    if len(line) <= LINE_LENGTH:
        yield line
    else:
        yield f"    def {name}("
        yield "        self,"
        yield f"    ) -> {result}:"
