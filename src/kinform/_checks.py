"""Checks of arguments: callers are not all type-checked, and an early error names the mistake."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from kinform.errors import ConfigError


def expect(given: object, wanted: type[Any], *, taker: str, meant: str, way_out: str = "") -> None:
    """Refuse what is of another class: callers are not all type-checked.

    Raises:
        ConfigError: ``taker`` takes what is ``meant``, and this is none.
    """
    if not isinstance(given, wanted):
        hint = f"; {way_out}" if way_out else ""
        raise ConfigError(f"{taker} takes {meant}, not {_called(given)}{hint}")


def expect_client(given: object, wanted: type[Any], *, taker: str, room: str = "kinform") -> None:
    """The same, for clients: those of ``room``, and no configuration."""
    expect(
        given,
        wanted,
        taker=taker,
        meant=f"a {room}.Client",
        way_out=f"{room}.Client.from_env() makes one, {room}.Client(config) makes one of a "
        "configuration",
    )


def _called(given: object) -> str:
    """By its class, for what it holds may be long or secret."""
    if given is None:
        return "None"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    module = type(given).__module__.partition("._")[0]
    name = type(given).__name__
    return name if module == "builtins" else f"{module}.{name}"


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
