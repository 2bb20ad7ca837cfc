"""The ``kinform`` command."""

from __future__ import annotations

from kinform.cli._main import main

__all__ = ["main"]
