"""Sends responses: headers, compression, and lists while they are produced."""

from __future__ import annotations

from kinform.testing.responses._gzip import MemberGzipSink, gzip_member
from kinform.testing.responses._sending import (
    accepts_gzip,
    common_headers,
    requests_pretty,
    send_body,
    send_pieces,
)

__all__ = [
    "MemberGzipSink",
    "accepts_gzip",
    "common_headers",
    "gzip_member",
    "requests_pretty",
    "send_body",
    "send_pieces",
]
