"""List faults: unusual or broken pages, kinds and items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from kinform.testing.faults._fault import LIST, Fault, Hooks
from kinform.testing.faults._json_edits import edited
from kinform.testing.interception import Call, ListResponse
from kinform.testing.requests import encode_token

_BEFORE_ALL_KEYS = "\0"


def empty_page() -> Fault:
    """Send a page without items, with a token for the items it should have had."""

    def hooks(call: Call, hits: int) -> Hooks:
        def listing(response: ListResponse) -> ListResponse:
            version = int(response.metadata["resourceVersion"])
            same_page = call.query.get("continue") or encode_token(version, _BEFORE_ALL_KEYS)
            metadata = {"resourceVersion": str(version), "continue": same_page}
            return replace(response, metadata=metadata, items=())

        return Hooks(listing=listing)

    return Fault(
        "empty page", hooks, verbs=LIST, applies_to=lambda call: call.query.get("limit") is not None
    )


def items_with_kind() -> Fault:
    """Send each item of a list with its kind and version, as for custom resources.

    It has no effect in protobuf, where items never have them.
    """

    def listing(response: ListResponse) -> ListResponse:
        kind = response.kind.removesuffix("List")

        def name_kind(item: dict[str, Any]) -> None:
            item.setdefault("kind", kind)
            item.setdefault("apiVersion", response.api_version)

        return replace(response, items=_each(response.items, name_kind))

    return _list_fault("items with kind", listing)


def items_without_kind() -> Fault:
    """Send the items of a list without kind and version, as for built-in kinds."""

    def forget_kind(item: dict[str, Any]) -> None:
        item.pop("kind", None)
        item.pop("apiVersion", None)

    def listing(response: ListResponse) -> ListResponse:
        return replace(response, items=_each(response.items, forget_kind))

    return _list_fault("items without kind", listing)


def malformed_list() -> Fault:
    """Send a list whose last item does not decode; in JSON, the whole body does not decode."""

    def listing(response: ListResponse) -> ListResponse:
        return replace(response, items=(*response.items, b'{"metadata":{"name":"broken"'))

    return _list_fault("malformed list", listing)


def _list_fault(name: str, listing: Callable[[ListResponse], ListResponse]) -> Fault:
    return Fault(name, lambda call, hits: Hooks(listing=listing), verbs=LIST)


def _each(items: Iterable[bytes], edit: Callable[[dict[str, Any]], None]) -> Iterator[bytes]:
    return (edited(item, edit) for item in items)
