"""The indexer: a store that also finds objects by the values of index functions."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar, overload

from kinform._checks import check_callable, expect
from kinform.errors import CacheError, ConfigError
from kinform.informers.store._entries import EntryAdapter, HandleAdapter, KeyFunc
from kinform.informers.store._index import Index
from kinform.informers.store._index_functions import Indexers, IndexFunc
from kinform.informers.store._store import Store
from kinform.objects import Handle, Unstructured

T = TypeVar("T")
H = TypeVar("H", bound=Handle)


class Indexer(Store[T]):
    """A store with indices that are updated with every write.

        pods = Indexer(indexers={"node": field_index("spec.nodeName")})
        pods.by_index("node", "worker-1")

    The cost of a lookup depends on the number of results, not on the size of the store. If an
    index function raises, the object is left out of that index and listed in ``index_errors``.

    Args:
        form: The class of handle that readers and index functions receive.
        key_func: Returns the key of an object, for objects that are not handles.
        adapter: Converts objects to entries and back, if neither of the above fits.
        indexers: Index functions by index name.
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
        """Add indices and index the current objects. May be called at any time, from any thread.

        Raises:
            CacheError: An index of one of these names exists. No index is added.
            ConfigError: ``indexers`` is not a mapping of names to functions.
        """
        _check(indexers)
        self._table.add_indices(
            [Index(name, func, self._adapter.reader(func)) for name, func in indexers.items()]
        )

    @property
    def indexers(self) -> Mapping[str, IndexFunc[Any]]:
        """All index functions by name, including those added through other views."""
        return {name: index.function for name, index in self._table.indices.items()}

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """Return the objects with this index value, in arbitrary order.

        Raises:
            UnknownIndexError: The index does not exist.
        """
        return self._adapter.from_entries(self._table.bucket(name, value))

    def index(self, name: str, obj: T) -> builtins.list[T]:
        """Return the objects that share an index value with ``obj``, without duplicates.

        Raises:
            UnknownIndexError: The index does not exist.
            Exception: Any exception the index function raises for ``obj``.
        """
        self._table.buckets(name)
        values = self._table.indices[name].values(self._adapter.to_entry(obj))
        return self._adapter.from_entries(self._table.union(name, values))

    def index_keys(self, name: str, value: str) -> builtins.list[str]:
        """Return the sorted keys of the objects with this value. Raises UnknownIndexError."""
        return sorted(self._table.buckets(name).get(value, ()))

    def index_values(self, name: str) -> builtins.list[str]:
        """Return all values of the current objects. Raises UnknownIndexError."""
        return [*self._table.buckets(name)]

    @property
    def index_errors(self) -> Mapping[tuple[str, str], Exception]:
        """Current exceptions of index functions, by index name and key."""
        return self._table.index_errors

    @property
    def index_memory(self) -> Mapping[str, int]:
        """Size of each index in bytes, without the objects."""
        return self._table.index_memory

    def view(self, form: type[H]) -> Indexer[H]:
        """Return an indexer over the same objects that reads and writes them as ``form``.

        Raises:
            CacheError: This store does not hold Kubernetes objects.
        """
        if self.records is None:
            raise CacheError(
                "only a store of Kubernetes objects has views, and this one stores other objects"
            )
        view: Indexer[H] = Indexer.__new__(Indexer)
        view._adapter = HandleAdapter(form)
        view._table = self._table
        return view


def _check(indexers: object) -> None:
    expect(
        indexers,
        Mapping,
        receiver="indexers",
        expected="a dict of index functions by name",
        hint="pass one such as {'by_node': field_index('spec.nodeName')}",
    )
    assert isinstance(indexers, Mapping)
    for name, function in indexers.items():
        if not isinstance(name, str):
            raise ConfigError(f"the name of an index must be a string, not {name!r}")
        check_callable(f"index {name!r}", function)
