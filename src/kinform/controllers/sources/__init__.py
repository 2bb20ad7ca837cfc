"""Sources: where the keys of a controller come from."""

from __future__ import annotations

from kinform.controllers.sources._channel import Channel
from kinform.controllers.sources._mapping import owner_requests
from kinform.controllers.sources._source import LOW_PRIORITY, OpenSource, Source, SourceStatus
from kinform.controllers.sources._stream import Stream
from kinform.controllers.sources._timer import Timer
from kinform.controllers.sources._watch import Watch

__all__ = [
    "LOW_PRIORITY",
    "Channel",
    "OpenSource",
    "Source",
    "SourceStatus",
    "Stream",
    "Timer",
    "Watch",
    "owner_requests",
]
