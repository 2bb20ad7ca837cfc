"""Compiled readers for the usual encoding of servers, with a fallback if they cannot be used.

These functions handle the usual encoding and leave all other input to their callers, so everything
works without compiled code, but slower. Set ``KINFORM_INTERPRETED`` to disable compiled code, for
example to check whether it causes a problem.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from kinform._native._canary import layout_problem
from kinform._native._fallback import (
    FrozenField,
    StructReader,
    ViewField,
    try_events,
    try_head,
    try_lines,
    try_unchunk,
)

WHY_INTERPRETED: str = ""
"""Why compiled code is not in use; empty if it is."""

if not TYPE_CHECKING:
    if os.environ.get("KINFORM_INTERPRETED"):
        WHY_INTERPRETED = "KINFORM_INTERPRETED is set"
    else:
        try:
            import kinform._native._framing as framing
            import kinform._native._structs as structs
        except ImportError as error:
            WHY_INTERPRETED = f"it was installed without compiled code ({error})"
        else:
            WHY_INTERPRETED = layout_problem(structs.StructReader)
            if not WHY_INTERPRETED:
                StructReader, ViewField = structs.StructReader, structs.ViewField
                FrozenField = structs.FrozenField
                try_events, try_head = framing.try_events, framing.try_head
                try_lines, try_unchunk = framing.try_lines, framing.try_unchunk
    if WHY_INTERPRETED:
        logging.getLogger(__name__).info("compiled code is not in use: %s", WHY_INTERPRETED)

IS_COMPILED: bool = not WHY_INTERPRETED
"""Whether compiled code is in use."""

__all__ = [
    "IS_COMPILED",
    "WHY_INTERPRETED",
    "FrozenField",
    "StructReader",
    "ViewField",
    "try_events",
    "try_head",
    "try_lines",
    "try_unchunk",
]
