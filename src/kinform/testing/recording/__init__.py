"""The log of the requests that the server received."""

from __future__ import annotations

from kinform.testing.recording._recorder import RequestRecorder
from kinform.testing.recording._request_log import ReceivedRequest, RequestLog

__all__ = [
    "ReceivedRequest",
    "RequestLog",
    "RequestRecorder",
]
