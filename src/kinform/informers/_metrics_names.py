"""The names of informers in metrics: short, and the same after a restart of the program.

``v1/pods``, ``v1/pods/default`` for one namespace, ``v1/pods:metadata`` for metadata only.
Selectors are not part of them: they are long, and change. Informers with equal names get numbers.
The sources of an informer with several report their lists and watches by namespace:
``v1/pods[default]``, or ``v1/pods[*]`` for all.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol
from weakref import WeakSet

from kinform._runtime import Lifecycle
from kinform.informers._scope import Scope
from kinform.informers.sources import Source, metrics_name
from kinform.metrics import NO_METRICS, Metrics


class MetricsUser(Protocol):
    """An informer that reports metrics.

    Attributes:
        metrics_name: The name in metrics.
        metrics: The receiver of the metrics.
        lifecycle: The lifecycle of the informer.
    """

    metrics_name: str
    metrics: Metrics
    lifecycle: Lifecycle


_users: WeakSet[MetricsUser] = WeakSet()
_lock = threading.Lock()


def metrics_name_of(sources: Sequence[Source[Any]]) -> str:
    """Return the name of an informer with these sources."""
    first = sources[0]
    if len(sources) == 1:
        return first.metrics_name
    return metrics_name(first.resource, first.form) or first.name


def metrics_name_of_scope(source: Source[Any], scope: Scope) -> str:
    """Return the name of an informer whose sources are made from one, for a scope."""
    if len(scope.namespaces) == 1:
        source = source.with_scope(namespace=scope.namespaces[0], labels="", fields="")
    return metrics_name_of([source])


def register(user: MetricsUser) -> None:
    """Make the name unique among all informers that report to the same metrics and may run.

    The second ``v1/pods`` becomes ``v1/pods#2``. A name is free again when its informer has stopped
    or is gone.
    """
    if user.metrics is NO_METRICS:
        return
    with _lock:
        taken = {
            each.metrics_name
            for each in _users
            if each.metrics is user.metrics and not each.lifecycle.is_stopped
        }
        name, number = user.metrics_name, 1
        while user.metrics_name in taken:
            number += 1
            user.metrics_name = f"{name}#{number}"
        _users.add(user)
