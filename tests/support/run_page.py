"""Runs the Python of one page as its reader would: ``python run_page.py PAGE.md``.

There are three kinds of blocks:

- A program calls ``asyncio.run``. It gets a namespace of its own.
- A test module defines ``test_`` functions. pytest runs it.
- All other blocks of a page are one session, in order: each can use the names of those before it.
  On pages that say so, it is a session of ``python -m asyncio``, where ``await`` is allowed.

Blocks keep their line numbers, so that a traceback shows the lines of the page.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import dis
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from kinform import Client
from kinform.informers import InformerFactory

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def blocks(page: Path) -> list[str]:
    """Return the Python blocks of a page, each preceded by as many empty lines as it has there."""
    text = page.read_text("utf-8")
    return [
        "\n" * text.count("\n", 0, found.start(1)) + found[1] for found in _BLOCK.finditer(text)
    ]


def is_program(block: str) -> bool:
    return "asyncio.run(" in block


def is_test_module(block: str) -> bool:
    return re.search(r"^(async )?def test_", block, re.M) is not None


def has_loop(page: Path) -> bool:
    """Whether the page tells its reader to start ``python -m asyncio``."""
    return "`python -m asyncio`" in page.read_text("utf-8")


def compiled(page: Path, block: str) -> CodeType:
    code: CodeType = compile(block, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


def run_page(page: Path) -> None:
    session = []
    for block in blocks(page):
        if is_test_module(block):
            run_tests(block)
        elif is_program(block):
            run_plainly([compiled(page, block)])
        else:
            session.append(compiled(page, block))
    if has_loop(page):
        asyncio.run(run_on_loop(session))
    else:
        run_plainly(session)


def run_plainly(session: list[CodeType]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for code in session:
        if code.co_flags & inspect.CO_COROUTINE:
            sys.exit("the page awaits, but does not say that it needs `python -m asyncio`")
        exec(code, names)
        check_names(code, names)


async def run_on_loop(session: list[CodeType]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for code in session:
            result = eval(code, names)
            if inspect.isawaitable(result):
                await result
            check_names(code, names)
    finally:
        await stop_everything(names)


async def stop_everything(names: dict[str, Any]) -> None:
    """Stop what the session left open, as quitting Python would."""
    for value in names.values():
        if isinstance(value, InformerFactory):
            await value.shutdown()
    for value in names.values():
        if isinstance(value, Client):
            await value.close()


def run_tests(block: str) -> None:
    module = Path("test_page.py")
    module.write_text(block, "utf-8")
    modes = ("asyncio_mode=auto", "asyncio_default_fixture_loop_scope=function")
    options = ["--quiet", "-p", "no:cacheprovider", *(f"--override-ini={mode}" for mode in modes)]
    if pytest.main([str(module), *options]) != pytest.ExitCode.OK:
        sys.exit(f"a test fails:\n{block.strip()}")


def check_names(code: CodeType, names: dict[str, Any]) -> None:
    """Refuse names that do not exist, also in functions that the page never calls."""
    for nested in nested_code(code):
        for instruction in dis.get_instructions(nested):
            name = instruction.argval
            if instruction.opname != "LOAD_GLOBAL" or name in names or hasattr(builtins, name):
                continue
            place = f"{nested.co_filename}, in {nested.co_qualname}"
            raise NameError(f"{place}: name {name!r} is not defined")


def nested_code(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from nested_code(constant)


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
