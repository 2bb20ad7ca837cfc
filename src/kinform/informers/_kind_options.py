"""Options of a kind: how its objects are selected, fetched and transformed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from kinform._checks import check_plain
from kinform.api import ListOptions
from kinform.client import Fields, Labels
from kinform.errors import ConfigError
from kinform.informers._informer_key import Namespaces
from kinform.informers._resync_scheduler import check_resync_period
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)
X = TypeVar("X")


class KindOptions(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Options of one kind. Omitted options are inherited from the factory.

        SharedInformerFactory(client, by_kind={
            Pod: KindOptions(fields={"status.phase": "Running"}, page_size=1000),
            Secret: KindOptions(namespace="vault", transform=strip_metadata("annotations")),
        })

    Attributes:
        namespace: One or several namespaces.
        labels: Only objects that match this label selector.
        fields: Only objects that match this field selector.
        transform: Called once for each version of an object, before it is stored; ``None`` for no
            transform.
        tweak_list_options: Called with the options of every list and watch; returns the options
            to use; ``None`` for no tweak.
        resync_period: Default number of seconds between resyncs of a handler; 0 disables them.
        page_size: The number of objects per page of a list.
        streaming: Whether to try a streamed list first.

    Raises:
        ConfigError: An option is invalid.
    """

    namespace: Namespaces = None
    labels: Labels = ""
    fields: Fields = ""
    transform: Callable[[T], T | None] | UnsetType | None = UNSET
    tweak_list_options: Callable[[ListOptions], ListOptions] | UnsetType | None = UNSET
    resync_period: float | UnsetType = UNSET
    page_size: int | UnsetType | None = UNSET
    streaming: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if not isinstance(self.transform, UnsetType):
            _check_shareable("transform", self.transform)
        if not isinstance(self.tweak_list_options, UnsetType):
            _check_shareable("tweak_list_options", self.tweak_list_options)
        if self.resync_period is not UNSET:
            check_resync_period(self.resync_period)
        size: object = self.page_size
        if size is not UNSET and size is not None and not (isinstance(size, int) and size >= 1):
            raise ConfigError(f"page_size must be at least 1, not {size!r}")

    def over(self, base: KindOptions[Any]) -> KindOptions[Any]:
        """Return these options, completed with those of ``base``."""
        own = {name: each for name, each in asdict(self).items() if each is not UNSET}
        for selection in ("namespace", "labels", "fields"):
            own[selection] = own[selection] or getattr(base, selection)
        return replace(base, **own)


def chosen(option: X | UnsetType) -> X:
    """Return an option that has been completed with a default."""
    assert not isinstance(option, UnsetType)
    return option


def _check_shareable(option: str, function: Callable[..., object] | None) -> None:
    check_plain(option, function)
    try:
        hash(function)
    except TypeError:
        raise ConfigError(
            f"{option}= must be hashable, because informers with equal options are shared; "
            f"{type(function).__name__} has no __hash__"
        ) from None
