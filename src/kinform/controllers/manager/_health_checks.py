"""Named health checks, their results, and the text that probes receive."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from kinform._checks import check_callable
from kinform.controllers.manager._supervisor import describe
from kinform.errors import ConfigError

logger = logging.getLogger("kinform.manager")

HealthCheck = Callable[[], Any]
"""A check, ``def`` or ``async def``. It passes if it returns ``None`` or ``True``. It fails if it
raises, or returns ``False`` or a text, which is the reason."""

# Kubernetes waits one second for a probe unless told otherwise, operators often allow five.
_TIMEOUT = 5.0


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check.

    Attributes:
        name: The name of the check.
        reason: Why it failed; empty if it passed.
        warning: What is wrong although it passed.
    """

    name: str
    reason: str = ""
    warning: str = ""

    @property
    def passed(self) -> bool:
        return not self.reason

    def __str__(self) -> str:
        if self.reason:
            return f"[-]{self.name} failed: {self.reason}"
        return f"[+]{self.name} ok{f', but {self.warning}' if self.warning else ''}"


class Warned(str):
    """A problem that does not fail the check."""

    __slots__ = ()


class HealthChecks:
    """The checks of one page.

    Args:
        page: The name of the page, such as ``healthz``.
    """

    def __init__(self, page: str) -> None:
        self.page = page
        self._checks: dict[str, HealthCheck] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._checks)

    def add(self, name: str, check: HealthCheck) -> None:
        """Add a check.

        Raises:
            ConfigError: The name is invalid or taken, or this is not a function.
        """
        check_callable(f"the check {name!r}", check)
        given: object = name  # callers may be untyped
        if not isinstance(given, str) or not name or set(name) & set("/?&# \n"):
            raise ConfigError(
                f"a check needs a name that can be part of a path, such as 'database', not {name!r}"
            )
        if name in self._checks:
            raise ConfigError(f"{self.page} has a check {name!r} already; choose another name")
        self._checks[name] = check

    async def run(
        self, *, only: str | None = None, exclude: Iterable[str] = ()
    ) -> Sequence[CheckResult]:
        """Run all checks, or one, and return their results. A check may take five seconds."""
        skipped = set(exclude)
        chosen = [
            (name, check)
            for name, check in self._checks.items()
            if name not in skipped and only in (None, name)
        ]
        return await asyncio.gather(*(_run(name, check) for name, check in chosen))


async def _run(name: str, check: HealthCheck) -> CheckResult:
    try:
        async with asyncio.timeout(_TIMEOUT):
            found = check()
            if inspect.isawaitable(found):
                found = await found
    except TimeoutError:
        return CheckResult(name=name, reason=f"no result within {_TIMEOUT:g} s")
    except Exception as error:  # user code
        logger.debug("health check %s raised", name, exc_info=True)
        return CheckResult(name=name, reason=describe(error))
    if isinstance(found, Warned):
        return CheckResult(name=name, warning=str(found))
    if isinstance(found, str):
        return CheckResult(name=name, reason=found)
    if found is None or found is True:
        return CheckResult(name=name)
    if found is False:
        return CheckResult(name=name, reason="the check returned False")
    return CheckResult(
        name=name,
        reason=f"the check returned {found!r}; it must return None, True, False or a reason",
    )


def render(
    page: str, results: Sequence[CheckResult], *, verbose: bool, unknown: Sequence[str] = ()
) -> tuple[int, str]:
    """Return the HTTP status and text for a probe, in the format of kube-apiserver.

    Args:
        page: The name of the page.
        results: The results of its checks.
        verbose: Whether to list checks that passed; failures are always listed.
        unknown: Excluded names that are not checks.
    """
    passed = all(each.passed for each in results)
    if passed and not verbose:
        return 200, "ok"
    lines = [str(each) for each in results]
    if unknown:
        lines.append(f"warn: no checks to exclude: {', '.join(unknown)}")
    lines.append(f"{page} check {'passed' if passed else 'failed'}")
    return 200 if passed else 503, "\n".join(lines) + "\n"
