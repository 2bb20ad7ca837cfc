"""Objects that cannot be read in; who they are and why, for all to see, out."""

from __future__ import annotations

from collections.abc import Container, ItemsView, Iterator, Mapping, ValuesView

import msgspec

from kinform.errors import DecodeError, KinformError, TransformError

# A server that sends only nonsense must not fill the memory with it.
_MOST_KEPT = 1000
# No object is called so.
_NAMELESS = "?"


class QuarantinedObject(msgspec.Struct, frozen=True):
    """An object that the server has and that could not be taken in.

    Attributes:
        key: ``namespace/name``, or ``?`` and a number if not even that could be read.
        resource_version: The version that could not be read; may be empty.
        error: Why.
        payload: Its bytes, if it was these that did not decode.
    """

    key: str
    resource_version: str
    error: KinformError
    payload: bytes = b""


class Quarantine(Mapping[str, QuarantinedObject]):
    """By key. An object leaves it when it can be read again, or is gone.

    The store meanwhile keeps its last good state, if there was one.

    Attributes:
        by_key: Those that are in it; the same dict for ever, for who looks often.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, QuarantinedObject] = {}
        self._nameless = 0

    def __getitem__(self, key: str) -> QuarantinedObject:
        return self.by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self.by_key))

    def __len__(self) -> int:
        return len(self.by_key)

    def items(self) -> ItemsView[str, QuarantinedObject]:
        """As they are at one moment: another thread may be releasing some."""
        return self.by_key.copy().items()

    def values(self) -> ValuesView[QuarantinedObject]:
        return self.by_key.copy().values()

    def __repr__(self) -> str:
        return f"<Quarantine of {len(self)}: {', '.join(self) or 'nobody'}>"

    def put(
        self,
        error: DecodeError | TransformError,
        *,
        resource_version: str = "",
        payload: bytes = b"",
    ) -> QuarantinedObject:
        """Take one in; of more than a thousand, the oldest are forgotten."""
        key = error.key
        if not key:
            self._nameless += 1
            key = f"{_NAMELESS}{self._nameless}"
        if isinstance(error, DecodeError):
            resource_version = resource_version or error.resource_version
        bad = QuarantinedObject(key, resource_version, error, payload)
        self.by_key.pop(key, None)
        self.by_key[key] = bad
        if len(self.by_key) > _MOST_KEPT:
            del self.by_key[next(iter(self.by_key))]
        return bad

    def release(self, key: str) -> None:
        """It is well, or gone."""
        if self.by_key:
            self.by_key.pop(key, None)

    def retain(self, keys: Container[str], *, namespace: str | None = None) -> None:
        """A list is complete, of all or of one namespace: who was readable or absent leaves."""
        for key in tuple(self.by_key):
            listed = not namespace or key.startswith((f"{namespace}/", _NAMELESS))
            if listed and key not in keys:
                del self.by_key[key]
