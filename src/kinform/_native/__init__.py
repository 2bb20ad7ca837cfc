"""Compiled readers for the usual encoding of servers, with a fallback if they are not compiled.

These functions handle the usual encoding and leave all other input to their callers, so everything
works without compiled code, but slower. Set ``KINFORM_INTERPRETED`` to disable compiled code, for
example to check whether it causes a problem.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from kinform._native._nothing import (
    StructReader,
    ViewField,
    unchunked,
    usual_events,
    usual_head,
    usual_lines,
)

if not TYPE_CHECKING and not os.environ.get("KINFORM_INTERPRETED"):
    with suppress(ImportError):  # nothing was compiled
        from kinform._native._cuts import unchunked, usual_events, usual_head, usual_lines
        from kinform._native._structs import StructReader, ViewField

IS_COMPILED: bool = unchunked.__module__ == "kinform._native._cuts"
"""Whether compiled code is in use."""

__all__ = [
    "IS_COMPILED",
    "StructReader",
    "ViewField",
    "unchunked",
    "usual_events",
    "usual_head",
    "usual_lines",
]
