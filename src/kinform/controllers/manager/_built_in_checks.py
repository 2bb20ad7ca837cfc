"""The checks that every manager has: its caches, its controllers, the election."""

from __future__ import annotations

from collections.abc import Iterable

from kinform.controllers.manager._clusters import ClusterSet
from kinform.controllers.manager._engine import Engine
from kinform.controllers.manager._health_checks import HealthChecks, Warned
from kinform.controllers.manager._protocols import ManagedElector
from kinform.informers import Health


class BuiltInChecks:
    """Checks of a manager, for probes and for ``Manager.health``.

    A restart cannot repair an outage of the API server, and loses the caches. So liveness depends
    only on what a restart repairs: an informer whose task has failed, and leader-only work that
    goes on although the lease was lost.

    Args:
        engine: The run of the manager.
        clusters: Its clusters.
        election: Its elector.
        max_staleness: Not ready if a cache may be older than this many seconds.
    """

    def __init__(
        self,
        engine: Engine,
        clusters: ClusterSet,
        election: ManagedElector | None,
        max_staleness: float | None,
    ) -> None:
        self._engine = engine
        self._clusters = clusters
        self._election = election
        self._max_staleness = max_staleness

    def add_to(self, liveness: HealthChecks, readiness: HealthChecks) -> None:
        """Add the checks to the probes."""
        liveness.add("caches", self.caches_live)
        readiness.add("manager", self.manager)
        readiness.add("caches", self.caches)
        readiness.add("controllers", self.controllers)
        if self._election is not None:
            liveness.add("leader", self.leader)
            readiness.add("leader", self.leader)

    def manager(self) -> str | None:
        """Ready between start and stop."""
        state = self._engine.state
        return None if state == "running" else f"{self._engine.name} is {state}"

    def caches_live(self) -> str | None:
        """Live unless the task of an informer has failed."""
        found = self._clusters.health(None).items()
        return _joined(_prefixed(name, str(health)) for name, health in found if not health.live)

    def caches(self) -> str | None:
        """Ready if the caches of all essential clusters are; other problems are warnings."""
        failures: list[str] = []
        warnings: list[str] = []
        for name, health in self._clusters.health(self._max_staleness).items():
            if health.ready and not health.problems:
                continue
            fails = not health.ready and self._clusters.is_essential(name)
            text = str(health) if health.problems else "not started"
            (failures if fails else warnings).append(_prefixed(name, text))
        return _joined(failures) or _warned(warnings)

    def controllers(self) -> str | None:
        """Ready if all essential components are warm and have no problem."""
        failures: list[str] = []
        warnings: list[str] = []
        for member in self._engine.members:
            problem = member.problem()
            if problem:
                text = f"{member.name}: {problem}"
                (failures if member.component.essential else warnings).append(text)
        return _joined(failures) or _warned(warnings)

    def leader(self) -> str | None:
        """Healthy as leader and as candidate, unless work goes on after the lease was lost."""
        assert self._election is not None
        status = self._election.status()
        last_error = getattr(status, "last_error", "")
        return _joined(self._election.problems()) or _warned([last_error] if last_error else [])

    def health(self) -> Health:
        """Return the result of all of these checks."""
        caches = self._clusters.health(self._max_staleness)
        live = [self.caches_live()]
        ready = {
            "manager": self.manager(),
            "caches": self.caches(),
            "controllers": self.controllers(),
        }
        if self._election is not None:
            ready["leader"] = self.leader()
            live.append(ready["leader"])
        ages = [each.staleness for each in caches.values()]
        return Health(
            live=not any(map(_fails, live)),
            ready=not any(map(_fails, ready.values())),
            staleness=None if None in ages else max(age for age in ages if age is not None),
            problems={name: text for name, text in ready.items() if text},
        )


def _fails(found: str | None) -> bool:
    return bool(found) and not isinstance(found, Warned)


def _prefixed(cluster: str, text: str) -> str:
    return f"cluster {cluster}: {text}" if cluster else text


def _joined(texts: Iterable[str]) -> str | None:
    return "; ".join(texts) or None


def _warned(texts: Iterable[str]) -> Warned | None:
    text = "; ".join(texts)
    return Warned(text) if text else None
