"""Quarantine: objects that cannot be decoded or transformed, with the reason."""

from __future__ import annotations

import time
from collections.abc import Container, ItemsView, Iterator, Mapping, ValuesView

import msgspec

from kinform.errors import DecodeError, KinformError, TransformError

# Limits the memory used if a server sends only invalid data.
_MOST_KEPT = 1000
# In bytes, of all payloads together.
_LARGEST_PAYLOADS = 16 << 20
# After this many log lines, only every tenth, hundredth, … object is logged.
_LOGGED_EACH = 10
# Seconds without a new object after which each one is logged again.
_CALM = 60.0
# Not a valid object name.
_NAMELESS = "?"


class QuarantinedObject(msgspec.Struct, frozen=True):
    """An object on the server that could not be decoded or transformed.

    Attributes:
        key: ``namespace/name``, or ``?`` and a number if the key is unreadable.
        resource_version: The version that failed; may be empty.
        error: The error.
        payload: The encoded object, if it could not be decoded; empty if the payloads of the
            quarantine are larger than 16 MiB together.
    """

    key: str
    resource_version: str
    error: KinformError
    payload: bytes = b""

    def __rich_repr__(self) -> list[tuple[str, object]]:
        # Without the payload, which may be a Secret.
        return [
            ("key", self.key),
            ("resource_version", self.resource_version),
            ("error", self.error),
        ]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"


class Quarantine(Mapping[str, QuarantinedObject]):
    """Quarantined objects by key. An object leaves when it becomes readable or is deleted.

    The store keeps the last good state of the object, if there is one.

    Attributes:
        by_key: The underlying dict, which is never replaced, for fast access.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, QuarantinedObject] = {}
        self._nameless = 0
        self._payload_size = 0

    def __getitem__(self, key: str) -> QuarantinedObject:
        return self.by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self.by_key))

    def __len__(self) -> int:
        return len(self.by_key)

    def items(self) -> ItemsView[str, QuarantinedObject]:
        """Return a consistent copy, since another thread may release objects."""
        return self.by_key.copy().items()

    def values(self) -> ValuesView[QuarantinedObject]:
        return self.by_key.copy().values()

    def __repr__(self) -> str:
        return f"<Quarantine of {len(self)}: {', '.join(self) or 'none'}>"

    def put(
        self,
        error: DecodeError | TransformError,
        *,
        resource_version: str = "",
        payload: bytes = b"",
    ) -> QuarantinedObject:
        """Add an object. Beyond a thousand, the oldest one is dropped."""
        key = error.key
        if not key:
            self._nameless += 1
            key = f"{_NAMELESS}{self._nameless}"
        if isinstance(error, DecodeError):
            resource_version = resource_version or error.resource_version
        self.release(key)
        if self._payload_size + len(payload) > _LARGEST_PAYLOADS:
            payload = b""
        bad = QuarantinedObject(key, resource_version, error, payload)
        self.by_key[key] = bad
        self._payload_size += len(payload)
        if len(self.by_key) > _MOST_KEPT:
            self.release(next(iter(self.by_key)))
        return bad

    def release(self, key: str) -> None:
        """Remove an object that is readable again or deleted."""
        if self.by_key and (bad := self.by_key.pop(key, None)) is not None:
            self._payload_size -= len(bad.payload)

    def retain(self, keys: Container[str], *, namespace: str | None = None) -> None:
        """Keep only these keys after a complete list of all objects or of one namespace."""
        for key in tuple(self.by_key):
            listed = not namespace or key.startswith((f"{namespace}/", _NAMELESS))
            if listed and key not in keys:
                self.release(key)


class LogLimit:
    """Decides which of many similar events are logged: the first ten, then ever fewer.

    Attributes:
        count: The number of events since the last minute without one.
    """

    def __init__(self) -> None:
        self.count = 0
        self._last = 0.0

    def admits(self, number: int = 1) -> bool:
        """Count some events, and return whether to log them."""
        now = time.monotonic()
        if now - self._last > _CALM:
            self.count = 0
        self._last = now
        before, self.count = self.count, self.count + number
        return self.count <= _LOGGED_EACH or len(str(self.count)) > len(str(before))
