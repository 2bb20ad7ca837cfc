"""The ``kinform`` command: arguments in, an exit code out."""

from __future__ import annotations

from kinform.cli._main import main

__all__ = ["main"]
