"""Informer keys: normalise the arguments of a factory, so that equal requests share an informer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from kinform.api import GVR, ListOptions
from kinform.errors import ConfigError, InvalidNameError
from kinform.informers._scope import Scope
from kinform.objects import Handle, TypedObject

Namespaces = str | Sequence[str] | None
"""One namespace, several, or ``None`` for all."""

ResourceLike = GVR | str | type[TypedObject]
"""A resource: a GVR, a string such as ``apps/v1/deployments``, or a model class."""


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


def as_gvr(resource: ResourceLike) -> GVR:
    """Return the GVR of a resource.

    Raises:
        InvalidNameError: This is not a resource, or the class has none.
    """
    if isinstance(resource, str):
        return GVR.parse(resource)
    if isinstance(resource, GVR):
        return resource
    given: object = resource  # callers may be untyped
    if not (isinstance(given, type) and issubclass(given, TypedObject)):
        raise InvalidNameError(
            f"{resource!r} is not a resource; pass a GVR, a string such as 'apps/v1/deployments', "
            "or a model class"
        )
    if resource.resource is None:
        raise InvalidNameError(f"{resource.__name__} has no resource, so it cannot be listed")
    return resource.resource.gvr


def as_namespaces(namespace: Namespaces) -> tuple[str, ...]:
    """Return the given namespaces, sorted; empty for all namespaces.

    Raises:
        ConfigError: A name is empty or not a string, or the sequence is empty.
    """
    if namespace is None:
        return ()
    if isinstance(namespace, str):
        return (namespace,) if namespace else ()
    given: object = namespace  # callers may be untyped
    if not isinstance(given, Collection) or not all(isinstance(each, str) for each in given):
        raise ConfigError(
            f"namespace={namespace!r}: pass a string, a list of strings, or None for all namespaces"
        )
    named = sorted(set(namespace))
    if not named or not all(named):
        raise ConfigError(
            f"namespace={list(namespace)!r}: pass non-empty names, or None for all namespaces"
        )
    return tuple(named)
