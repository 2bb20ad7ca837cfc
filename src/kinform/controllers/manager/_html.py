"""Plain HTML pages of headings and tables, readable without styles and scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_STYLE = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#222}"
    "table{border-collapse:collapse;margin:0 0 1em}"
    "caption{text-align:left;font-weight:600;padding:.3em 0}"
    "th,td{border:1px solid #ccc;padding:.2em .6em;text-align:left;vertical-align:top}"
    "th{background:#f3f3f3}td.number{text-align:right}.problem{color:#b00020}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}"
    "th{background:#2a2a2a}th,td{border-color:#444}.problem{color:#ff6b6b}}"
)


class Page:
    """Builds one page. All text is escaped: names and errors come from a cluster.

    Args:
        title: The title.
    """

    def __init__(self, title: str) -> None:
        self._title = escape(title)
        self._body: list[str] = [f"<h1>{self._title}</h1>"]

    def heading(self, text: str) -> None:
        self._body.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        self._body.append(f"<p>{escape(text)}</p>")

    def problems(self, problems: Sequence[str]) -> None:
        """Add a list of problems, or nothing."""
        if problems:
            items = "".join(f"<li>{escape(each)}</li>" for each in problems)
            self._body.append(f'<ul class="problem">{items}</ul>')

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        title: str = "",
        empty: str = "",
    ) -> None:
        """Add a table. Without rows, add the text ``empty`` instead, if any."""
        if not rows:
            if empty:
                self.text(empty)
            return
        caption = f"<caption>{escape(title)}</caption>" if title else ""
        head = "".join(f"<th>{escape(each.replace('_', ' '))}</th>" for each in columns)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows)
        self._body.append(
            f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"
        )

    def render(self) -> str:
        body = "\n".join(self._body)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{self._title}</title><style>{_STYLE}</style></head>\n"
            f"<body>\n{body}\n</body></html>\n"
        )


def seconds_text(seconds: float | None, suffix: str = "") -> str:
    """Return a duration for people: ``0.3 s``, ``4 min``; empty for ``None``."""
    if seconds is None:
        return ""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}{suffix}"
    return f"{seconds:.1f} s{suffix}"


def bytes_text(number: float) -> str:
    """Return a size for people: ``312 B``, ``4.1 MiB``."""
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, int | float):
        text = f"{value:.1f}" if isinstance(value, float) else str(value)
        return f'<td class="number">{text}</td>'
    return f"<td>{escape(_text(value))}</td>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(each)}" for key, each in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(_text, value))
    return str(value)
