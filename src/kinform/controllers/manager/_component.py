"""Components: what can be added to a manager, behind one interface."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from kinform._checks import is_async_callable
from kinform.controllers._cluster import Cluster
from kinform.controllers.manager._protocols import ManagedController, RunnableObject
from kinform.errors import ConfigError
from kinform.metrics import Metrics


class Component(Protocol):
    """Something that a manager runs.

    Attributes:
        name: Its name, unique in the manager.
        cluster: The name of its cluster; empty for the manager's own.
        needs_leader: Whether it runs only on the leader.
        essential: Whether its failure stops the manager.
    """

    name: str
    cluster: str
    needs_leader: bool
    essential: bool

    @property
    def controller(self) -> ManagedController | None: ...

    async def warm_up(self) -> None:
        """Prepare; called before leadership is won."""

    async def work(self, leadership: Any) -> None:
        """Do the work; ends by ``stop`` or cancellation."""

    def stop(self) -> bool:
        """Ask to finish; ``False`` if only cancellation ends the work."""
        ...

    async def close(self) -> None:
        """Release everything that ``warm_up`` created."""

    def problems(self) -> tuple[str, ...]: ...


class ControllerComponent:
    """A controller, bound to its cluster and to the recorder of the manager."""

    def __init__(
        self,
        controller: ManagedController,
        cluster: Cluster,
        recorder: Any,
        metrics: Metrics,
        *,
        needs_leader: bool,
        essential: bool,
    ) -> None:
        if getattr(controller, "metrics", metrics) is None:
            controller.metrics = metrics  # type: ignore[attr-defined]
        self.name = controller.name
        self.cluster = cluster.name
        self.needs_leader = needs_leader
        self.essential = essential
        self.controller = controller
        self._cluster = cluster
        self._recorder = recorder

    async def warm_up(self) -> None:
        await self.controller.warm_up(self._cluster, recorder=self._recorder)

    async def work(self, leadership: Any) -> None:
        await self.controller.work(leadership)

    def stop(self) -> bool:
        self.controller.stop()
        return True

    async def close(self) -> None:
        await self.controller.close()

    def problems(self) -> tuple[str, ...]:
        return tuple(self.controller.problems())


class FunctionComponent:
    """An async function, or the method ``run`` of an object. Cancellation ends it."""

    controller = None

    def __init__(
        self,
        name: str,
        function: Callable[[], Awaitable[object]],
        *,
        cluster: str = "",
        needs_leader: bool,
        essential: bool,
    ) -> None:
        self.name = name
        self.cluster = cluster
        self.needs_leader = needs_leader
        self.essential = essential
        self._function = function

    async def warm_up(self) -> None:
        pass

    async def work(self, leadership: Any) -> None:
        await self._function()

    def stop(self) -> bool:
        return False

    async def close(self) -> None:
        pass

    def problems(self) -> tuple[str, ...]:
        return ()


def component_of(
    given: object,
    cluster: Cluster,
    recorder: Any,
    metrics: Metrics,
    *,
    name: str | None,
    needs_leader: bool | None,
    essential: bool,
) -> Component:
    """Return the component for an argument of ``Manager.add``.

    Raises:
        ConfigError: It is not a controller, an async function, or an object with ``async run()``.
    """
    if isinstance(given, ManagedController) and not isinstance(given, type):
        if name is not None and name != given.name:
            raise ConfigError(
                f"controller {given.name!r} has a name already, so name={name!r} is not allowed"
            )
        wanted = given.needs_leader if needs_leader is None else needs_leader
        return ControllerComponent(
            given, cluster, recorder, metrics, needs_leader=wanted, essential=essential
        )
    if needs_leader is None:
        # As in controller-runtime: work on several replicas at once must be asked for.
        needs_leader = bool(getattr(given, "needs_leader", True))
    return FunctionComponent(
        name or _name_of(given),
        _function_of(given),
        cluster=cluster.name,
        needs_leader=needs_leader,
        essential=essential,
    )


def _function_of(given: object) -> Callable[[], Awaitable[object]]:
    if not isinstance(given, type):
        if isinstance(given, RunnableObject) and is_async_callable(given.run):
            return given.run
        if callable(given) and is_async_callable(given):
            _require_no_arguments(given)
            return given
    raise ConfigError(
        "Manager.add takes a Controller, an async function without arguments, or an object with "
        f"async run(), not {_described(given)}"
    )


def _require_no_arguments(function: Callable[..., object]) -> None:
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise ConfigError(
            f"{_name_of(function)} must not require arguments ({error}); use functools.partial"
        ) from None
    except ValueError:  # it has no signature, so it is found out when it is called
        return


def _name_of(given: object) -> str:
    while hasattr(given, "func"):  # a functools.partial
        given = given.func
    for attribute in ("name", "__qualname__"):
        found = getattr(given, attribute, None)
        if isinstance(found, str) and found:
            return found.removeprefix("<locals>.").rpartition(".<locals>.")[2]
    return type(given).__name__


def _described(given: object) -> str:
    if isinstance(given, type):
        return f"the class {given.__name__}; pass an instance"
    if callable(given):
        return f"{_name_of(given)}, which is not async"
    return repr(given)
