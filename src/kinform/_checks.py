"""Argument checks: callers may be untyped, and an early error names the mistake."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from kinform.errors import ConfigError


def expect(given: object, wanted: type[Any], *, taker: str, meant: str, way_out: str = "") -> None:
    """Check the type of an argument.

    Raises:
        ConfigError: ``given`` is not an instance of ``wanted``; the message says what ``taker``
            accepts.
    """
    if not isinstance(given, wanted):
        hint = f"; {way_out}" if way_out else ""
        raise ConfigError(f"{taker} takes {meant}, not {_called(given)}{hint}")


def expect_client(given: object, wanted: type[Any], *, taker: str, room: str = "kinform") -> None:
    """Check that an argument is a client of the package ``room``, and not a configuration."""
    expect(
        given,
        wanted,
        taker=taker,
        meant=f"a {room}.Client",
        way_out=f"{room}.Client.from_env() makes one, {room}.Client(config) makes one of a "
        "configuration",
    )


def _called(given: object) -> str:
    """Describe a value by its class, since its contents may be long or secret."""
    if given is None:
        return "None"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    module = type(given).__module__.partition("._")[0]
    name = type(given).__name__
    return name if module == "builtins" else f"{module}.{name}"


def is_async_callable(callback: Callable[..., object]) -> bool:
    """Whether a callable returns an awaitable; handles partials and callable objects."""
    while isinstance(callback, functools.partial):
        callback = callback.func
    if inspect.iscoroutinefunction(callback):
        return True
    return inspect.iscoroutinefunction(type(callback).__call__)


def check_callable(option: str, function: object) -> None:
    """Check that an argument is callable.

    Raises:
        ConfigError: It is not; the message names ``option``.
    """
    if not callable(function):
        raise ConfigError(f"{option} is called, and {function!r} cannot be: pass a function")


def check_plain(option: str, function: Callable[..., object] | None) -> None:
    """Check that an optional callback is callable and not async.

    Raises:
        ConfigError: It is not callable, or it is async; the message names ``option``.
    """
    if function is None:
        return
    check_callable(option, function)
    if is_async_callable(function):
        raise ConfigError(
            f"{option} is called, not awaited: pass a plain def (it may start a task)"
        )
