"""What a caller asks a factory for in; what makes two questions the same one out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from kinform.api import GVR
from kinform.errors import ConfigError, InvalidNameError
from kinform.objects import TypedObject

Namespaces = str | Sequence[str] | None
"""One namespace, several, or ``None`` for all."""

Asked = GVR | str | type[TypedObject]
"""A resource: as such, as text (``apps/v1/deployments``), or by the class of its objects."""


class InformerKey(msgspec.Struct, frozen=True):
    """What makes two informers the same one.

    Attributes:
        resource: What it is of.
        namespaces: What it is limited to, sorted; empty for all.
        labels, fields: The selectors, as text.
        only_metadata: Whether it asks for metadata only, unlike others of its factory.
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
    """The resource that is meant.

    Raises:
        InvalidNameError: It is none, or the class has none.
    """
    if isinstance(resource, str):
        return GVR.parse(resource)
    if isinstance(resource, GVR):
        return resource
    given: object = resource  # callers are not all type-checked
    if not (isinstance(given, type) and issubclass(given, TypedObject)):
        raise InvalidNameError(
            f"{resource!r} is no resource; pass a GVR, a text such as 'apps/v1/deployments', or "
            "the class of its objects"
        )
    if resource.resource is None:
        raise InvalidNameError(f"{resource.__name__} has no resource of its own to be listed")
    return resource.resource.gvr


def as_namespaces(namespace: Namespaces) -> tuple[str, ...]:
    """All that are named, sorted; none stands for all there are.

    Raises:
        ConfigError: One of them has no name, or none of several is named, or it is no name.
    """
    if namespace is None:
        return ()
    if isinstance(namespace, str):
        return (namespace,) if namespace else ()
    given: object = namespace  # callers are not all type-checked
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
