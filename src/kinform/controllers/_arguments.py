"""Checks the arguments of a controller, and makes sources of kinds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from kinform._checks import expect
from kinform.client import ResourceOrModel
from kinform.controllers.predicates import EventPredicate
from kinform.controllers.sources import Source, Watch
from kinform.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")


def check_name(name: object) -> None:
    """Check the name of a controller, which becomes part of metrics and paths.

    Raises:
        ConfigError: It is not a name.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(
            f"a controller's name consists of letters, digits, '-', '_' and '.', not {name!r}"
        )


def check_options(
    *, workers: object, timeout: object, sync_timeout: object, rate_limiter: object
) -> None:
    """Check the numbers among the options, and the rate limiter.

    Raises:
        ConfigError: One is invalid; the message names it.
    """
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise ConfigError(f"workers must be an integer of at least 1, not {workers!r}")
    for option, value in (("timeout", timeout), ("sync_timeout", sync_timeout)):
        if value is None and option == "timeout":
            continue
        if not isinstance(value, int | float) or not value > 0:
            raise ConfigError(f"{option} must be a positive number of seconds, not {value!r}")
    if rate_limiter is not None and not callable(getattr(rate_limiter, "next_delay", None)):
        raise ConfigError(
            f"rate_limiter takes one such as ExponentialBackoff(), not {rate_limiter!r}"
        )


def sources_of(
    name: str,
    for_: ResourceOrModel | None,
    owns: Iterable[ResourceOrModel],
    watches: Iterable[Source[Any] | ResourceOrModel],
    when: EventPredicate | Sequence[EventPredicate],
) -> list[Source[Any]]:
    """Return the sources that the arguments of a controller stand for.

    Raises:
        ConfigError: There is none, or ``owns`` is given without ``for_``.
    """
    if not callable(when):
        expect(when, Sequence, receiver="when=", expected="a predicate, or a list of them")
    predicates = (when,) if callable(when) else tuple(when)
    if isinstance(owns, str | type):
        raise ConfigError(f"owns= takes a list of kinds, such as [{owns!r}]")
    if isinstance(watches, str | type | Source):
        raise ConfigError(f"watches= takes a list of sources and kinds, such as [{watches!r}]")
    sources: list[Source[Any]] = []
    if for_ is not None:
        sources.append(Watch(for_, when=predicates))
    for kind in owns:
        if for_ is None:
            raise ConfigError(f"controller {name} has owns= without for_=, the kind of the owners")
        sources.append(Watch(kind, owner=for_, when=predicates))
    for each in watches:
        if isinstance(each, Watch):
            sources.append(each.with_predicates(predicates))
        else:
            sources.append(each if isinstance(each, Source) else Watch(each, when=predicates))
    if not sources:
        raise ConfigError(f"controller {name} has no source: pass for_=, watches=, or both")
    return sources
