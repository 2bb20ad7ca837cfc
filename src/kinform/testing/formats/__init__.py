"""The formats of responses: JSON, YAML and protobuf, whole objects or metadata only.

``protobuf`` is a separate module, imported with the first request for it.
"""

from __future__ import annotations

from kinform.testing.formats._content_negotiation import (
    JSON,
    PROTOBUF,
    YAML,
    ResponseFormat,
    check_format,
    error_format,
    negotiate,
    parse_accept,
)
from kinform.testing.formats._encodings import Encoding, Encodings
from kinform.testing.formats._representation import INITIAL_EVENTS_END, Representation

__all__ = [
    "INITIAL_EVENTS_END",
    "JSON",
    "PROTOBUF",
    "YAML",
    "Encoding",
    "Encodings",
    "Representation",
    "ResponseFormat",
    "check_format",
    "error_format",
    "negotiate",
    "parse_accept",
]
