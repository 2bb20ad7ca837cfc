"""The body of a list in; its records, cut out of it and headed, out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

import msgspec

from kinform.api import GVK
from kinform.client._decoding import decode
from kinform.errors import DecodeError, InvalidNameError
from kinform.objects import Codec, Handle, Record

T = TypeVar("T", bound=Handle)

# Between slices the loop serves others: a list of 10 000 objects must not stall every watch.
_SLICE = 256


@dataclass(frozen=True, slots=True)
class Undecodable:
    """An item of a list that could not be read, kept so that it can be reported."""

    payload: bytes
    error: DecodeError


class _ListMeta(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str | None = None
    continue_token: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _List(msgspec.Struct, gc=False, rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: _ListMeta | None = None
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


_decoder = msgspec.json.Decoder(_List)


class ObjectList(Sequence[T], Generic[T]):
    """Objects as of one resource version, or one page of them. Handles are made as you read.

    Attributes:
        records: The objects at rest.
        resource_version: What the list is as of; start a watch here.
        continue_token: Where the next page starts; empty if this is the last one.
        remaining_item_count: The server's estimate of what is left; ``None`` if it gives none.
        undecodable: Items that could not be read.
    """

    __slots__ = (
        "_form",
        "continue_token",
        "records",
        "remaining_item_count",
        "resource_version",
        "undecodable",
    )

    def __init__(
        self,
        form: type[T],
        records: list[Record],
        *,
        resource_version: str = "",
        continue_token: str = "",
        remaining_item_count: int | None = None,
        undecodable: Sequence[Undecodable] = (),
    ) -> None:
        self._form = form
        self.records = records
        self.resource_version = resource_version
        self.continue_token = continue_token
        self.remaining_item_count = remaining_item_count
        self.undecodable = tuple(undecodable)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._form.over(record) for record in self.records[index]]
        return self._form.over(self.records[index])

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[T]:
        over = self._form.over
        return (over(record) for record in self.records)

    def __repr__(self) -> str:
        more = " and more" if self.continue_token else ""
        return f"<ObjectList of {len(self)} {self._form.__name__}{more} rv={self.resource_version}>"


async def read_list(
    body: bytes, codec: Codec, form: type[T], *, what: str, only_metadata: bool = False
) -> ObjectList[T]:
    """Cut a list into records, yielding to the loop in between.

    Raises:
        DecodeError: The body is no list. A single bad item does not raise; it is ``undecodable``.
    """
    envelope = _read_envelope(body, what)
    default_gvk = _item_gvk(envelope)
    prune = only_metadata and not envelope.kind.startswith("PartialObjectMetadata")
    records: list[Record] = []
    undecodable: list[Undecodable] = []
    items = envelope.items or ()
    for start in range(0, len(items), _SLICE):
        for raw in items[start : start + _SLICE]:
            payload = bytes(raw)
            try:
                if prune:
                    payload = codec.keep_metadata(payload)
                records.append(Record.read(payload, codec, default_gvk=default_gvk))
            except DecodeError as error:
                undecodable.append(Undecodable(payload, error))
        await asyncio.sleep(0)
    metadata = envelope.metadata or _ListMeta()
    return ObjectList(
        form,
        records,
        resource_version=metadata.resource_version or "",
        continue_token=metadata.continue_token or "",
        remaining_item_count=metadata.remaining_item_count,
        undecodable=undecodable,
    )


def _read_envelope(body: bytes, what: str) -> _List:
    envelope = decode(_decoder, body, problem=f"{what}: the answer is not a list")
    # Not by its name: who makes a CRD may call its lists as they like.
    if envelope.items is msgspec.UNSET:
        raise DecodeError(
            f"{what}: the answer is a {envelope.kind or 'thing of no kind'}, not a list"
        )
    return envelope


def _item_gvk(envelope: _List) -> GVK | None:
    """Items of built-in lists do not say their kind; the list's own name tells it."""
    if not envelope.kind.endswith("List"):
        return None
    try:
        return GVK.of(envelope.api_version, envelope.kind.removesuffix("List"))
    except InvalidNameError:
        return None
