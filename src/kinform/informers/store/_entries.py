"""Adapters between objects and store entries: what a store keeps, and what readers receive."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Protocol, TypeVar, cast

from kinform._checks import check_callable
from kinform.errors import CacheError, ConfigError, DecodeError, KeyFuncError, KinformError
from kinform.informers.store._index_functions import HeadIndex, IndexFunc
from kinform.objects import JSON, Handle, Record

T = TypeVar("T")
H = TypeVar("H", bound=Handle)

KeyFunc = Callable[[T], str]
"""Returns the key of an object; any exception it raises becomes a ``KeyFuncError``."""

Entry = Any
"""The stored value of one object. Only the ``EntryAdapter`` that created it knows its type."""


class EntryAdapter(Protocol[T]):
    """Converts between the objects of a store and its entries. Immutable and thread-safe."""

    @property
    def keeps_records(self) -> bool:
        """Whether entries are records, which can be read in any form."""
        ...

    @property
    def is_frozen(self) -> bool:
        """Whether entries are immutable, so that an identical entry cannot have changed."""
        ...

    def key(self, obj: T) -> str:
        """Return the key of an object.

        Raises:
            KeyFuncError: The object has no key.
        """
        ...

    def to_entry(self, obj: T | Entry) -> Entry:
        """Convert an object to an entry. Entries are returned unchanged."""
        ...

    def from_entry(self, entry: Entry) -> T: ...

    def from_entries(self, entries: Iterable[Entry]) -> list[T]: ...

    def version(self, entry: Entry, /) -> str:
        """Return the resource version of an entry; empty if it has none."""
        ...

    def uid(self, entry: Entry, /) -> str:
        """Return the uid of an entry; empty if it has none."""
        ...

    def memory(self, entry: Entry) -> int:
        """Return the size of an entry in bytes."""
        ...

    def reader(self, func: IndexFunc[T]) -> Callable[[Entry], Iterable[str] | None]:
        """Adapt an index function so that it accepts entries."""
        ...


class HandleAdapter(EntryAdapter[H]):
    """Stores Kubernetes objects as records; each reader receives its own handle.

    Args:
        form: The class of handle that readers receive.
    """

    keeps_records = True
    is_frozen = True
    # attrgetter avoids a Python frame; these are called several times per event.
    version = staticmethod(attrgetter("head.resource_version"))
    uid = staticmethod(attrgetter("head.uid"))

    def __init__(self, form: type[H]) -> None:
        self.form = form

    def key(self, obj: H) -> str:
        # The object may come from untyped code, so check its type at runtime.
        if not isinstance(cast("object", obj), Handle):
            raise KeyFuncError(
                f"a {type(obj).__name__} cannot be stored as {self.form.__name__}; "
                f"wrap it in {self.form.__name__}(...), or create the store with a key_func"
            )
        if not obj.name:
            raise KeyFuncError(f"{obj!r} has no key; set metadata.name")
        return obj.key

    def to_entry(self, obj: H | Record) -> Record:
        """Return the record behind a handle; an editable object is encoded in its current state."""
        if isinstance(obj, Record):
            return obj
        if (record := obj.record) is not None:
            return record
        try:
            return Record.read(obj.to_bytes(JSON), JSON)
        except DecodeError as error:
            raise CacheError(f"{obj!r} cannot be stored: {error}") from error

    def from_entry(self, entry: Record) -> H:
        return self.form.over(entry)

    def from_entries(self, entries: Iterable[Record]) -> list[H]:
        return self.form.over_all(entries)

    def memory(self, entry: Record) -> int:
        return entry.memory

    def reader(self, func: IndexFunc[H]) -> Callable[[Record], Iterable[str] | None]:
        if isinstance(func, HeadIndex):
            return func.of_record
        over = self.form.over
        return lambda record: func(over(record))


class PlainAdapter(EntryAdapter[T]):
    """Stores arbitrary Python objects unchanged; readers share them.

    ``resource_version`` and ``uid`` of an object are used if it has them.

    Args:
        key_func: Returns the key of an object.
    """

    keeps_records = False
    is_frozen = False

    def __init__(self, key_func: KeyFunc[T]) -> None:
        self._key_func = key_func

    def key(self, obj: T) -> str:
        try:
            key: object = self._key_func(obj)
        except KinformError:
            raise
        except Exception as error:
            raise KeyFuncError(
                f"the key_func failed on a {type(obj).__name__}: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(key, str) or not key:
            raise KeyFuncError(
                f"the key_func returned {key!r} for a {type(obj).__name__}; "
                "a key is a non-empty string"
            )
        return key

    def to_entry(self, obj: T) -> T:
        return obj

    def from_entry(self, entry: T) -> T:
        return entry

    def from_entries(self, entries: Iterable[T]) -> list[T]:
        return list(entries)

    def version(self, entry: T, /) -> str:
        return version_of(entry)

    def uid(self, entry: T, /) -> str:
        return _text(entry, "uid")

    def memory(self, entry: T) -> int:
        return sys.getsizeof(entry)

    def reader(self, func: IndexFunc[T]) -> Callable[[T], Iterable[str] | None]:
        return func


def choose_adapter(
    form: type[Any] | None, key_func: KeyFunc[Any] | None, adapter: EntryAdapter[Any] | None
) -> EntryAdapter[Any]:
    """Return the adapter selected by the arguments of a store.

    Raises:
        CacheError: Not exactly one of the arguments was given.
        ConfigError: ``form`` is not a class of handle, or ``key_func`` is not callable.
    """
    if (form is not None) + (key_func is not None) + (adapter is not None) != 1:
        raise CacheError("a store takes exactly one of form, key_func and adapter")
    if key_func is not None:
        check_callable("key_func", key_func)
        return PlainAdapter(key_func)
    given: object = form
    if given is not None and not (isinstance(given, type) and issubclass(given, Handle)):
        called = given.__name__ if isinstance(given, type) else f"a {type(given).__name__}"
        raise ConfigError(
            f"{called} is not a handle class such as Unstructured; pass a key_func to store other "
            "objects"
        )
    return HandleAdapter(cast("type[Handle]", form)) if adapter is None else adapter


def version_of(obj: object) -> str:
    """Return the ``resource_version`` of an object; empty if it has none."""
    return _text(obj, "resource_version")


def _text(obj: object, attribute: str) -> str:
    value = getattr(obj, attribute, "")
    return value if isinstance(value, str) else ""
