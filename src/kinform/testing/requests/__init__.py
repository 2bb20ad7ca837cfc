"""What a request asks for, from its path, query parameters and body."""

from __future__ import annotations

from kinform.testing.requests._bodies import decode_any, decode_object, expect_kind, media_type
from kinform.testing.requests._continue_tokens import LATEST_VERSION, decode_token, encode_token
from kinform.testing.requests._documents import decode_json, parse_version_number
from kinform.testing.requests._parsed_options import (
    ParsedDeleteOptions,
    ParsedListOptions,
    ParsedWriteOptions,
    Query,
    parse_delete_options,
    parse_list_options,
    parse_write_options,
)
from kinform.testing.requests._routes import PageNotFoundError, RequestTarget, find_target

__all__ = [
    "LATEST_VERSION",
    "PageNotFoundError",
    "ParsedDeleteOptions",
    "ParsedListOptions",
    "ParsedWriteOptions",
    "Query",
    "RequestTarget",
    "decode_any",
    "decode_json",
    "decode_object",
    "decode_token",
    "encode_token",
    "expect_kind",
    "find_target",
    "media_type",
    "parse_delete_options",
    "parse_list_options",
    "parse_version_number",
    "parse_write_options",
]
