"""The blocking event recorder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypedDict, Unpack

from kinform.blocking._cached_client import CachedClient
from kinform.blocking._client import Client
from kinform.blocking._facade import direct_method
from kinform.blocking._owner import Owner
from kinform.blocking._runnable import RunnableFacade, stop_and_wait
from kinform.blocking._writer import Writer
from kinform.controllers.recorder import EventApi
from kinform.controllers.recorder import EventRecorder as AsyncEventRecorder
from kinform.errors import ConfigError
from kinform.metrics import Metrics


class EventRecorderOptions(TypedDict, total=False):
    """The options of ``kinform.controllers.EventRecorder``, documented there."""

    instance: str | None
    api: EventApi
    capacity: int
    flush_timeout: float
    clock: Callable[[], float]
    metrics: Metrics


class EventRecorder(RunnableFacade):
    """Records Kubernetes events: what a program did to objects, for ``kubectl describe``.

        with blocking.EventRecorder(client, "web-controller") as recorder:
            recorder.event(web, "Normal", "ScaledUp", "scaled to 3 replicas")

    Everything behaves as in ``kinform.controllers.EventRecorder``: ``event`` returns at once, on
    any thread, and the loop thread of the client writes the events.

    Args:
        client: A blocking client, or the client of a blocking cache.
        name: The name of the program in events.
        options: The options of ``kinform.controllers.EventRecorder``.

    Raises:
        ConfigError: ``client`` is not a blocking client, or an option is invalid.
    """

    _inner: AsyncEventRecorder

    def __init__(
        self, client: Client | CachedClient, name: str, **options: Unpack[EventRecorderOptions]
    ) -> None:
        checked = blocking_client(client, receiver="EventRecorder")
        inner = AsyncEventRecorder(checked._inner, name, **options)
        owner = Owner(
            partial(stop_and_wait, inner),
            name=f"the blocking {inner.name}",
            instead="kinform.controllers.EventRecorder",
            loop=checked._owner.loop,
            needs=checked._owner,
        )
        super().__init__(inner, owner)

    event = direct_method(AsyncEventRecorder.event)
    status = direct_method(AsyncEventRecorder.status)

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"


def blocking_client(client: object, *, receiver: str) -> Writer:
    """Return a client, or the client of a cache.

    Raises:
        ConfigError: It is neither, or it is an async client.
    """
    if isinstance(client, Client | CachedClient):
        return client
    raise ConfigError(
        f"kinform.blocking.{receiver} takes a kinform.blocking.Client or the client of a "
        f"kinform.blocking.Cache, not a {type(client).__module__}.{type(client).__name__}"
    )
