"""Informer keys: normalise the arguments of a factory, so that equal requests share an informer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from kinform.api import GVR
from kinform.errors import ConfigError, InvalidNameError
from kinform.objects import TypedObject

Namespaces = str | Sequence[str] | None
"""One namespace, several, or ``None`` for all."""

Asked = GVR | str | type[TypedObject]
"""A resource: a GVR, a string such as ``apps/v1/deployments``, or a model class."""


class InformerKey(msgspec.Struct, frozen=True):
    """The identity of an informer within a factory.

    Attributes:
        resource: The resource.
        namespaces: The namespaces, sorted; empty for all.
        labels, fields: The selectors, as strings.
        only_metadata: Whether it requests metadata only, unlike others of its factory.
    """

    resource: GVR
    namespaces: tuple[str, ...] = ()
    labels: str = ""
    fields: str = ""
    only_metadata: bool = False

    def __str__(self) -> str:
        where = f" in {', '.join(self.namespaces)}" if self.namespaces else ""
        which = " and ".join(filter(None, (self.labels, self.fields)))
        what = "metadata of " if self.only_metadata else ""
        return f"{what}{self.resource}{where}{f' where {which}' if which else ''}"


def as_gvr(resource: Asked) -> GVR:
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
            f"{resource!r} is no resource; pass a GVR, a text such as 'apps/v1/deployments', or "
            "the class of its objects"
        )
    if resource.resource is None:
        raise InvalidNameError(f"{resource.__name__} has no resource of its own to be listed")
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
            f"namespace={namespace!r}: pass one as text, several as a list of texts, or leave it "
            "out for all"
        )
    named = sorted(set(namespace))
    if not named or not all(named):
        raise ConfigError(
            f"namespaces {list(namespace)!r}: name each of them, or leave them out for all"
        )
    return tuple(named)
