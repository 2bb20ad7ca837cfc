"""Options of a cache that apply to one kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from msgspec import UNSET, UnsetType

from kinform._checks import expect
from kinform.api import GVR
from kinform.cache._kind_names import gvr_without_request
from kinform.client import ResourceLike, ResourceOrModel
from kinform.errors import ConfigError
from kinform.informers import KindOptions
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)

UndeclaredReads = Literal["create", "live", "error"]
"""What a read of a kind does that was not declared: create an informer, ask the server, or raise
``ResourceNotCachedError``."""

_CHOICES = ("create", "live", "error")


class CachedKindOptions(KindOptions[T], frozen=True, kw_only=True):
    """Options of one kind in a cache. Omitted options are inherited from the cache.

    Attributes:
        undeclared_reads: What a read does although the kind was not declared.
        idle_timeout: Seconds without a read after which an informer without handlers is released;
            ``None`` never.
        soft_memory_limit: Bytes of objects above which a warning is logged; ``None`` for no limit.
        fallback_namespaces: The namespaces to cache if all namespaces together are forbidden.
    """

    undeclared_reads: UndeclaredReads | UnsetType = UNSET
    idle_timeout: float | UnsetType | None = UNSET
    soft_memory_limit: int | UnsetType | None = UNSET
    fallback_namespaces: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.undeclared_reads, UnsetType):
            check_undeclared_reads(self.undeclared_reads)
        for option in ("idle_timeout", "soft_memory_limit"):
            check_positive(option, getattr(self, option))


class KindTable:
    """The options of a cache by kind, completed with those of the cache.

    Raises:
        ConfigError: Two entries are for one resource, or an entry has another type.
    """

    def __init__(
        self,
        by_kind: Mapping[ResourceOrModel, KindOptions[Any]] | None,
        *,
        undeclared_reads: UndeclaredReads,
        idle_timeout: float | None,
        soft_memory_limit: int | None,
    ) -> None:
        self._defaults = CachedKindOptions[Any](
            undeclared_reads=undeclared_reads,
            idle_timeout=idle_timeout,
            soft_memory_limit=soft_memory_limit,
        )
        expect(
            by_kind or {}, Mapping, receiver="by_kind=", expected="a dict of KindOptions by kind"
        )
        self._by_kind: dict[GVR, KindOptions[Any]] = {}
        for kind, options in (by_kind or {}).items():
            gvr = gvr_without_request(kind)
            expect(options, KindOptions, receiver=f"by_kind[{gvr}]", expected="kinform.KindOptions")
            if gvr in self._by_kind:
                raise ConfigError(f"by_kind has two entries for {gvr}; merge them")
            self._by_kind[gvr] = options

    def __contains__(self, resource: GVR) -> bool:
        return resource in self._by_kind

    @property
    def cached_resources(self) -> list[GVR]:
        """The resources with options that a read caches."""
        return [gvr for gvr in self._by_kind if self.undeclared_reads(gvr) == "create"]

    def of_informers(self) -> dict[ResourceLike, KindOptions[Any]]:
        """Return the options that concern informers."""
        names = KindOptions.__struct_fields__
        return {
            gvr: KindOptions(**{name: getattr(options, name) for name in names})
            for gvr, options in self._by_kind.items()
        }

    @property
    def default_undeclared_reads(self) -> UndeclaredReads:
        """What a read does for a kind without options."""
        default = self._defaults.undeclared_reads
        assert not isinstance(default, UnsetType)
        return default

    def undeclared_reads(self, resource: GVR) -> UndeclaredReads:
        """Return what a read does; options of a kind declare it, unless they say otherwise."""
        options = self._by_kind.get(resource)
        if isinstance(options, CachedKindOptions) and options.undeclared_reads is not UNSET:
            found = options.undeclared_reads
            assert not isinstance(found, UnsetType)
            return found
        return self.default_undeclared_reads if options is None else "create"

    def idle_timeout(self, resource: GVR) -> float | None:
        found: float | None = self._option(resource, "idle_timeout")
        return found

    def soft_memory_limit(self, resource: GVR) -> int | None:
        found: int | None = self._option(resource, "soft_memory_limit")
        return found

    def fallback_namespaces(self, resource: GVR) -> Sequence[str]:
        found: Sequence[str] = self._option(resource, "fallback_namespaces")
        return found

    def _option(self, resource: GVR, option: str) -> Any:
        options = self._by_kind.get(resource)
        if isinstance(options, CachedKindOptions):
            given = getattr(options, option)
            if given is not UNSET:
                return given
        return getattr(self._defaults, option)


def check_undeclared_reads(given: object) -> None:
    """Raise ConfigError unless the option is valid."""
    if given not in _CHOICES:
        raise ConfigError(f"undeclared_reads must be one of {', '.join(_CHOICES)}, not {given!r}")


def check_positive(option: str, given: object) -> None:
    """Raise ConfigError unless a number is positive, omitted or ``None``."""
    if given is None or given is UNSET:
        return
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise ConfigError(f"{option} must be a positive number or None, not {given!r}")
