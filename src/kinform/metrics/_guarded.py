"""Somebody's metrics in; the same, but what they raise is logged and goes no further, out."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, cast

from kinform.metrics._base import NO_METRICS, Metrics, NoMetrics

logger = logging.getLogger("kinform.metrics")

_CALLS = tuple(name for name in vars(NoMetrics) if not name.startswith("_"))


def guarded(metrics: Metrics) -> Metrics:
    """Metrics that cannot end an informer: counting is not worth that."""
    if metrics is NO_METRICS or isinstance(metrics, _Guarded):
        return metrics
    return cast(Metrics, _Guarded(metrics))


class _Guarded:
    def __init__(self, metrics: Metrics) -> None:
        for name in _CALLS:
            # Who counts only some of it need not say so.
            setattr(self, name, _quiet(getattr(metrics, name, getattr(NO_METRICS, name))))


def _quiet(call: Callable[..., Any]) -> Callable[..., None]:
    @functools.wraps(call)
    def quiet(*args: Any, **options: Any) -> None:
        try:
            call(*args, **options)
        except Exception:  # the user's code
            logger.exception("metrics failed in %s", getattr(call, "__name__", call))

    return quiet
