"""The tokens with which a client requests the next page of a list."""

from __future__ import annotations

import base64
import binascii
import posixpath

import msgspec

from kinform.testing import api_errors

_TOKEN_VERSION = "meta.k8s.io/v1"
# Instead of a version, in a token for the rest of an expired list: continue with the latest.
LATEST_VERSION = -1


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


def encode_token(version: int, start: str) -> str:
    """Return the token with which a client requests the next page."""
    text = msgspec.json.encode(_Token(_TOKEN_VERSION, version, start))
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def decode_token(text: str) -> tuple[int, str]:
    """Return the version of a list and the key that a page starts with.

    Raises:
        BadRequestError: The token is invalid.
    """
    try:
        padded = text + "=" * (-len(text) % 4)
        token = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Token)
    except binascii.Error as error:
        raise _bad_token("continue key is not valid: illegal base64 data") from error
    except (ValueError, msgspec.DecodeError) as error:
        raise _bad_token(f"continue key is not valid: {error}") from error
    if token.v != _TOKEN_VERSION:
        raise _bad_token(
            f"continue key is not valid: server does not recognize this encoded version {token.v}"
        )
    if token.rv == 0:
        raise _bad_token(
            "continue key is not valid: incorrect encoded start resourceVersion "
            f"(version {_TOKEN_VERSION})"
        )
    if not token.start:
        raise _bad_token(
            f"continue key is not valid: encoded start key empty (version {_TOKEN_VERSION})"
        )
    start = token.start.removeprefix("/")
    if posixpath.normpath(f"/{start}") != f"/{start}":
        raise _bad_token(f"continue key is not valid: {token.start}")
    return token.rv, start


def _bad_token(why: str) -> Exception:
    return api_errors.bad_request(f"invalid continue token: {why}")
