"""``kinform demo``: a simulated cluster on the embedded server, followed by informers."""

from __future__ import annotations

from kinform.cli.demo._demo_command import add_command

__all__ = ["add_command"]
