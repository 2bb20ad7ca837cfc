"""What servers usually write, read by compiled code; and nothing, where nothing was compiled.

These functions take what is usual and leave the rest to those who call them, so without a compiler
all is the same but slower. Set ``KINFORM_INTERPRETED`` to find out whether compiled code is to
blame for something.
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
"""Whether there is compiled code here."""

__all__ = [
    "IS_COMPILED",
    "StructReader",
    "ViewField",
    "unchunked",
    "usual_events",
    "usual_head",
    "usual_lines",
]
