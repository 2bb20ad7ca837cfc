"""The status of a manager and its components."""

from __future__ import annotations

from typing import Literal

import msgspec

ManagerState = Literal["new", "starting", "running", "stopping", "stopped"]


class ComponentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one component.

    Attributes:
        name: Its name.
        kind: ``controller`` or ``function``.
        cluster: The name of its cluster; empty for the manager's own.
        needs_leader: Whether it runs only on the leader.
        essential: Whether its failure stops the manager.
        state: ``new``, ``warming up``, ``waiting`` (for leadership, or for its start),
            ``running``, ``restarting``, ``finished``, ``failed`` or ``stopped``.
        problem: What is wrong with it; empty if nothing is.
        last_error: Its last error; kept after a restart.
        restarts: How often it was restarted.
    """

    name: str
    kind: Literal["controller", "function"]
    cluster: str
    needs_leader: bool
    essential: bool
    state: str
    problem: str
    last_error: str
    restarts: int


class ManagerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the state of a manager.

    Attributes:
        name: The name of the manager.
        state: ``new``, ``starting``, ``running``, ``stopping`` or ``stopped``.
        address: Where its pages are served; empty without a server.
        is_leader: Whether leader-only components may run here.
        leader: The identity of the leader as observed; empty without an election, or if unknown.
        clusters: The names of all clusters; the manager's own is empty.
        components: The components in the order in which they were added.
    """

    name: str
    state: ManagerState
    address: str
    is_leader: bool
    leader: str
    clusters: tuple[str, ...]
    components: tuple[ComponentStatus, ...]
