"""Converts the result of a list callable, in any accepted shape, to a page of records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from kinform.api import GVK, ObjectName
from kinform.client import ObjectList, Undecodable
from kinform.errors import DecodeError, EncodeError, InvalidNameError
from kinform.objects import JSON, Handle, Record, Unstructured

T = TypeVar("T", bound=Handle)

_ACCEPTED = (
    "an ObjectList, a dict with metadata and items as servers send it, "
    "or an iterable of objects and dicts"
)
# The loop runs other tasks between slices of this size.
_SLICE = 256


async def read_page(answer: object, form: type[T], *, what: str) -> ObjectList[T]:
    """Convert the result of a list callable to a page.

    Raises:
        DecodeError: The shape is not accepted. An invalid item is added to ``undecodable``
            instead.
    """
    if isinstance(answer, ObjectList):
        return answer
    if isinstance(answer, Mapping):
        return await _read_document(answer, form, what)
    if isinstance(answer, AsyncIterable):
        answer = [item async for item in answer]
    if isinstance(answer, Iterable) and not isinstance(answer, str | bytes):
        records, undecodable = await _read_items(answer, None)
        return ObjectList(form, records, undecodable=undecodable)
    raise DecodeError(f"{what} must return {_ACCEPTED}, not {type(answer).__name__}")


async def _read_document(document: Mapping[str, Any], form: type[T], what: str) -> ObjectList[T]:
    if "items" not in document:
        raise DecodeError(f"{what} returned a dict without items; it must return {_ACCEPTED}")
    items, metadata = document["items"] or (), document.get("metadata") or {}
    if not isinstance(items, Collection) or not isinstance(metadata, Mapping):
        raise DecodeError(
            f"{what} returned a dict in which items is of type {type(items).__name__} and metadata "
            f"of type {type(metadata).__name__}; they must be a list and a dict"
        )
    records, undecodable = await _read_items(items, _item_gvk(document))
    remaining = metadata.get("remainingItemCount")
    return ObjectList(
        form,
        records,
        resource_version=str(metadata.get("resourceVersion") or ""),
        continue_token=str(metadata.get("continue") or ""),
        remaining_item_count=remaining if isinstance(remaining, int) else None,
        undecodable=undecodable,
    )


def _item_gvk(document: Mapping[str, Any]) -> GVK | None:
    """Derive the kind of the items from the list: items of built-in lists do not contain it."""
    kind = str(document.get("kind") or "")
    if not kind.endswith("List"):
        return None
    try:
        return GVK.of(str(document.get("apiVersion") or ""), kind.removesuffix("List"))
    except InvalidNameError:
        return None


async def _read_items(
    items: Iterable[object], default_gvk: GVK | None
) -> tuple[list[Record], list[Undecodable]]:
    records: list[Record] = []
    undecodable: list[Undecodable] = []
    for count, item in enumerate(items, start=1):
        found = read_item(item, default_gvk)
        if isinstance(found, Record):
            records.append(found)
        else:
            undecodable.append(found)
        if count % _SLICE == 0:
            await asyncio.sleep(0)
    return records, undecodable


def read_item(item: object, default_gvk: GVK | None = None) -> Record | Undecodable:
    """Convert an object in any accepted shape to a record, or return why it cannot be decoded."""
    if isinstance(item, Record):
        return item
    if isinstance(item, Handle) and item.record is not None:
        return item.record
    payload = b""
    try:
        payload = payload_of(item)
        return Record.read(payload, JSON, default_gvk=default_gvk)
    except DecodeError as error:
        return Undecodable(payload, error)


def payload_of(item: object) -> bytes:
    """Encode an object as a server would send it.

    Raises:
        DecodeError: The item is not an object, or contains a value that cannot be encoded.
    """
    if isinstance(item, Record):
        return item.payload
    if not isinstance(item, Mapping):
        raise DecodeError(f"expected an object or a dict, not {type(item).__name__}")
    try:
        if isinstance(item, Handle):
            return item.to_bytes()
        return JSON.encode(item) if isinstance(item, dict) else Unstructured(item).to_bytes()
    except EncodeError as error:
        key = _key_of(item)
        raise DecodeError(f"object {key!r} cannot be encoded: {error}", key=key) from error


def _key_of(item: Mapping[str, Any]) -> str:
    """Return the key, as far as it can be read."""
    metadata = item.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    return ObjectName(
        namespace=str(metadata.get("namespace") or ""), name=str(metadata.get("name") or "")
    ).key
