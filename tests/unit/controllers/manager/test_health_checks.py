"""Health checks: what passes, what fails, and the text for probes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.controllers.manager._health_checks import CheckResult, HealthChecks, Warned, render
from kinform.errors import ConfigError
from kinform.testing import virtual_time


async def _result(check: Any) -> CheckResult:
    checks = HealthChecks("readyz")
    checks.add("it", check)
    (result,) = await checks.run()
    return result


@pytest.mark.parametrize("found", [None, True])
@virtual_time
async def test_nothing_and_true_pass(found: Any) -> None:
    assert (await _result(lambda: found)).passed


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (False, "the check returned False"),
        ("disk full", "disk full"),
        (7, "the check returned 7; it must return None, True, False or a reason"),
    ],
)
@virtual_time
async def test_anything_else_fails(found: Any, reason: str) -> None:
    assert (await _result(lambda: found)).reason == reason


@virtual_time
async def test_an_exception_is_the_reason() -> None:
    def check() -> None:
        raise OSError("disk full")

    assert (await _result(check)).reason == "OSError: disk full"


@virtual_time
async def test_async_checks_run_side_by_side_and_may_take_five_seconds() -> None:
    async def slow() -> None:
        await asyncio.sleep(4)

    async def hangs() -> None:
        await asyncio.Event().wait()

    checks = HealthChecks("readyz")
    checks.add("slow", slow)
    checks.add("hangs", hangs)
    results = await checks.run()

    assert [each.reason for each in results] == ["", "no result within 5 s"]
    assert asyncio.get_running_loop().time() == pytest.approx(5)


@pytest.mark.parametrize("name", ["", "a/b", "a b", "a?b", None])
def test_names_must_fit_into_a_path(name: Any) -> None:
    with pytest.raises(ConfigError, match="name that can be part of a path"):
        HealthChecks("readyz").add(name, lambda: None)


def test_names_are_unique() -> None:
    checks = HealthChecks("readyz")
    checks.add("disk", lambda: None)
    with pytest.raises(ConfigError, match="readyz has a check 'disk' already"):
        checks.add("disk", lambda: None)


def test_a_check_must_be_a_function() -> None:
    with pytest.raises(ConfigError, match="the check 'disk' must be a function"):
        HealthChecks("readyz").add("disk", True)  # type: ignore[arg-type]


def test_warnings_are_listed_but_pass() -> None:
    warned = CheckResult(name="caches", warning="pods are stale")

    assert render("readyz", [warned], verbose=False) == (200, "ok")
    assert render("readyz", [warned], verbose=True) == (
        200,
        "[+]caches ok, but pods are stale\nreadyz check passed\n",
    )


@virtual_time
async def test_a_warning_of_a_check_passes() -> None:
    assert await _result(lambda: Warned("stale")) == CheckResult(name="it", warning="stale")
