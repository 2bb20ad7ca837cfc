"""The queue between a reflector and its store: all changes of a resource, in order."""

from __future__ import annotations

from kinform.informers.queue._delta_fifo import DeltaFIFO
from kinform.informers.queue._deltas import Delta, Deltas, DeltasKind, DeltaType
from kinform.informers.queue._known_objects import KnownObjects

__all__ = ["Delta", "DeltaFIFO", "DeltaType", "Deltas", "DeltasKind", "KnownObjects"]
