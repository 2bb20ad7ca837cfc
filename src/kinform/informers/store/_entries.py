"""An object in; what a store keeps of it, and from that a fresh object for each reader, out."""

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
"""What an object is called in a store; any exception it raises becomes a ``KeyFuncError``."""

Entry = Any
"""What a store keeps for one object. Only the ``EntryAdapter`` that made it knows its type."""


class EntryAdapter(Protocol[T]):
    """How the objects of one store rest. It has no state that changes; any thread may use it.

    Attributes:
        version: The resource version of an entry; empty if it has none.
        uid: The uid of an entry; empty if it has none.
    """

    version: Callable[[Entry], str]
    uid: Callable[[Entry], str]

    @property
    def is_frozen(self) -> bool:
        """Whether an entry can never change, so that the same one need not be looked at again."""
        ...

    def key(self, obj: T) -> str:
        """What the object is called.

        Raises:
            KeyFuncError: It has no key.
        """
        ...

    def to_entry(self, obj: T | Entry) -> Entry:
        """What is kept of it. What rests already is kept as it is."""
        ...

    def from_entry(self, entry: Entry) -> T: ...

    def from_entries(self, entries: Iterable[Entry]) -> list[T]: ...

    def memory(self, entry: Entry) -> int:
        """Bytes that it holds."""
        ...

    def reader(self, func: IndexFunc[T]) -> Callable[[Entry], Iterable[str] | None]:
        """The index function, to be called with what rests here."""
        ...


class Handles(EntryAdapter[H]):
    """Kubernetes objects: their records rest, and each reader gets a handle of its own.

    Args:
        form: The handle that readers get.
    """

    is_frozen = True

    def __init__(self, form: type[H]) -> None:
        self.form = form
        # Without a frame of their own: these are asked several times per event.
        self.version = attrgetter("head.resource_version")
        self.uid = attrgetter("head.uid")

    def key(self, obj: H) -> str:
        # A key may have been read from anything, so this is no place to trust the types.
        if not isinstance(cast("object", obj), Handle):
            raise KeyFuncError(
                f"a {type(obj).__name__} cannot be kept as {self.form.__name__}; "
                f"wrap it in {self.form.__name__}(...), or make the store with a key_func"
            )
        if not obj.name:
            raise KeyFuncError(f"{obj!r} has no key; set metadata.name")
        return obj.key

    def to_entry(self, obj: H | Record) -> Record:
        """The record behind it, or itself; an editable object is written down as it is now."""
        if isinstance(obj, Record):
            return obj
        if (record := obj.record) is not None:
            return record
        try:
            return Record.read(obj.to_bytes(JSON), JSON)
        except DecodeError as error:
            raise CacheError(f"{obj!r} cannot be kept: {error}") from error

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


class AsIs(EntryAdapter[T]):
    """Any Python objects, kept and handed out as they are: readers share them.

    Args:
        key_func: What an object is called.
    """

    is_frozen = False

    def __init__(self, key_func: KeyFunc[T]) -> None:
        self._key_func = key_func
        self.version = version_of
        self.uid = _uid_of

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
                f"the key_func gave {key!r} for a {type(obj).__name__}; "
                "a key is a string that is not empty"
            )
        return key

    def to_entry(self, obj: T) -> T:
        return obj

    def from_entry(self, entry: T) -> T:
        return entry

    def from_entries(self, entries: Iterable[T]) -> list[T]:
        return list(entries)

    def memory(self, entry: T) -> int:
        return sys.getsizeof(entry)

    def reader(self, func: IndexFunc[T]) -> Callable[[T], Iterable[str] | None]:
        return func


def choose_resting(
    form: type[Any] | None, key_func: KeyFunc[Any] | None, adapter: EntryAdapter[Any] | None
) -> EntryAdapter[Any]:
    """What the arguments of a store mean together.

    Raises:
        CacheError: Not exactly one of them was given.
        ConfigError: It is something else.
    """
    if (form is not None) + (key_func is not None) + (adapter is not None) != 1:
        raise CacheError("a store takes one of form, key_func and adapter")
    if key_func is not None:
        check_callable("key_func", key_func)
        return AsIs(key_func)
    given: object = form
    if given is not None and not (isinstance(given, type) and issubclass(given, Handle)):
        called = given.__name__ if isinstance(given, type) else f"a {type(given).__name__}"
        raise ConfigError(
            f"a store holds handles, such as Unstructured, and {called} is no class of them; "
            "for other objects, give it a key_func"
        )
    return Handles(cast("type[Handle]", form)) if adapter is None else adapter


def version_of(obj: object) -> str:
    """The ``resource_version`` that an object says it has; empty if it says none."""
    return _text(obj, "resource_version")


def _uid_of(obj: object) -> str:
    return _text(obj, "uid")


def _text(obj: object, attribute: str) -> str:
    value = getattr(obj, attribute, "")
    return value if isinstance(value, str) else ""
