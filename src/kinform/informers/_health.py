"""The health of a set of informers, for liveness and readiness probes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kinform.informers._shared_informer import SharedIndexInformer


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Whether informers work, for liveness and readiness probes. ``str`` names the problems.

    Attributes:
        live: Whether no informer has failed. The API server has no influence on it, because a
            restart cannot repair an outage, and loses the store.
        ready: Whether all informers run and have synced, and are current enough if a limit was
            given.
        staleness: Seconds since all stores were last known to be current; ``None`` if one of them
            never was.
        problems: Text by informer. A store that is not updated is a problem even if it is ready.
    """

    live: bool
    ready: bool
    staleness: float | None
    problems: Mapping[str, str]

    def __str__(self) -> str:
        texts = (f"{name}: {problem}" for name, problem in sorted(self.problems.items()))
        return "; ".join(texts) or "ok"


def health_of(
    informers: Iterable[SharedIndexInformer[Any]], max_staleness: float | None = None
) -> Health:
    """Return the health of these informers; see ``InformerFactory.health``. Thread-safe."""
    live = ready = True
    oldest: float | None = 0.0
    problems: dict[str, str] = {}
    for informer in informers:
        staleness = informer.staleness
        oldest = None if oldest is None or staleness is None else max(oldest, staleness)
        is_stale = max_staleness is not None and staleness is not None and staleness > max_staleness
        live &= not informer.has_failed
        ready &= informer.is_running and staleness is not None and not is_stale
        problem = _problem(informer, is_stale=is_stale)
        if problem:
            problems[informer.name] = problem
    return Health(live=live, ready=ready, staleness=oldest, problems=problems)


def _problem(informer: SharedIndexInformer[Any], *, is_stale: bool) -> str:
    sync = informer.sync_status()
    if informer.has_failed:
        return f"failed: {sync.error or 'its task was cancelled'}"
    if informer.is_stopped:
        return "stopped"
    if not sync or sync.error is not None:
        return str(sync)
    return f"synced, but not known to be current for {sync.staleness:.0f} s" if is_stale else ""
