"""Lays out any text as a docstring: escaped, wrapped, and truncated if it is very long."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator

from kinform.generate._layout import INDENT, LINE_LENGTH

LONGEST = 2000
"""The number of characters after which a description is truncated."""

# What the first line needs besides its text if it is the only one.
_BOTH_QUOTES = " " * len('"""  """')
_QUOTES = re.compile(r'"{3,}')
_BLANK_LINES = re.compile(r"\n{3,}")
# Control and format characters, including those that change the direction of the text;
# surrogates; and line separators.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def docstring(text: str, *, indent: int = 0) -> Iterator[str]:
    """Yield the lines of a docstring as a formatter would leave them; none if the text is empty."""
    lines = [*_wrapped(_cleaned(text), LINE_LENGTH - len(INDENT) * indent)]
    if not lines:
        return
    if lines[0].startswith('"'):
        lines[0] = f" {lines[0]}"
    space = INDENT * indent
    if len(lines) == 1:
        end = " " if lines[0].endswith('"') else ""
        yield f'{space}"""{lines[0]}{end}"""'
        return
    first, *others = lines
    yield f'{space}"""{first}'
    for line in others:
        yield f"{space}{line}" if line else ""
    yield f'{space}"""'


def _cleaned(text: str) -> str:
    """Return the text without surrounding space and characters that do not belong in source."""
    lines = re.split(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]", text.expandtabs(4))
    kept = ["".join(filter(_is_printable, line)).rstrip() for line in lines]
    first, _, others = "\n".join(kept).strip().partition("\n")
    # As `inspect.cleandoc` does: the first line is not indented, whatever the others are.
    whole = f"{first}\n{textwrap.dedent(others)}".rstrip()
    return _truncated(_BLANK_LINES.sub("\n\n", whole))


def _is_printable(char: str) -> bool:
    return unicodedata.category(char) not in _UNPRINTABLE


def _truncated(text: str) -> str:
    """Return the text up to the last sentence, line or word that fits."""
    if len(text) <= LONGEST:
        return text
    start = text[:LONGEST]
    for end in (". ", ".\n", "\n", " "):
        place = start.rfind(end)
        if place > LONGEST // 2:
            start = start[: place + 1]
            break
    return f"{start.rstrip()} ..."


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the escaped lines; a line that is too long continues with the same indentation."""
    for number, line in enumerate(text.split("\n") if text else ()):
        escaped = _QUOTES.sub(lambda found: "'" * len(found[0]), line.replace("\\", "\\\\"))
        content = escaped.lstrip()
        margin = escaped[: len(escaped) - len(content)][: width // 4]
        pieces = textwrap.wrap(
            content,
            width,
            initial_indent=margin if number else _BOTH_QUOTES,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
        if not number:
            pieces[0] = pieces[0].removeprefix(_BOTH_QUOTES)
        yield from pieces or [""]
