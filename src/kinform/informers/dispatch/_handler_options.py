"""Handler options: validates the arguments of ``add_event_handler``, normalises callbacks."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Generic, Literal, Protocol, TypeVar, get_args

import msgspec

from kinform._checks import is_async_callable
from kinform.api import LabelSelector
from kinform.errors import ConfigError
from kinform.informers._changes import DeletedObject
from kinform.informers.dispatch._informer_event import InformerEvent
from kinform.informers.dispatch._mailbox import Policy
from kinform.informers.dispatch._projection import Filter

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

RunOn = Literal["loop", "thread"]
"""Where a ``def`` handler runs: on the event loop, or on a thread of its own."""

_POLICIES: tuple[str, ...] = get_args(Policy)
_PLACES: tuple[str, ...] = get_args(RunOn)


class HandlesAdd(Protocol[T_contra]):
    def on_add(self, obj: T_contra, is_in_initial_list: bool, /) -> object: ...


class HandlesUpdate(Protocol[T_contra]):
    def on_update(self, old: T_contra, new: T_contra, /) -> object: ...


class HandlesDelete(Protocol[T]):
    def on_delete(self, deleted: DeletedObject[T], /) -> object: ...


class ResourceEventHandler(HandlesAdd[T], HandlesUpdate[T], HandlesDelete[T], Protocol[T]):
    """An object that receives events. Its methods are all ``def`` or all ``async def``.

    Any one of the three methods is sufficient.
    """


AnyHandler = HandlesAdd[T] | HandlesUpdate[T] | HandlesDelete[T]
"""An object with at least one of ``on_add``, ``on_update`` and ``on_delete``."""


class SubscriptionOptions(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """The options that handlers and event streams have in common.

    Attributes:
        filter: Deliver only objects that match. An update that starts to match is delivered as
            an add, one that stops matching as a delete. A callable runs where the handler runs.
        resync_period: Seconds between deliveries of every object in the cache; 0 or ``None``
            disables them.
        policy: How to treat a slow consumer: ``"unbounded"`` buffers all events, ``"block"``
            pauses the informer and thereby all its handlers, ``"coalesce"`` merges pending
            events per key.
        capacity: The number of pending changes at which ``"block"`` pauses the informer.
        unchanged_updates: Also deliver updates that repeat a known resource version.
        name: The name used in logs, threads and metrics.

    Raises:
        ConfigError: An option is invalid; the message names it.
    """

    filter: Filter[T] | None = None
    resync_period: float | None = None
    policy: Policy = "unbounded"
    capacity: int = 1000
    unchanged_updates: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        _check_filter(self.filter)
        _check_resync_period(self.resync_period)
        if self.policy not in _POLICIES:
            raise ConfigError(f"policy must be one of {', '.join(_POLICIES)}, not {self.policy!r}")
        _check_capacity(self.capacity)


class HandlerOptions(SubscriptionOptions[T], frozen=True, kw_only=True):
    """A handler object or callbacks, and the options of its subscription.

    Attributes:
        handler: An object with any of the methods of ``ResourceEventHandler``.
        on_add: ``on_add(obj)``, if there is no handler object.
        on_update: ``on_update(old, new)``, likewise.
        on_delete: ``on_delete(deleted)``, likewise.
        on_event: ``on_event(event)`` for changes of all types, instead of the others.
        run_on: Where a ``def`` handler runs: on the informer's event loop, the default, or on its
            own thread. An ``async def`` handler runs on the loop.
    """

    handler: AnyHandler[T] | None = None
    on_add: Callable[[T], object] | None = None
    on_update: Callable[[T, T], object] | None = None
    on_delete: Callable[[DeletedObject[T]], object] | None = None
    on_event: Callable[[InformerEvent[T]], object] | None = None
    run_on: RunOn | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        callbacks = self.callbacks()
        if self.run_on is not None and self.run_on not in _PLACES:
            raise ConfigError(f"run_on must be one of {', '.join(_PLACES)}, not {self.run_on!r}")
        if callbacks.is_async and self.run_on == "thread":
            raise ConfigError(
                f"{callbacks.name} is async def, which runs on the event loop; "
                "make it def, or leave out run_on='thread'"
            )

    def callbacks(self) -> Callbacks[T]:
        """Return the callbacks of the handler."""
        given = self.functions()
        named = next(iter(given.values())) if self.handler is None else self.handler
        takes_flag = self.handler is not None
        return _callbacks(given, name=self.name or _name_of(named), takes_flag=takes_flag)

    def functions(self) -> dict[str, Callable[..., object]]:
        """Return the functions or methods of the handler as they were given, by event."""
        keywords = {
            "on_add": self.on_add,
            "on_update": self.on_update,
            "on_delete": self.on_delete,
        }
        has_keywords = any(callback is not None for callback in keywords.values())
        if self.on_event is not None:
            if has_keywords or self.handler is not None:
                raise ConfigError(
                    "on_event receives the events of all types; pass it alone, without a handler "
                    "object and without on_add, on_update and on_delete"
                )
            return _given({"on_event": self.on_event}, "this handler")
        if self.handler is None:
            return _given(keywords, "this handler")
        if has_keywords:
            raise ConfigError("pass a handler object, or on_add, on_update and on_delete, not both")
        name = _name_of(self.handler)
        if inspect.isclass(self.handler):
            raise ConfigError(f"handler: {name} is a class; pass an instance of it")
        return _given({event: getattr(self.handler, event, None) for event in keywords}, name)


class Callbacks(msgspec.Struct, Generic[T], frozen=True):
    """Three callbacks, all sync or all async; ``None`` for events the handler ignores.

    ``on_event`` replaces all three.
    """

    name: str
    is_async: bool
    on_add: Callable[[T, bool], object] | None
    on_update: Callable[[T, T], object] | None
    on_delete: Callable[[DeletedObject[T]], object] | None
    on_event: Callable[[InformerEvent[T]], object] | None


def _callbacks(
    given: dict[str, Callable[..., object]], *, name: str, takes_flag: bool
) -> Callbacks[Any]:
    is_async = {event: is_async_callable(callback) for event, callback in given.items()}
    if len(set(is_async.values())) > 1:
        kinds = ", ".join(
            f"{event} is {'async def' if each else 'def'}" for event, each in is_async.items()
        )
        raise ConfigError(
            f"{name}: {kinds}; a handler is called or awaited, so make all callbacks "
            "def or all async def, or register two handlers"
        )
    on_add = given.get("on_add")
    return Callbacks(
        name=name,
        is_async=next(iter(is_async.values())),
        on_add=on_add if takes_flag or on_add is None else _without_flag(on_add),
        on_update=given.get("on_update"),
        on_delete=given.get("on_delete"),
        on_event=given.get("on_event"),
    )


def _given(callbacks: dict[str, Any], name: str) -> dict[str, Callable[..., object]]:
    given = {event: callback for event, callback in callbacks.items() if callback is not None}
    if not given:
        raise ConfigError(f"{name} has none of {', '.join(callbacks)}, so it would receive nothing")
    for event, callback in given.items():
        if not callable(callback):
            raise ConfigError(f"{event} must be a function, not {callback!r}")
    return given


def _without_flag(on_add: Callable[[T], object]) -> Callable[[T, bool], object]:
    def on_add_without_flag(obj: T, _is_in_initial_list: bool) -> object:
        return on_add(obj)

    return on_add_without_flag


def _name_of(thing: object) -> str:
    while isinstance(thing, functools.partial):
        thing = thing.func
    return str(getattr(thing, "__qualname__", type(thing).__qualname__))


def _check_filter(filter: object) -> None:
    if filter is None or isinstance(filter, LabelSelector):
        return
    if not callable(filter):
        raise ConfigError(
            f"filter must be a function or a LabelSelector, not {filter!r}; create a selector "
            "with LabelSelector.parse(...)"
        )
    if is_async_callable(filter):
        raise ConfigError(f"filter must not be async: make {_name_of(filter)} a plain def")


def _check_capacity(capacity: object) -> None:
    if not isinstance(capacity, int) or capacity < 1:
        raise ConfigError(f"capacity must be an integer of at least 1, not {capacity!r}")


def _check_resync_period(period: object) -> None:
    if period is None:
        return
    if not isinstance(period, int | float) or not math.isfinite(period) or period < 0:
        raise ConfigError(
            f"resync_period must be a number of seconds of at least 0, not {period!r}"
        )
