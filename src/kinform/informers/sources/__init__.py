"""Sources: list and watch a resource through a client or through any two callables."""

from kinform.informers.sources._listwatch import ForResourceOptions, ListWatch, SourceCallable
from kinform.informers.sources._source import (
    Batches,
    Source,
    TweakListOptions,
    WatchStream,
    metrics_name,
)

__all__ = [
    "Batches",
    "ForResourceOptions",
    "ListWatch",
    "Source",
    "SourceCallable",
    "TweakListOptions",
    "WatchStream",
    "metrics_name",
]
