"""Lists objects: one page of a consistent list, with its items produced while sending."""

from __future__ import annotations

from typing import Any

from kinform.errors import ExpiredError
from kinform.testing import api_errors
from kinform.testing.formats import Representation
from kinform.testing.interception import ListResponse
from kinform.testing.requests import (
    LATEST_VERSION,
    ParsedListOptions,
    decode_token,
    encode_token,
    parse_version_number,
)
from kinform.testing.resources import ServedResource
from kinform.testing.storage import ClusterState, Collection, StoredObject
from kinform.testing.verbs._selection import Selection


def required_version(options: ParsedListOptions) -> int:
    """Return the version that the server must have reached to respond; 0 for any.

    Raises:
        BadRequestError: The version is invalid.
    """
    text = options.resource_version
    if not text:
        return 0
    number = parse_version_number(text)
    if number is None:
        raise api_errors.bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return number


def list_objects(
    cluster: ClusterState,
    served: ServedResource,
    namespace: str,
    options: ParsedListOptions,
    view: Representation,
) -> ListResponse:
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
        if selection.selects_all:
            metadata["remainingItemCount"] = rest
    elif view.custom:
        metadata = {"continue": "", **metadata}
    items = (view.item(stored) for stored in chosen)
    return ListResponse(view.list_kind, view.api_version, metadata, items)


def _candidates(
    cluster: ClusterState, collection: Collection, selection: Selection, options: ParsedListOptions
) -> tuple[int, list[StoredObject]]:
    """Return the version to list at and its objects, before any selection."""
    current = cluster.storage.resource_version
    asked = required_version(options)
    if options.continue_token:
        version, start = decode_token(options.continue_token)
        if asked:
            message = "specifying resource version is not allowed when using continue"
            raise api_errors.bad_request(message)
        if version == LATEST_VERSION:
            return current, collection.select(selection.prefix, selection.prefix + start)
        try:
            found = collection.select_at(version, selection.prefix, selection.prefix + start)
        except ExpiredError:
            token = encode_token(LATEST_VERSION, start)
            raise api_errors.expired("continue", continue_token=token) from None
        return version, found
    if asked > current:
        raise api_errors.too_large(asked, current)
    exact = options.match == "Exact" or (not options.match and options.limit > 0)
    if asked and exact:
        return asked, collection.select_at(asked, selection.prefix)
    return current, collection.select(selection.prefix)


def _page(
    selection: Selection, found: list[StoredObject], limit: int
) -> tuple[list[StoredObject], int]:
    """Return the matches, up to the limit, and the number of objects not examined."""
    if selection.selects_all:
        chosen = found[:limit] if limit else found
        return chosen, len(found) - len(chosen)
    chosen = []
    for position, stored in enumerate(found):
        if selection.matches(stored):
            chosen.append(stored)
            if len(chosen) == limit:
                return chosen, len(found) - position - 1
    return chosen, 0
