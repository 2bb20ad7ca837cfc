"""Splits the body of a list response into records."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, overload

import msgspec

from kinform.client._garbage import MOST_NAMELESS, forget_frames
from kinform.client._wire import Wire
from kinform.errors import DecodeError
from kinform.objects import Handle, Record

T = TypeVar("T", bound=Handle)

# The loop runs other tasks between slices: a list of 10 000 objects must not stall watches.
_SLICE = 256


class Undecodable(msgspec.Struct, frozen=True):
    """An item of a list that could not be decoded, kept for reporting."""

    payload: bytes
    error: DecodeError


class ObjectList(Sequence[T], Generic[T]):
    """A list of objects, or one page of it, at one resource version. Creates handles on access.

    Attributes:
        records: The encoded objects.
        resource_version: The version of the list; start a watch from it.
        continue_token: The token for the next page; empty if this is the last one.
        remaining_item_count: The server's estimate of remaining items; ``None`` if not given.
        undecodable: Items that could not be decoded; at most a thousand of those without a
            readable name.
        more_undecodable: The number of further items that could not be decoded.
    """

    __slots__ = (
        "_form",
        "continue_token",
        "more_undecodable",
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
        more_undecodable: int = 0,
    ) -> None:
        self._form = form
        self.records = records
        self.resource_version = resource_version
        self.continue_token = continue_token
        self.remaining_item_count = remaining_item_count
        self.undecodable = tuple(undecodable)
        self.more_undecodable = more_undecodable

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
    body: bytes, wire: Wire, form: type[T], *, what: str, only_metadata: bool = False
) -> ObjectList[T]:
    """Split a list into records, yielding to the loop in between.

    Raises:
        DecodeError: The body is not a list. An invalid item is added to ``undecodable`` instead.
    """
    found = wire.read_list(body, what)
    codec, item_gvk = found.codec, found.item_gvk
    prune = only_metadata and not found.kind.startswith("PartialObjectMetadata")
    records: list[Record] = []
    undecodable: list[Undecodable] = []
    nameless = 0
    for start in range(0, len(found.items), _SLICE):
        for raw in found.items[start : start + _SLICE]:
            payload = bytes(raw)
            try:
                record = Record.read(payload, codec, default_gvk=item_gvk)
                records.append(record.only_metadata() if prune else record)
            except DecodeError as error:
                nameless += not error.key
                if error.key or nameless <= MOST_NAMELESS:
                    forget_frames(error)
                    undecodable.append(Undecodable(payload, error))
        await asyncio.sleep(0)
    return ObjectList(
        form,
        records,
        resource_version=found.resource_version,
        continue_token=found.continue_token,
        remaining_item_count=found.remaining_item_count,
        undecodable=undecodable,
        more_undecodable=max(0, nameless - MOST_NAMELESS),
    )
