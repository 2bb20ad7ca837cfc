"""Finds the definitions of public names in the source."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Definition:
    """A name where it is defined: a module, a class, a function with its overloads, or a value."""

    module: str
    nodes: tuple[ast.Module | ast.stmt, ...]
    doc: str = field(compare=False)

    @property
    def node(self) -> ast.Module | ast.stmt:
        return self.nodes[-1]

    def code(self, node: ast.expr | ast.stmt | None) -> str:
        """Return the code of a node as it is written; empty without one."""
        if node is None:
            return ""
        end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
        return self._between((node.lineno, node.col_offset), end)

    def header(self, node: ast.ClassDef | Function) -> str:
        """Return a class or a function as it is written, without its decorators and its body."""
        first = node.body[0]
        code = self._between((node.lineno, 0), (first.lineno, first.col_offset))
        return textwrap.dedent(re.sub(r"  #.*", "", code)).strip()

    def _between(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        lines = _text(self.module).encode().splitlines()[start[0] - 1 : end[0]]
        lines[-1] = lines[-1][: end[1]]
        lines[0] = lines[0][start[1] :]
        return b"\n".join(lines).decode()

    def named(self, expression: ast.expr) -> Definition | None:
        """Return the class that an expression names, without its type arguments."""
        return find(self.module, self.code(expression).partition("[")[0])


@cache
def find(module: str, name: str) -> Definition | None:
    """Follow imports to the definition of a name; ``None`` if it is not in this project."""
    if is_module(f"{module}.{name}"):
        return find_module(f"{module}.{name}")
    nodes: list[ast.stmt] = []
    doc = ""
    for statement, below in with_strings(_statements(module)):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return find(statement.module, alias.name)
        elif isinstance(statement, ast.ClassDef | Function) and statement.name == name:
            nodes.append(statement)
            doc = ast.get_docstring(statement) or doc
        elif target(statement) == name:
            return Definition(module, (statement,), below)
    return Definition(module, tuple(nodes), doc) if nodes else None


@cache
def find_module(name: str) -> Definition:
    tree = ast.parse(_text(name))
    return Definition(name, (tree,), ast.get_docstring(tree) or "")


def exported(module: str) -> list[str]:
    """Return the ``__all__`` of a module."""
    for statement in _statements(module):
        if isinstance(statement, ast.Assign) and target(statement) == "__all__":
            names: list[str] = ast.literal_eval(statement.value)
            return names
    return []


def target(statement: ast.stmt) -> str:
    """Return the name to which a statement assigns; empty if it does not."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def with_strings(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Yield statements, each with the string below it: the docstring of a value."""
    for number, statement in enumerate(body, 1):
        match body[number : number + 1]:
            case [ast.Expr(value=ast.Constant(value=str(below)))]:
                yield statement, inspect.cleandoc(below)
            case _:
                yield statement, ""


def is_module(name: str) -> bool:
    return _file(name) is not None


def _file(module: str) -> Path | None:
    path = SOURCE / module.replace(".", "/")
    files = (path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next((file for file in files if file.is_file()), None)


@cache
def _text(module: str) -> str:
    """Return the source of a module; empty if it is not in this project."""
    path = _file(module)
    return path.read_text("utf-8") if path else ""


@cache
def _statements(module: str) -> list[ast.stmt]:
    """Return the statements of a module, with those under ``if TYPE_CHECKING``."""
    found = []
    for statement in ast.parse(_text(module)).body:
        found += [statement, *statement.body] if isinstance(statement, ast.If) else [statement]
    return found
