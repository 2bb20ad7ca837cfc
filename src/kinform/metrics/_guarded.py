"""Wraps the metrics of one informer or kind: sets its name, and logs exceptions."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, cast

from kinform.metrics._base import NO_METRICS, Metrics, NoMetrics

logger = logging.getLogger("kinform.metrics")

_CALLS = tuple(name for name in vars(NoMetrics) if not name.startswith("_"))


def guarded(metrics: Metrics, name: str) -> Metrics:
    """Return metrics whose exceptions cannot end an informer or a read.

    Args:
        metrics: The metrics; returned as they are if they are guarded already.
        name: The name of the informer or kind in metrics, which replaces the one that callers
            pass: they know the name for logs.
    """
    if metrics is NO_METRICS or isinstance(metrics, _Guarded):
        return metrics
    return cast(Metrics, _Guarded(metrics, name))


class _Guarded:
    def __init__(self, metrics: Metrics, name: str) -> None:
        for method in _CALLS:
            # Methods that the user did not implement are ignored.
            call = getattr(metrics, method, getattr(NO_METRICS, method))
            setattr(self, method, _quiet(call, name))


def _quiet(call: Callable[..., Any], name: str) -> Callable[..., None]:
    @functools.wraps(call)
    def quiet(_name: str, *args: Any, **options: Any) -> None:
        try:
            call(name, *args, **options)
        except Exception:  # user code
            logger.exception("metrics failed in %s", getattr(call, "__name__", call))

    return quiet
