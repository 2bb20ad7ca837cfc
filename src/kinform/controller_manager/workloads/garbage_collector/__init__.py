"""Garbage collection: delete what has lost its owners.

Three parts: monitors follow the metadata of every kind that can be deleted (``_monitors``), the
graph has every object with its dependents (``_graph``), and the collector decides about the objects
that the graph puts forward (``_collector``).
"""

from __future__ import annotations

from kinform.controller_manager.workloads.garbage_collector._collector import (
    garbage_collector_controller,
)
from kinform.controller_manager.workloads.garbage_collector._graph import Work

__all__ = ["Work", "garbage_collector_controller"]
