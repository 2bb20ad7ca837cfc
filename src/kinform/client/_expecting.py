"""What a caller passed in; nothing out, or an error that names it, what was meant, and how to."""

from __future__ import annotations

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
