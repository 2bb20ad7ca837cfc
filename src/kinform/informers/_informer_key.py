"""Informer keys: normalise the arguments of a factory, so that equal requests share an informer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kinform.api import GVR, ListOptions
from kinform.informers._scope import Scope
from kinform.objects import Handle


class InformerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an informer that callers with equal requests share.

    Attributes:
        transform: Called once for each version of an object.
        transform_form: The class of the objects that the transform receives.
        tweak_list_options: Called with the options of every list and watch.
        resync_period: Default number of seconds between resyncs of a handler.
        page_size: The number of objects per page of a list.
        streaming: Whether to try a streamed list first.
    """

    transform: Callable[[Any], Any] | None = None
    transform_form: type[Handle] | None = None
    tweak_list_options: Callable[[ListOptions], ListOptions] | None = None
    resync_period: float = 0.0
    page_size: int | None = None
    streaming: bool = True


class InformerKey(msgspec.Struct, frozen=True):
    """The identity of an informer: callers with equal keys share one.

    Attributes:
        resource: The resource.
        scope: The namespaces and selectors.
        only_metadata: Whether it requests metadata only.
        options: How objects are fetched and transformed.
    """

    resource: GVR
    scope: Scope = Scope()
    only_metadata: bool = False
    options: InformerOptions = InformerOptions()

    def __str__(self) -> str:
        what = "metadata of " if self.only_metadata else ""
        return f"{what}{self.resource} {self.scope}".rstrip()
