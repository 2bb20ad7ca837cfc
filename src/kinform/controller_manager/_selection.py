"""Which controllers run: lists such as ``*,-job-controller``."""

from __future__ import annotations

from collections.abc import Iterable

from kinform.controller_manager._registry import ControllerDescriptor, ControllerRegistry
from kinform.errors import ConfigError

_ALL = "*"


class ControllerSelection:
    """A choice of controllers.

        ControllerSelection("*,-job-controller", registry)

    ``name`` switches a controller on, ``-name`` off, ``*`` all on that are on by default. If a
    controller is mentioned several times, the first time counts, wherever ``*`` is. Without ``*``,
    only the named controllers run.

    Args:
        given: The names, as a list or separated by commas. Aliases are accepted.
        registry: The controllers that there are.

    Raises:
        ConfigError: A controller does not exist, or this is not a list of names.
    """

    def __init__(self, given: str | Iterable[str], registry: ControllerRegistry) -> None:
        self._has_all = False
        self._explicit: dict[str, bool] = {}
        for item in _items(given):
            if item == _ALL:
                self._has_all = True
                continue
            name = registry.find(item.removeprefix("-")).name
            self._explicit.setdefault(name, not item.startswith("-"))

    def is_enabled(self, descriptor: ControllerDescriptor) -> bool:
        """Whether a controller is selected; its gates may still forbid it."""
        return self._explicit.get(descriptor.name, self._has_all and descriptor.default_on)

    def choose(self, registry: ControllerRegistry) -> tuple[ControllerDescriptor, ...]:
        """Return the selected controllers, in the order of the registry."""
        return tuple(each for each in registry if self.is_enabled(each))

    def __repr__(self) -> str:
        words = [name if is_on else f"-{name}" for name, is_on in self._explicit.items()]
        return f"<ControllerSelection {','.join([_ALL, *words] if self._has_all else words)}>"


def _items(given: object) -> list[str]:
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, Iterable):
        raise ConfigError(f"controllers must be names such as '*,-job-controller', not {given!r}")
    items = [each.strip() if isinstance(each, str) else "" for each in given]
    if not all(items):
        raise ConfigError(
            f"controllers {given!r} has an empty name; separate names with single commas"
        )
    return items
