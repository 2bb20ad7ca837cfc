"""Options of a kind: how its objects are selected, fetched and transformed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from kinform.api import ListOptions
from kinform.client import Fields, Labels
from kinform.errors import ConfigError
from kinform.informers._namespace_options import (
    Namespaces,
    as_namespaces,
    check_selection,
    check_shareable,
    options_by_namespace,
)
from kinform.informers._resync_scheduler import check_resync_period
from kinform.informers._scope import Selectors
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
        namespace: One or several namespaces, or a dict of namespaces and ``NamespaceOptions``, in
            which ``""`` stands for all that are not listed. ``""`` covers all namespaces although
            the factory has default ones. ``{}`` covers none, until one is added.
        except_namespaces: Cover all namespaces but these.
        labels: Only objects that match this label selector; ``""`` for all.
        fields: Only objects that match this field selector; ``""`` for all.
        any_of: Only objects that match at least one of these, instead of ``labels`` and
            ``fields``. Each is one list and one watch.
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
    except_namespaces: Sequence[str] = ()
    labels: Labels | UnsetType = UNSET
    fields: Fields | UnsetType = UNSET
    any_of: Sequence[Selectors] | UnsetType = UNSET
    transform: Callable[[T], T | None] | UnsetType | None = UNSET
    tweak_list_options: Callable[[ListOptions], ListOptions] | UnsetType | None = UNSET
    resync_period: float | UnsetType = UNSET
    page_size: int | UnsetType | None = UNSET
    streaming: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        options_by_namespace(self.namespace)  # rejects invalid names early
        if isinstance(self.except_namespaces, str):
            raise ConfigError(f"except_namespaces={self.except_namespaces!r}: pass a list of names")
        if self.except_namespaces:
            as_namespaces(self.except_namespaces)
        check_selection(self.labels, self.fields, self.any_of)
        if not isinstance(self.transform, UnsetType):
            check_shareable("transform", self.transform)
        if not isinstance(self.tweak_list_options, UnsetType):
            check_shareable("tweak_list_options", self.tweak_list_options)
        if self.resync_period is not UNSET:
            check_resync_period(self.resync_period)
        size: object = self.page_size
        if size is not UNSET and size is not None and not (isinstance(size, int) and size >= 1):
            raise ConfigError(f"page_size must be at least 1, not {size!r}")

    @property
    def has_namespaces(self) -> bool:
        """Whether the options say which namespaces to cover."""
        return self.namespace is not None or bool(self.except_namespaces)

    def over(self, base: KindOptions[Any]) -> KindOptions[Any]:
        """Return these options, completed with those of ``base``.

        Namespaces are taken from one of them, as are single or several selectors.
        """
        own = {name: each for name, each in asdict(self).items() if each is not UNSET}
        if not self.has_namespaces:
            del own["namespace"], own["except_namespaces"]
        if "any_of" in own:
            base = replace(base, labels=UNSET, fields=UNSET)
        elif "labels" in own or "fields" in own:
            base = replace(base, any_of=UNSET)
        return replace(base, **own)


def chosen(option: X | UnsetType) -> X:
    """Return an option that has been completed with a default."""
    assert not isinstance(option, UnsetType)
    return option
