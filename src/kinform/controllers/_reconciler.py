"""Calls reconcilers of all kinds: functions and objects, def and async def."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from kinform._checks import is_async_callable
from kinform.controllers._context import Context
from kinform.controllers._results import Result
from kinform.controllers._threads import DaemonThreads
from kinform.errors import ConfigError

K_contra = TypeVar("K_contra", contravariant=True)


class Reconciler(Protocol[K_contra]):
    """An object that reconciles; ``reconcile`` may be ``def`` or ``async def``."""

    def reconcile(
        self, request: K_contra, context: Context[Any], /
    ) -> Result | Awaitable[Result]: ...


ReconcileFunction = Callable[[Any, Context[Any]], Result | Awaitable[Result]]
"""A function that reconciles; ``def`` or ``async def``."""


class ReconcileCaller:
    """Calls one reconciler: ``async def`` on the event loop, ``def`` on its own threads.

    Args:
        reconciler: A function, or an object with a method ``reconcile``.
        name: The name of the controller, for threads and errors.
        threads: The number of threads of a ``def`` reconciler.

    Raises:
        ConfigError: It is neither.

    Attributes:
        is_async: Whether it runs on the event loop.
    """

    def __init__(self, reconciler: object, *, name: str, threads: int) -> None:
        function = getattr(reconciler, "reconcile", reconciler)
        if not callable(function) or isinstance(reconciler, type):
            raise ConfigError(
                f"the reconciler of {name} must be a function, or an object with a method "
                f"reconcile, not {reconciler!r}"
            )
        _check_signature(function, name)
        self._function: Callable[[Any, Context[Any]], Any] = function
        self._name = name
        self._threads = DaemonThreads(f"kinform-{name}", threads)
        self.is_async = is_async_callable(function)

    async def call(self, context: Context[Any]) -> object:
        """Return what the reconciler returns, or raise what it raises."""
        if self.is_async:
            return self._checked(await self._function(context.request, context))
        return await self._threads.call(self._call_on_thread, context)

    def _call_on_thread(self, context: Context[Any]) -> object:
        return self._checked(self._function(context.request, context))

    def _checked(self, result: object) -> object:
        if not inspect.iscoroutine(result):
            return result
        result.close()
        kind, remedy = (
            ("async def", "await it in the reconciler")
            if self.is_async
            else ("def", "make it async def")
        )
        raise ConfigError(
            f"the reconciler of {self._name} is {kind} but returned a coroutine, which is not "
            f"awaited; {remedy}"
        )

    @property
    def abandoned(self) -> int:
        """The number of calls on threads that have not returned; after a timeout they run on."""
        return self._threads.running

    async def close(self, timeout: float) -> bool:
        """End the threads; return whether all have ended within ``timeout`` seconds."""
        return await self._threads.close(timeout)


def _check_signature(function: Callable[..., object], name: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # such as a builtin, which is checked by its first call
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise ConfigError(
            f"the reconciler of {name} must take two arguments, the request and the context; "
            f"it is {getattr(function, '__qualname__', function)}{signature}"
        ) from None
