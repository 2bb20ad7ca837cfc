"""The backlog monitor: warns about handlers that fall behind, at growing intervals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from kinform.informers.dispatch._registration import Subscription

_log = logging.getLogger("kinform.dispatch")

_INTERVAL = 10.0
# The first warning; each further one needs ten times as much.
_DEPTH = 10_000
_AGE = 60.0
_GROWTH = 10

_ADVICE = {
    "unbounded": "; policy='coalesce' keeps one change per object, 'block' pauses the informer",
    "block": "; the informer waits for it at its capacity",
    "coalesce": "",
}


class _Limits(msgspec.Struct):
    """The backlog of one subscriber at which it is reported next."""

    depth: int
    age: float


class BacklogMonitor:
    """Looks at the mailboxes now and then, so that delivery itself does not have to.

    Args:
        subscriptions: Returns the current subscribers.
    """

    def __init__(self, subscriptions: Callable[[], Sequence[Subscription]]) -> None:
        self._subscriptions = subscriptions
        self._limits: dict[Subscription, _Limits] = {}

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(_INTERVAL)
            self.check()

    def check(self) -> None:
        """Log the handlers that are further behind than at the last report, and those in time."""
        before, self._limits = self._limits, {}
        for each in self._subscriptions():
            depth, age = each.mailbox.depth, each.mailbox.age
            limits = before.get(each)
            if depth < _DEPTH and age < _AGE:
                if limits is not None:
                    _log.info("handler %s has caught up: %d changes pending", each.name, depth)
                continue
            limits = self._limits[each] = limits or _Limits(_DEPTH, _AGE)
            if depth >= limits.depth or age >= limits.age:
                _warn(each, depth, age)
            while depth >= limits.depth:
                limits.depth *= _GROWTH
            while age >= limits.age:
                limits.age *= _GROWTH


def _warn(subscription: Subscription, depth: int, age: float) -> None:
    _log.warning(
        "handler %s is behind: %d changes pending, about %.1f MB of objects, "
        "the oldest for %.0f s%s",
        subscription.name,
        depth,
        subscription.mailbox.estimated_bytes / 1e6,
        age,
        _ADVICE[subscription.policy],
    )
