"""Wraps metrics so that their exceptions are logged instead of raised."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, cast

from kinform.metrics._base import NO_METRICS, Metrics, NoMetrics

logger = logging.getLogger("kinform.metrics")

_CALLS = tuple(name for name in vars(NoMetrics) if not name.startswith("_"))


def guarded(metrics: Metrics) -> Metrics:
    """Return metrics whose exceptions cannot end an informer."""
    if metrics is NO_METRICS or isinstance(metrics, _Guarded):
        return metrics
    return cast(Metrics, _Guarded(metrics))


class _Guarded:
    def __init__(self, metrics: Metrics) -> None:
        for name in _CALLS:
            # Methods that the user did not implement are ignored.
            setattr(self, name, _quiet(getattr(metrics, name, getattr(NO_METRICS, name))))


def _quiet(call: Callable[..., Any]) -> Callable[..., None]:
    @functools.wraps(call)
    def quiet(*args: Any, **options: Any) -> None:
        try:
            call(*args, **options)
        except Exception:  # user code
            logger.exception("metrics failed in %s", getattr(call, "__name__", call))

    return quiet
