"""The state of one source of an informer: all objects, or those of one namespace."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

from kinform._checks import expect
from kinform.errors import ConfigError
from kinform.informers._controller import Controller
from kinform.informers.reflector._state import ReflectorState, ReflectorStatus
from kinform.informers.sources._listwatch import ListWatch
from kinform.informers.store._indexer import Indexer
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class SourceState(Generic[T]):
    """The state of one source of an informer; survives restarts.

    Attributes:
        source: The source.
        synced: Whether its first list is in the store.
        resource_version: The version of this source that the store has reached.
        controller: The controller that runs it; replaced at each start.
    """

    def __init__(self, source: ListWatch[T], indexer: Indexer[T], *, is_whole: bool) -> None:
        self.source = source
        self.synced = False
        self.resource_version = ""
        self.controller: Controller[T] | None = None
        self.known: Indexer[T] | _OfNamespace[T] = (
            indexer if is_whole else _OfNamespace(indexer, source.namespace or "")
        )

    @property
    def name(self) -> str:
        return self.source.namespace or ""

    def staleness(self) -> float | None:
        return self.controller.reflector.staleness if self.controller else None

    def status(self) -> ReflectorStatus:
        return self.controller.reflector.status() if self.controller else ReflectorState().status()


def sources_of(source: ListWatch[T] | Sequence[ListWatch[T]]) -> list[ListWatch[T]]:
    """Return the sources as a list, after checking that they do not overlap.

    Raises:
        ConfigError: There is no source, or two sources contain the same objects.
    """
    sources = list(source) if isinstance(source, Sequence) else [source]
    if not sources:
        raise ConfigError("an informer needs a source; pass a ListWatch")
    for each in sources:
        expect_source(each)
    if len(sources) == 1:
        return sources
    namespaces = [each.namespace for each in sources]
    if not all(namespaces) or len(set(namespaces)) < len(namespaces):
        raise ConfigError(
            f"several sources must each be of a namespace of its own, not {namespaces!r}"
        )
    if len({each.form for each in sources}) > 1:
        raise ConfigError("several sources must give objects of the same form")
    return sources


def expect_source(source: object) -> None:
    """Check that ``source`` is a ListWatch.

    Raises:
        ConfigError: It is not.
    """
    expect(
        source,
        ListWatch,
        receiver="an informer",
        expected="a kinform.ListWatch",
        hint="ListWatch.for_resource(client, Pod) makes one",
    )


class _OfNamespace(Generic[T]):
    """The known objects of one namespace, to which a list of that namespace is compared."""

    def __init__(self, indexer: Indexer[T], namespace: str) -> None:
        self._indexer = indexer
        self._prefix = f"{namespace}/"

    def list_keys(self) -> Collection[str]:
        return [key for key in self._indexer.list_keys() if key.startswith(self._prefix)]

    def get_by_key(self, key: str, /) -> T | None:
        return self._indexer.get_by_key(key)
