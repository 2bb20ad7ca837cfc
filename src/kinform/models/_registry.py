"""Finds the class for a kind or a resource, built in or registered by the program."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from threading import Lock
from typing import TypeVar

from kinform.api import GVK, GVR, ApiResource
from kinform.errors import InvalidNameError, StateError
from kinform.models._table import KINDS
from kinform.objects import TypedObject

T = TypeVar("T", bound=TypedObject)

_registered: dict[GVK | GVR, type[TypedObject]] = {}
_registering = Lock()


def model_for(wanted: GVK | GVR) -> type[TypedObject] | None:
    """Return the class for objects of this kind or resource; ``None`` if there is none.

    The first call for a group and version loads its module.

    Raises:
        InvalidNameError: ``wanted`` is neither a kind nor a resource.
    """
    if not isinstance(wanted, GVK | GVR):
        raise InvalidNameError(
            f"{wanted!r} is neither a kind nor a resource; pass a GVK, or a GVR such as "
            "GVR.parse('apps/v1/deployments')"
        )
    if (own := _registered.get(wanted)) is not None:
        return own
    if (place := _built_in().get(wanted)) is None:
        return None
    module, name = place
    model: type[TypedObject] = getattr(import_module(f"kinform.models.{module}"), name)
    return model


def register(model: type[T]) -> type[T]:
    """Register your own class for its kind and its resource.

    Can be used as a decorator. Registering a class again has no effect. The classes of built-in
    kinds cannot be replaced.

    Raises:
        InvalidNameError: The class has no resource, or is not a class for objects.
        StateError: Another class is registered for this kind or this resource.
    """
    given: object = model  # callers are not all type-checked
    if not (isinstance(given, type) and issubclass(given, TypedObject)):
        raise InvalidNameError(
            f"{given!r} is not a class for objects; register(Thing) takes a class declared as "
            "class Thing(TypedObject, group=..., version=..., kind=..., plural=...)"
        )
    if model.resource is None:
        raise InvalidNameError(
            f"{_called(model)} has no resource; name it in the class declaration: class "
            f"{model.__name__}(TypedObject, group=..., version=..., kind=..., plural=...)"
        )
    with _registering:
        for name in (model.resource.gvk, model.resource.gvr):
            other = model_for(name)
            if other is not None and other is not model:
                raise StateError(
                    f"{_called(model)} cannot be registered: {name} already has {_called(other)}"
                )
        _registered.update({model.resource.gvk: model, model.resource.gvr: model})
    return model


def known_kinds() -> tuple[GVK, ...]:
    """Return all kinds that have a class and a resource: built-in ones, then registered ones.

    The versions of a group are in the order that servers prefer.
    """
    built_in = [
        GVK(group, version, kind)
        for (group, version, _), kinds in KINDS.items()
        for kind, (plural, _) in kinds.items()
        if plural
    ]
    return tuple(dict.fromkeys([*built_in, *(k for k in _registered if isinstance(k, GVK))]))


def known_resources() -> tuple[ApiResource, ...]:
    """Return the resources of all these kinds."""
    built_in = [
        ApiResource(GVR(group, version, plural), kind, namespaced, singular=kind.lower())
        for (group, version, _), kinds in KINDS.items()
        for kind, (plural, namespaced) in kinds.items()
        if plural
    ]
    own = [model.resource for model in _registered.values() if model.resource is not None]
    return tuple({each.gvr: each for each in (*built_in, *own)}.values())


@cache
def _built_in() -> dict[GVK | GVR, tuple[str, str]]:
    """Return module and class by kind, and by resource if there is one."""
    found: dict[GVK | GVR, tuple[str, str]] = {}
    for (group, version, module), kinds in KINDS.items():
        for kind, (plural, _) in kinds.items():
            found[GVK(group, version, kind)] = module, kind
            if plural:
                found[GVR(group, version, plural)] = module, kind
    return found


def _called(model: type[TypedObject]) -> str:
    return f"{model.__module__}.{model.__qualname__}"
