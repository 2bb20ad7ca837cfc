"""Lists objects: one page of a consistent list, with its items produced while sending."""

from __future__ import annotations

import base64
import binascii
import posixpath
from typing import Any

import msgspec

from kinform.errors import ExpiredError
from kinform.testing import _status
from kinform.testing._cluster import Cluster
from kinform.testing._interception import ListAnswer
from kinform.testing._options import ListOptions
from kinform.testing._resources import ServedResource
from kinform.testing._selections import Selection
from kinform.testing._storage import Collection, Stored
from kinform.testing._views import View

_TOKEN_VERSION = "meta.k8s.io/v1"
# In a token for the rest of an expired list: continue with the latest version.
_INCONSISTENT = -1


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


def required_version(options: ListOptions) -> int:
    """Return the version that the server must have reached to respond; 0 for any.

    Raises:
        BadRequestError: The version is invalid.
    """
    text = options.resource_version
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise _status.bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def list_objects(
    cluster: Cluster, served: ServedResource, namespace: str, options: ListOptions, view: View
) -> ListAnswer:
    """Return a list, or one page of it.

    Raises:
        BadRequestError: The version or the token is invalid.
        ExpiredError: The version, or the list that the token continues, is no longer available.
        ResourceVersionTooLargeError: The version does not exist yet.
    """
    collection = cluster.collection(served)
    selection = Selection(collection, namespace, options)
    version, found = _candidates(cluster, collection, selection, options)
    limit = 0 if options.resource_version == "0" else options.limit
    chosen, rest = _page(selection, found, limit)
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if rest:
        if version == cluster.storage.resource_version:
            collection.keep_snapshot()
        start = chosen[-1].key.removeprefix(selection.prefix)
        metadata["continue"] = encode_token(version, f"{start}\0")
        if selection.everything:
            metadata["remainingItemCount"] = rest
    elif view.custom:
        metadata = {"continue": "", **metadata}
    items = (view.item(stored) for stored in chosen)
    return ListAnswer(view.list_kind, view.api_version, metadata, items)


def _candidates(
    cluster: Cluster, collection: Collection, selection: Selection, options: ListOptions
) -> tuple[int, list[Stored]]:
    """Return the version to list at and its objects, before any selection."""
    current = cluster.storage.resource_version
    asked = required_version(options)
    if options.continue_token:
        version, start = decode_token(options.continue_token)
        if asked:
            message = "specifying resource version is not allowed when using continue"
            raise _status.bad_request(message)
        if version == _INCONSISTENT:
            return current, collection.select(selection.prefix, selection.prefix + start)
        try:
            found = collection.select_at(version, selection.prefix, selection.prefix + start)
        except ExpiredError:
            token = encode_token(_INCONSISTENT, start)
            raise _status.expired("continue", continue_token=token) from None
        return version, found
    if asked > current:
        raise _status.too_large(asked, current)
    exact = options.match == "Exact" or (not options.match and options.limit > 0)
    if asked and exact:
        return asked, collection.select_at(asked, selection.prefix)
    return current, collection.select(selection.prefix)


def _page(selection: Selection, found: list[Stored], limit: int) -> tuple[list[Stored], int]:
    """Return the matches, up to the limit, and the number of objects not examined."""
    if selection.everything:
        chosen = found[:limit] if limit else found
        return chosen, len(found) - len(chosen)
    chosen = []
    for position, stored in enumerate(found):
        if selection.matches(stored):
            chosen.append(stored)
            if len(chosen) == limit:
                return chosen, len(found) - position - 1
    return chosen, 0


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
    return _status.bad_request(f"invalid continue token: {why}")
