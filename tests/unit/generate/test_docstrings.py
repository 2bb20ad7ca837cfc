"""Docstrings from any text: valid, harmless, formatted, and readable."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from kinform.generate import EnumDef, FieldDef, KindDef, ModuleDef, StructDef, render_module
from kinform.generate._docstrings import LONGEST, docstring

HOSTILE = [
    '"quoted" from start to "end"',
    '"""',
    'a """ b """"" c',
    '"""\nimport os\nos.abort()\n"""',
    "'''",
    '""',
    "\\",
    'ends in a backslash \\ or a quote \\"',
    r"\N{nothing} \x \u12 \777",
    "nul\x00 escape\x1b[31m bell\x07",
    "carriage\r\nreturn\rline\x85separators\u2028and\u2029more\x0b.\x0c",
    "\u202ereversed\u202c and in\u200bvisible \ufeff",
    "a lone \ud800 surrogate",
    "word " * 1000,
    "w" * 5000,
    "see http://example.com/" + "y" * 150 + " and more",
    "first\n    indented\n      deeper\n\n\n\n\nlast",
    "   leading\n leading",
    " " * 500 + "deep\n" + " " * 500 + "word " * 90,
    "- a\n- b " + "word " * 40 + "\n    code " + "word " * 40,
    "{braces} %s # noqa # type: ignore",
    "typographic \u2019s \u2013 \u201cquotes\u201d",
    "\u65e5\u672c\u8a9e\u306e\u8aac\u660e " * 40,
    "\U0001f389 " * 90,
    "\t\ttabs\tinside\n\t\tand before",
    # Around the limit, where a formatter decides between one line and two.
    *(f"{'n' * count} {'m' * 19}" for count in range(60, 80)),
    *(f'{"n" * count} {"m" * 18}"' for count in range(60, 80)),
]


def text_of(text: str) -> str:
    """Return the docstring as Python reads it."""
    read = ast.literal_eval("\n".join(docstring(text)))
    assert isinstance(read, str)
    return inspect.cleandoc(read)


def module_of(texts: list[str]) -> ModuleDef:
    def field(text: str) -> FieldDef:
        return FieldDef("name", "name", "str", '""', text)

    numbered = list(enumerate(texts))
    return ModuleDef(
        "sample.v1",
        "A sample.",
        enums=tuple(EnumDef(f"Enum{n}", ("A",), text) for n, text in numbered),
        structs=tuple(StructDef(f"Struct{n}", (field(text),), text) for n, text in numbered),
        kinds=tuple(
            KindDef(f"Kind{n}", "g.example.com", "v1", "Kind", "kinds", True, (field(text),), text)
            for n, text in numbered
        ),
    )


@pytest.mark.parametrize("indent", [0, 1, 2])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_one_string_and_nothing_else(text: str, indent: int) -> None:
    lines = "\n".join(docstring(text, indent=indent))
    lines.encode()
    statements = ast.parse(inspect.cleandoc(f"\n{lines}")).body

    assert [type(each) for each in statements] == [ast.Expr]
    assert isinstance(ast.literal_eval(lines.strip()), str)
    assert all(char == "\n" or char.isprintable() for char in lines)


def test_any_text_is_as_ruff_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(render_module(module_of(HOSTILE)), encoding="utf-8")
    options = ["--isolated", "--no-cache", "--line-length=100", str(path)]

    for command in (["format", "--diff"], ["check", "--select=E,F,W,I,B,UP,C4,PIE,PLE,RUF,N"]):
        ruff = [sys.executable, "-m", "ruff", *command, *options]
        answer = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Plain.", "Plain."),
        ("  Around it.\n\n", "Around it."),
        ("One.\n\n- two\n- three\n\n    code\n", "One.\n\n- two\n- three\n\n    code"),
        ("First.\n  Indented alike.\n  As is this.", "First.\nIndented alike.\nAs is this."),
        (r"A \d+ and a \\.", r"A \d+ and a \\."),
        ('Say "hello".', 'Say "hello".'),
        ('say """hello"""', "say '''hello'''"),
        ("red\x1b[31m\u202e", "red[31m"),
        ("a\r\nb", "a\nb"),
    ],
)
def test_text_is_kept_as_far_as_source_allows(text: str, expected: str) -> None:
    assert text_of(text) == expected


def test_no_text_is_no_docstring() -> None:
    for text in ("", "  \n\t\n", "\x00\u200b"):
        assert list(docstring(text)) == []
    source = render_module(ModuleDef("sample.v1", "A sample.", structs=(StructDef("Empty", ()),)))
    assert source.endswith("class Empty(Model):\n    pass\n")


def test_long_lines_are_wrapped_with_their_indentation() -> None:
    lines = list(docstring("First.\nSecond.\n    " + "word " * 60, indent=1))

    assert all(len(line) <= 100 for line in lines)
    assert len(lines) > 5
    assert {line[: len(line) - len(line.lstrip())] for line in lines[2:-1]} == {" " * 8}


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("A sentence of words. " * 200, "words. ..."),
        ("word " * 1000, "word ..."),
        ("w" * 5000, "w ..."),
    ],
)
def test_a_very_long_text_ends_with_a_whole_sentence_or_word(text: str, end: str) -> None:
    found = " ".join(text_of(text).split())

    assert LONGEST // 2 < len(found) <= LONGEST + len(" ...")
    assert found.endswith(end)
