"""The page /metrics, from the registry of prometheus_client."""

from __future__ import annotations

from importlib.util import find_spec

from kinform.metrics import NO_METRICS, Metrics

INSTALL = "prometheus_client is not installed; install it with: pip install 'kinform[prometheus]'\n"


def default_metrics() -> Metrics:
    """Return metrics for Prometheus if prometheus_client is installed, else none."""
    if find_spec("prometheus_client") is None:
        return NO_METRICS
    from kinform.metrics import PrometheusMetrics

    return PrometheusMetrics()


def render_metrics(metrics: Metrics, accept: str) -> tuple[str, bytes] | None:
    """Return content type and body; ``None`` if prometheus_client is not installed.

    Args:
        metrics: The metrics of the manager; their registry is served.
        accept: The header of the request, which selects the text format.
    """
    try:
        from prometheus_client import REGISTRY
        from prometheus_client.exposition import choose_encoder
    except ImportError:
        return None
    registry = getattr(metrics, "registry", None) or REGISTRY
    encode, content_type = choose_encoder(accept)
    return content_type, encode(registry)
