"""The helpers of reconcilers that do I/O, without ``await``."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, overload

from kinform.api import ObjectName
from kinform.blocking._cache import Cache
from kinform.blocking._cached_client import CachedClient
from kinform.blocking._client import Client
from kinform.blocking._facade import BlockingIterator, ForwardedAttribute
from kinform.blocking._recorder import blocking_client
from kinform.blocking._shared_informer import SharedIndexInformer
from kinform.client import Fields, Labels, Resource, WatchEvent
from kinform.controllers.helpers import (
    ObjectChange,
    OperationResult,
    check_mutate,
    retry_delays,
)
from kinform.controllers.helpers import ResumingWatch as AsyncResumingWatch
from kinform.controllers.helpers import resuming_watch as resuming_watch_async
from kinform.controllers.helpers import wait_until as wait_until_async
from kinform.controllers.helpers import wait_until_gone as wait_until_gone_async
from kinform.errors import ConfigError, ConflictError
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
T = TypeVar("T", bound=Handle)
R = TypeVar("R")

AnyClient = Client | CachedClient
"""A blocking client, or the client of a blocking cache."""


@overload
def create_or_update(
    client: AnyClient, obj: M, mutate: Callable[[M], object]
) -> tuple[M, OperationResult]: ...
@overload
def create_or_update(
    client: AnyClient, obj: Mapping[str, Any], mutate: Callable[[Unstructured], object]
) -> tuple[Unstructured, OperationResult]: ...
def create_or_update(
    client: AnyClient, obj: Any, mutate: Callable[[Any], object]
) -> tuple[Any, OperationResult]:
    """Create an object, or update the existing one if ``mutate`` changes it.

    ``mutate`` runs on the calling thread. See ``kinform.controllers.create_or_update``.
    """
    return _change(client, obj, mutate, "update")


@overload
def create_or_patch(
    client: AnyClient, obj: M, mutate: Callable[[M], object], *, optimistic_lock: bool = False
) -> tuple[M, OperationResult]: ...
@overload
def create_or_patch(
    client: AnyClient,
    obj: Mapping[str, Any],
    mutate: Callable[[Unstructured], object],
    *,
    optimistic_lock: bool = False,
) -> tuple[Unstructured, OperationResult]: ...
def create_or_patch(
    client: AnyClient, obj: Any, mutate: Callable[[Any], object], *, optimistic_lock: bool = False
) -> tuple[Any, OperationResult]:
    """Create an object, or patch the existing one with what ``mutate`` changes.

    ``mutate`` runs on the calling thread. See ``kinform.controllers.create_or_patch``.
    """
    return _change(client, obj, mutate, "patch", optimistic_lock=optimistic_lock)


def _change(
    client: AnyClient,
    obj: Any,
    mutate: Callable[[Any], object],
    verb: Literal["update", "patch"],
    **options: Any,
) -> tuple[Any, OperationResult]:
    receiver = f"create_or_{verb}"
    checked = blocking_client(client, receiver=receiver)
    check_mutate(mutate, receiver=receiver)
    change = ObjectChange[Handle](checked._inner, obj, verb=verb, receiver=receiver, **options)
    edited = checked._owner.run(change.load())
    answer = mutate(edited)
    if inspect.iscoroutine(answer):
        answer.close()
        raise ConfigError(f"mutate of the blocking {receiver} must not be async")
    change.check(edited, answer)
    return checked._owner.run(change.store(edited))


def retry_on_conflict(
    function: Callable[[], R], *, attempts: int = 5, delay: float = 0.01, factor: float = 1.0
) -> R:
    """Call a function until it does not raise a ConflictError, and return its result.

    See ``kinform.controllers.retry_on_conflict``.

    Raises:
        ConflictError: The last attempt failed too.
        ConfigError: An argument is invalid.
    """
    for wait in retry_delays(function, attempts, delay, factor):
        try:
            return function()
        except ConflictError:
            time.sleep(wait)
    return function()


@overload
def wait_until(
    source: SharedIndexInformer[T],
    name: str | ObjectName,
    *conditions: Callable[[T], bool],
    timeout: float | None = None,
) -> T: ...
@overload
def wait_until(
    source: Cache,
    name: str | ObjectName,
    *conditions: Callable[[M], bool],
    kind: type[M],
    timeout: float | None = None,
) -> M: ...
@overload
def wait_until(
    source: Cache,
    name: str | ObjectName,
    *conditions: Callable[[Unstructured], bool],
    kind: Resource,
    timeout: float | None = None,
) -> Unstructured: ...
def wait_until(
    source: SharedIndexInformer[Any] | Cache,
    name: str | ObjectName,
    *conditions: Callable[[Any], bool],
    **options: Any,
) -> Any:
    """Wait until an object exists and the conditions have held, one after the other.

    The conditions run on the loop thread, so they must not block. See
    ``kinform.controllers.wait_until``.
    """
    source = _checked_source(source, "wait_until")
    return source._owner.run(wait_until_async(source._inner, name, *conditions, **options))


def wait_until_gone(
    source: SharedIndexInformer[Any] | Cache,
    name: str | ObjectName,
    *,
    uid: str = "",
    kind: Any = None,
    timeout: float | None = None,
) -> None:
    """Wait until an object does not exist any more. See ``kinform.controllers.wait_until_gone``."""
    source = _checked_source(source, "wait_until_gone")
    wait = wait_until_gone_async(source._inner, name, uid=uid, kind=kind, timeout=timeout)
    source._owner.run(wait)


def _checked_source(source: Any, receiver: str) -> Any:
    if isinstance(source, SharedIndexInformer | Cache):
        return source
    raise ConfigError(
        f"kinform.blocking.{receiver} takes an informer or a cache of kinform.blocking, not a "
        f"{type(source).__module__}.{type(source).__name__}"
    )


class ResumingWatch(BlockingIterator[WatchEvent[T]]):
    """A watch that reconnects, from the version of the last event. See ``resuming_watch``.

    Iterate inside ``with``. Leaving the block closes the connection.
    """

    _inner: AsyncResumingWatch[T]

    resource_version = ForwardedAttribute[str]()
    connections = ForwardedAttribute[int]()

    def __enter__(self) -> Self:
        self._owner.run(self._inner.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._owner.run_if_open(self._inner.__aexit__(kind, error, trace))


@overload
def resuming_watch(
    client: Client,
    resource: type[M],
    *,
    resource_version: str,
    namespace: str | None = None,
    labels: Labels = "",
    fields: Fields = "",
) -> ResumingWatch[M]: ...
@overload
def resuming_watch(
    client: Client,
    resource: Resource,
    *,
    resource_version: str,
    namespace: str | None = None,
    labels: Labels = "",
    fields: Fields = "",
) -> ResumingWatch[Unstructured]: ...
def resuming_watch(
    client: Client, resource: Any, *, resource_version: str, **options: Any
) -> ResumingWatch[Any]:
    """Watch changes after a version, and reconnect from the last event as often as necessary.

    See ``kinform.controllers.resuming_watch``.
    """
    checked = blocking_client(client, receiver="resuming_watch")
    inner = resuming_watch_async(
        checked._inner, resource, resource_version=resource_version, **options
    )
    return ResumingWatch(inner, checked._owner)
