"""The registry: which controllers there are, and what they are called."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from kinform._checks import check_plain, expect
from kinform.controller_manager._context import ControllerContext
from kinform.controllers import ManagedController, RunnableObject
from kinform.errors import ConfigError

Built = ManagedController | RunnableObject | Callable[[], Awaitable[object]] | None
"""A controller, an object with ``async run()``, an async function, or nothing."""

Build = Callable[[ControllerContext], Built]
"""Builds a controller. It only declares what the controller needs; nothing runs yet."""

B = TypeVar("B", bound=Callable[..., Any])

# Names are IDs: of flags, paths, user agents and service accounts.
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_GATE = re.compile(r"[A-Za-z][A-Za-z0-9]*")


class ControllerDescriptor(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a controller before it is built.

    Raises:
        ConfigError: A name is invalid, or ``build`` is not a plain function.

    Attributes:
        name: The name, which never changes. A renamed controller keeps its old name as an alias.
        build: Builds the controller, or returns ``None`` if there is nothing to run.
        aliases: Other names for the same controller.
        gates: Feature gates that must all be enabled for it.
        default_on: Whether ``*`` includes it.
        summary: What it does, in a line.
    """

    name: str
    build: Build
    aliases: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    default_on: bool = True
    summary: str = ""

    def __post_init__(self) -> None:
        for option in ("aliases", "gates"):
            if isinstance(getattr(self, option), str):
                raise ConfigError(f"{option} of controller {self.name!r} must be a tuple of names")
        for name in (self.name, *self.aliases):
            _check(name, _NAME, "lower-case letters, digits and '-', such as 'job-controller'")
        for gate in self.gates:
            _check(gate, _GATE, "letters and digits, such as 'JobSuccessPolicy'")
        given: object = self.build  # callers may be untyped
        if not callable(given):
            raise ConfigError(f"controller {self.name!r} needs a function that builds it")
        check_plain(f"build of controller {self.name!r}", self.build)

    @property
    def names(self) -> tuple[str, ...]:
        """The name and all aliases."""
        return (self.name, *self.aliases)

    def missing_gates(self, enabled: Iterable[str]) -> tuple[str, ...]:
        """Return the gates that the controller needs and that are not enabled."""
        known = frozenset(enabled)
        return tuple(gate for gate in self.gates if gate not in known)


class ControllerRegistry:
    """Controllers by name, in the order in which they were added.

        registry = ControllerRegistry()

        @registry.controller("settings-controller", aliases=("settings",))
        def build(context: ControllerContext) -> Controller:
            return Controller(context.name, reconcile, for_=ConfigMap)

    A registry has all controllers, whether they are enabled or not: flags, gates and documents
    refer to the same names everywhere.

    Args:
        descriptors: The controllers.

    Raises:
        ConfigError: A name or an alias is used twice.
    """

    def __init__(self, descriptors: Iterable[ControllerDescriptor] = ()) -> None:
        self._by_name: dict[str, ControllerDescriptor] = {}
        # Of names and aliases alike.
        self._names: dict[str, str] = {}
        for each in descriptors:
            self.add(each)

    def add(self, descriptor: ControllerDescriptor) -> None:
        """Add a controller.

        Raises:
            ConfigError: This is not a descriptor, or one of its names is in use.
        """
        expect(
            descriptor,
            ControllerDescriptor,
            receiver="ControllerRegistry.add",
            expected="a ControllerDescriptor",
        )
        names = descriptor.names
        for name in names:
            owner = self._names.get(name, descriptor.name if names.count(name) > 1 else None)
            if owner is not None:
                raise ConfigError(
                    f"controller {descriptor.name!r} cannot be called {name!r}: that is a name of "
                    f"controller {owner!r} already"
                )
        self._by_name[descriptor.name] = descriptor
        self._names.update(dict.fromkeys(names, descriptor.name))

    def controller(
        self,
        name: str,
        *,
        aliases: Iterable[str] = (),
        gates: Iterable[str] = (),
        default_on: bool = True,
        summary: str = "",
    ) -> Callable[[B], B]:
        """Add the controller that the decorated function builds.

        The options are those of ``ControllerDescriptor``.

        Raises:
            ConfigError: A name is invalid or in use.
        """

        def register(build: B) -> B:
            self.add(
                ControllerDescriptor(
                    name=name,
                    build=build,
                    aliases=aliases if isinstance(aliases, str) else tuple(aliases),  # type: ignore[arg-type]
                    gates=gates if isinstance(gates, str) else tuple(gates),  # type: ignore[arg-type]
                    default_on=default_on,
                    summary=summary,
                )
            )
            return build

        return register

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all controllers, without aliases."""
        return tuple(self._by_name)

    def find(self, name: str) -> ControllerDescriptor:
        """Return a controller by its name or an alias.

        Raises:
            ConfigError: There is none; the message lists those that there are.
        """
        known = self._names.get(name)
        if known is None:
            raise ConfigError(
                f"there is no controller {name!r}; there are: {', '.join(sorted(self.names))}"
            )
        return self._by_name[known]

    def __iter__(self) -> Iterator[ControllerDescriptor]:
        return iter(tuple(self._by_name.values()))

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"<ControllerRegistry of {len(self)} controllers>"


def default_registry() -> ControllerRegistry:
    """Return a new registry of all controllers that are shipped with kinform."""
    # The shipped controllers import this module.
    from kinform.controller_manager.workloads import DESCRIPTORS

    return ControllerRegistry(DESCRIPTORS)


def _check(name: object, pattern: re.Pattern[str], rule: str) -> None:
    if not isinstance(name, str) or not pattern.fullmatch(name):
        raise ConfigError(f"the name {name!r} is invalid; it must consist of {rule}")
