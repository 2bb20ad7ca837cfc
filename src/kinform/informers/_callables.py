"""Functions of the user in; whether they are to be called or awaited out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

from kinform.errors import ConfigError


def is_async_callable(callback: Callable[..., object]) -> bool:
    """Whether calling it gives something to await; partials and callable objects included."""
    while isinstance(callback, functools.partial):
        callback = callback.func
    if inspect.iscoroutinefunction(callback):
        return True
    return inspect.iscoroutinefunction(type(callback).__call__)


def check_callable(option: str, function: object) -> None:
    """Refuse what is no function.

    Raises:
        ConfigError: It cannot be called; ``option`` is what the user calls it.
    """
    if not callable(function):
        raise ConfigError(f"{option} is called, and {function!r} cannot be: pass a function")


def check_plain(option: str, function: Callable[..., object] | None) -> None:
    """Refuse what cannot be called, and what would have to be awaited where nobody does.

    Raises:
        ConfigError: It is no function, or async; ``option`` is what the user calls it.
    """
    if function is None:
        return
    check_callable(option, function)
    if is_async_callable(function):
        raise ConfigError(
            f"{option} is called, not awaited: pass a plain def (it may start a task)"
        )
