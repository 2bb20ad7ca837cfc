"""Argument checks: callers may be untyped, and an early error names the mistake."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from kinform.errors import ConfigError


def expect(
    given: object, wanted: type[Any], *, receiver: str, expected: str, hint: str = ""
) -> None:
    """Check the type of an argument.

    Args:
        given: The argument.
        wanted: The required type.
        receiver: The function, class or option that was called with it, for the message.
        expected: What the receiver accepts, for the message.
        hint: What to do instead, for the message.

    Raises:
        ConfigError: ``given`` is not an instance of ``wanted``.
    """
    if not isinstance(given, wanted):
        raise ConfigError(_message(given, receiver, expected, hint))


def expect_client(
    given: object, wanted: type[Any], *, receiver: str, package: str = "kinform"
) -> None:
    """Check that an argument is a client, and not a configuration.

    Args:
        given: The argument.
        wanted: A class, or a Protocol, which every object with all of its members satisfies.
        receiver: The function or class that was called with it, for the message.
        package: The package whose client is accepted, for the message.

    Raises:
        ConfigError: ``given`` is not a client; the message names a missing member.
    """
    hint = f"create one with {package}.Client.from_env() or {package}.Client(config)"
    if not getattr(wanted, "_is_protocol", False):
        expect(given, wanted, receiver=receiver, expected=f"a {package}.Client", hint=hint)
        return
    missing = _missing_members(given, wanted)
    if not missing:
        return
    if len(missing) < len(_members(wanted)):  # otherwise it does not resemble a client
        protocol = f"{wanted.__module__.partition('._')[0]}.{wanted.__name__}"
        hint = f"it has no {missing[0]!r}, which {protocol} requires; {hint}"
    raise ConfigError(_message(given, receiver, f"a {package}.Client", hint))


def _missing_members(given: object, protocol: type[Any]) -> list[str]:
    members = _members(protocol)
    # A class has the methods, too, but cannot be used in place of an instance.
    return [each for each in members if isinstance(given, type) or not hasattr(given, each)]


def _members(protocol: type[Any]) -> list[str]:
    """Return the public methods and properties of a Protocol, in the order of definition."""
    return [name for name in vars(protocol) if not name.startswith("_")]


def _message(given: object, receiver: str, expected: str, hint: str) -> str:
    return f"{receiver} takes {expected}, not {_describe(given)}{f'; {hint}' if hint else ''}"


def _describe(given: object) -> str:
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
        raise ConfigError(f"{option} must be a function, not {function!r}")


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
            f"{option} must not be async: pass a plain function (it may start a task)"
        )
