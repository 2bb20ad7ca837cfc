"""What passes between the server and its client, and where tests can intercept it.

The server gets one ``Interception`` per request from its ``Interceptor``. Fault injection and
the request log only use this package.
"""

from __future__ import annotations

from kinform.testing.interception._call import Call
from kinform.testing.interception._call_filter import CallCriteria, CallFilter
from kinform.testing.interception._interceptor import Interception, Interceptor
from kinform.testing.interception._responses import (
    EventEncoding,
    FrameFilter,
    ListResponse,
    WatchFrame,
)
from kinform.testing.interception._sink import Sink, SinkWrapper

__all__ = [
    "Call",
    "CallCriteria",
    "CallFilter",
    "EventEncoding",
    "FrameFilter",
    "Interception",
    "Interceptor",
    "ListResponse",
    "Sink",
    "SinkWrapper",
    "WatchFrame",
]
