"""A store that also finds objects by what index functions say of them."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar, overload

from kinform._checks import check_callable
from kinform.errors import CacheError, ConfigError
from kinform.informers.store._entries import EntryAdapter, Handles, KeyFunc
from kinform.informers.store._index import Index
from kinform.informers.store._index_functions import Indexers, IndexFunc
from kinform.informers.store._store import Store
from kinform.objects import Handle, Unstructured

T = TypeVar("T")
H = TypeVar("H", bound=Handle)


class Indexer(Store[T]):
    """A store with indices, which are kept with every change.

        pods = Indexer(indexers={"node": field_index("spec.nodeName")})
        pods.by_index("node", "worker-1")

    A lookup costs by what it finds, not by the size of the store. An index function that raises
    leaves that object out of its index and shows in ``index_errors``.

    Args:
        form: The handle that readers and index functions get.
        key_func: What an object is called, for a store of other objects.
        adapter: How objects rest, where neither will do.
        indexers: Index functions by the name of their index.
    """

    @overload
    def __init__(
        self: Indexer[Unstructured], *, indexers: Indexers[Unstructured] = ...
    ) -> None: ...
    @overload
    def __init__(self: Indexer[H], form: type[H], *, indexers: Indexers[H] = ...) -> None: ...
    @overload
    def __init__(self, *, key_func: KeyFunc[T], indexers: Indexers[T] = ...) -> None: ...
    @overload
    def __init__(self, *, adapter: EntryAdapter[T], indexers: Indexers[T] = ...) -> None: ...

    def __init__(
        self,
        form: type[Any] | None = None,
        *,
        key_func: KeyFunc[Any] | None = None,
        adapter: EntryAdapter[Any] | None = None,
        indexers: Indexers[Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(form, key_func=key_func, adapter=adapter)  # type: ignore[call-overload]  # the same overloads
        self.add_indexers(indexers)

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """Add indices, at any time and from any thread; what the store holds is indexed at once.

        Raises:
            CacheError: There is an index of such a name. None of them is added.
            ConfigError: These are no functions by name.
        """
        _check(indexers)
        self._table.add_indices(
            [Index(name, func, self._adapter.reader(func)) for name, func in indexers.items()]
        )

    @property
    def indexers(self) -> Mapping[str, IndexFunc[Any]]:
        """All index functions by name, through whichever view they were added."""
        return {name: index.function for name, index in self._table.indices.items()}

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """The objects with this value, in no order.

        Raises:
            UnknownIndexError: There is no such index.
        """
        return self._adapter.from_entries(self._table.bucket(name, value))

    def index(self, name: str, obj: T) -> builtins.list[T]:
        """The objects that share any value with ``obj``, each once.

        Raises:
            UnknownIndexError: There is no such index.
            Exception: Whatever the index function raises on ``obj``.
        """
        self._table.buckets(name)
        values = self._table.indices[name].values(self._adapter.to_entry(obj))
        return self._adapter.from_entries(self._table.union(name, values))

    def index_keys(self, name: str, value: str) -> builtins.list[str]:
        """The keys of the objects with this value, sorted. Raises UnknownIndexError."""
        return sorted(self._table.buckets(name).get(value, ()))

    def index_values(self, name: str) -> builtins.list[str]:
        """All values that any object has now. Raises UnknownIndexError."""
        return [*self._table.buckets(name)]

    @property
    def index_errors(self) -> Mapping[tuple[str, str], Exception]:
        """What index functions raised, by index and key; gone when the object is, or is well."""
        return self._table.index_errors

    @property
    def index_memory(self) -> Mapping[str, int]:
        """Bytes of each index, beside the objects."""
        return self._table.index_memory

    def view(self, form: type[H]) -> Indexer[H]:
        """Another door to the same objects: it reads, writes and indexes in its own form.

        Raises:
            CacheError: This is not a store of Kubernetes objects.
        """
        if not isinstance(self._adapter, Handles):
            raise CacheError(
                "only a store of Kubernetes objects has views; this one keeps objects as they are"
            )
        door: Indexer[H] = Indexer.__new__(Indexer)
        door._adapter = Handles(form)
        door._table = self._table
        return door


def _check(indexers: object) -> None:
    if not isinstance(indexers, Mapping):
        raise ConfigError(
            f"indexers are functions by name, as in {{'by_node': field_index('spec.nodeName')}}, "
            f"and not a {type(indexers).__name__}"
        )
    for name, function in indexers.items():
        if not isinstance(name, str):
            raise ConfigError(f"an index is found by its name, and {name!r} is no text")
        check_callable(f"index {name!r}", function)
