"""Metrics: an interface, a no-op default, and an adapter for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinform.metrics._base import NO_METRICS, Metrics, NoMetrics, WorkQueueGauges
from kinform.metrics._guarded import guarded

if TYPE_CHECKING:
    from kinform.metrics._prometheus import PrometheusMetrics

__all__ = [
    "NO_METRICS",
    "Metrics",
    "NoMetrics",
    "PrometheusMetrics",
    "WorkQueueGauges",
    "guarded",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: prometheus_client is an optional dependency.
    if name != "PrometheusMetrics":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kinform.metrics._prometheus import PrometheusMetrics

    globals()[name] = PrometheusMetrics
    return PrometheusMetrics


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
