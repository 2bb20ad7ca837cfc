"""Waits until an object of an informer or a cache is in a wanted state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar, overload

from kinform._checks import check_plain, expect
from kinform.api import ObjectName
from kinform.cache import Cache
from kinform.client import Resource
from kinform.errors import AlreadyStoppedError, ConfigError, WaitTimeoutError
from kinform.informers import SharedIndexInformer
from kinform.objects import Handle, TypedObject, Unstructured

T = TypeVar("T", bound=Handle)
M = TypeVar("M", bound=TypedObject)


@overload
async def wait_until(
    source: SharedIndexInformer[T],
    name: str | ObjectName,
    *conditions: Callable[[T], bool],
    timeout: float | None = None,
) -> T: ...
@overload
async def wait_until(
    source: Cache,
    name: str | ObjectName,
    *conditions: Callable[[M], bool],
    kind: type[M],
    timeout: float | None = None,
) -> M: ...
@overload
async def wait_until(
    source: Cache,
    name: str | ObjectName,
    *conditions: Callable[[Unstructured], bool],
    kind: Resource,
    timeout: float | None = None,
) -> Unstructured: ...
async def wait_until(
    source: SharedIndexInformer[Any] | Cache,
    name: str | ObjectName,
    *conditions: Callable[[Any], bool],
    kind: Any = None,
    timeout: float | None = None,
) -> Any:
    """Wait until an object exists and the conditions have held, one after the other.

        pod = await wait_until(pods, "shop/web-0", is_ready, timeout=60)
        pod = await wait_until(cache, "shop/web-0", is_ready, kind=Pod, timeout=60)

    Every change of the object is checked, in order. When a condition holds, the same state is
    checked against the next one. The server is not asked: an informer watches already.

    Args:
        source: An informer, or a cache, which then keeps an informer for the kind.
        name: The key of the object: ``namespace/name``.
        conditions: Functions that receive the object; they must not block. Without any, the
            object only has to exist.
        kind: The kind; needed for a cache, and only there.
        timeout: Seconds to wait, including for the informer to sync.

    Returns:
        The object for which the last condition held.

    Raises:
        WaitTimeoutError: The wait took longer than ``timeout``.
        AlreadyStoppedError: The informer has stopped.
        ConfigError: An argument is invalid.
    """
    for condition in conditions:
        check_plain("a condition of wait_until", condition)
    progress = _Progress(str(name), "is in the wanted state" if conditions else "exists")
    pending = list(conditions)

    async def wait() -> Any:
        informer = await _informer_of(source, kind)
        async with _changes(informer, progress.key) as events:
            async for event in events:
                obj = None if event.deleted is not None else event.object
                progress.saw(obj)
                while obj is not None and pending and pending[0](obj):
                    del pending[0]
                if obj is not None and not pending:
                    return obj
        raise _stopped(informer, progress)

    return await progress.limit(wait(), timeout)


async def wait_until_gone(
    source: SharedIndexInformer[Any] | Cache,
    name: str | ObjectName,
    *,
    uid: str = "",
    kind: Any = None,
    timeout: float | None = None,
) -> None:
    """Wait until an object does not exist any more.

    Args:
        source: An informer, or a cache, which then keeps an informer for the kind.
        name: The key of the object: ``namespace/name``.
        uid: The uid of the object. If given, another object of this name counts as gone.
        kind: The kind; needed for a cache, and only there.
        timeout: Seconds to wait, including for the informer to sync.

    Raises:
        WaitTimeoutError: The wait took longer than ``timeout``.
        AlreadyStoppedError: The informer has stopped.
        ConfigError: An argument is invalid.
    """
    expect(uid, str, receiver="uid=", expected="a string")
    progress = _Progress(str(name), "is gone")

    def is_gone(obj: Handle | None) -> bool:
        return obj is None or (uid != "" and obj.uid != uid)

    async def wait() -> None:
        informer = await _informer_of(source, kind)
        async with _changes(informer, progress.key) as events:
            if is_gone(informer.store.get_by_key(progress.key)):
                return
            async for event in events:
                obj = None if event.deleted is not None else event.object
                progress.saw(obj)
                if is_gone(obj):
                    return
        raise _stopped(informer, progress)

    await progress.limit(wait(), timeout)


async def _informer_of(source: object, kind: Any) -> SharedIndexInformer[Any]:
    """Return the synced informer."""
    if isinstance(source, SharedIndexInformer):
        if kind is not None:
            raise ConfigError("kind= is only for a cache; an informer has one kind")
        await source.has_synced
        return source
    if not isinstance(source, Cache):
        raise ConfigError(
            f"a wait takes a SharedIndexInformer or a Cache, not a {type(source).__name__}"
        )
    if kind is None:
        raise ConfigError("a wait on a cache needs the kind, such as kind=Pod")
    # A wait has its own timeout, and the cache's own would otherwise end it.
    informer: SharedIndexInformer[Any] = await source.get_informer(kind, wait=False)
    await informer.has_synced
    return informer


def _changes(informer: SharedIndexInformer[Any], key: str) -> Any:
    return informer.events(filter=lambda obj: obj.key == key, name=f"wait for {key}")


def _stopped(informer: SharedIndexInformer[Any], progress: _Progress) -> AlreadyStoppedError:
    return AlreadyStoppedError(f"informer {informer.name} stopped before {progress}")


class _Progress:
    """What was seen so far, for errors."""

    def __init__(self, key: str, wanted: str) -> None:
        self.key = key
        self._wanted = wanted
        self._last = "it was not seen"

    def saw(self, obj: Handle | None) -> None:
        if obj is None:
            self._last = "it was deleted"
        else:
            self._last = f"last seen at resource version {obj.resource_version}"

    def __str__(self) -> str:
        return f"{self.key} {self._wanted}; {self._last}"

    async def limit(self, wait: Any, timeout: float | None) -> Any:
        try:
            async with asyncio.timeout(timeout) as limit:
                return await wait
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise WaitTimeoutError(f"timed out after {timeout:g} s before {self}") from error
