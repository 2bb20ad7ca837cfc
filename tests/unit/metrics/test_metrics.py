"""The default counts nothing, takes everything, and needs no library."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from kinform import metrics
from kinform.metrics import Metrics, NoMetrics, PrometheusMetrics


def _methods(kind: type) -> dict[str, list[str]]:
    return {
        name: list(inspect.signature(method).parameters)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.parametrize("kind", [NoMetrics, PrometheusMetrics])
def test_each_takes_all_that_the_engine_tells(kind: type) -> None:
    assert _methods(kind) == _methods(Metrics)


def test_some_of_it_can_be_taken() -> None:
    told: list[str] = []

    class OnlyRelists(NoMetrics):
        def relisted(self, informer: str, reason: str) -> None:
            told.append(f"{informer}: {reason}")

    mine: Metrics = OnlyRelists()
    mine.watch_opened("pods")
    mine.relisted("pods", "expired")

    assert told == ["pods: expired"]


def test_the_room_shows_its_names_and_no_others() -> None:
    assert set(metrics.__all__) <= set(dir(metrics))
    with pytest.raises(AttributeError, match="Statsd"):
        _ = metrics.Statsd


def test_the_library_is_loaded_only_when_it_is_asked_for() -> None:
    script = "import sys, kinform.metrics; assert 'prometheus_client' not in sys.modules"

    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)


def test_without_the_library_the_error_names_the_extra() -> None:
    script = """
import sys
sys.modules["prometheus_client"] = None
from kinform.errors import ConfigError
import kinform.metrics
try:
    kinform.metrics.PrometheusMetrics
except ConfigError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, timeout=30, capture_output=True, text=True
    )

    assert "kinform[prometheus]" in done.stdout
