"""Sources: list and watch a resource through a client or through any two callables."""

from __future__ import annotations

from kinform.informers.sources._listwatch import ForResourceOptions, ListWatch, TweakListOptions
from kinform.informers.sources._watch_shapes import Batches

__all__ = ["Batches", "ForResourceOptions", "ListWatch", "TweakListOptions"]
