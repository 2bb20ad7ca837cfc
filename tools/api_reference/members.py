"""Lists the members of a class, with their signatures."""

from __future__ import annotations

import ast
from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from tools.api_reference.source import Definition, Function, target, with_strings


@dataclass
class Member:
    """A member of a class. The code of a property is its type."""

    kind: Literal["field", "property", "method", "overload"]
    code: str
    doc: str = ""

    @property
    def is_in_stub(self) -> bool:
        """Whether the stub of the class shows it; the others have a description of their own."""
        return self.kind == "field" or (self.kind == "method" and not self.doc)


def members(home: Definition, public: Container[Definition]) -> dict[str, Member]:
    """Return the public members of a class, and those of base classes that are not public."""
    assert isinstance(home.node, ast.ClassDef)
    found: dict[str, Member] = {}
    for base in map(home.named, reversed(home.node.bases)):
        if base and base not in public:
            found |= members(base, public)
    for statement, below in with_strings(home.node.body):
        if isinstance(statement, Function):
            add_function(found, home, statement)
        elif name := target(statement):
            code = home.code(statement).replace("\n    ", "\n")
            found[name] = _facade(home, statement) or Member("field", code, below)
    return {name: each for name, each in found.items() if name[0] != "_" or name == "__init__"}


def add_function(found: dict[str, Member], home: Definition, node: Function) -> None:
    """Add a method, a property, or the next overload of a method."""
    decorators = [home.code(each) for each in node.decorator_list]
    doc = ast.get_docstring(node) or ""
    if any(name.endswith((".setter", ".deleter")) for name in decorators):
        return
    if any(name.endswith("property") for name in decorators):
        found[node.name] = Member("property", home.code(node.returns), doc)
        return
    is_overload = "overload" in decorators
    shown = [f"@{name}" for name in decorators if name in ("classmethod", "staticmethod")]
    code = "\n".join([*shown, f"{home.header(node)} ..."])
    before = found.get(node.name)
    if before and before.kind == "overload":
        # The implementation of overloads may have the docstring, but its signature is not shown.
        code = f"{before.code}\n{code}" if is_overload else before.code
        doc = before.doc or doc
    found[node.name] = Member("overload" if is_overload else "method", code, doc)


def _facade(home: Definition, statement: ast.stmt) -> Member | None:
    """Return a member that ``kinform.blocking`` takes from an async class.

    ``name = ForwardedAttribute[str]()`` is a field, ``get = blocking_method(AsyncVerbs.get)`` a
    method, and ``watch = wrapping_method(AsyncVerbs.watch, Watch)`` one that returns a ``Watch``.
    """
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=ast.Subscript(slice=kind), args=[])
        ):
            return Member("field", f"{name}: {home.code(kind)}")
        case ast.Assign(value=ast.Call(args=[ast.Attribute(value=owner, attr=name), *wrapper])):
            definition = home.named(owner)
            method = members(definition, ()).get(name) if definition else None
            if method is None:
                return None
            code, _, returns = method.code.removeprefix("async ").rpartition(" -> ")
            if wrapper and home.code(wrapper[0])[0].isupper():
                returns = f"{home.code(wrapper[0])}: ..."
            return Member("method", f"{code} -> {returns.replace('Async', '')}", method.doc)
    return None
