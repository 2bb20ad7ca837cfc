"""Completes and checks objects before they are stored: metadata and defaults."""

from __future__ import annotations

from kinform.testing.validation._defaults import apply_defaults, initial_status
from kinform.testing.validation._metadata import (
    accept_metadata,
    generate_name,
    metadata_problems,
    name_problems,
)

__all__ = [
    "accept_metadata",
    "apply_defaults",
    "generate_name",
    "initial_status",
    "metadata_problems",
    "name_problems",
]
