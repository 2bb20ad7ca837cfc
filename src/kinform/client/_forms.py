"""Forms: the classes in which objects are returned."""

from __future__ import annotations

from typing import TypeVar

from kinform.errors import ConfigError
from kinform.objects import Handle, TypedObject, Unstructured

H = TypeVar("H", bound=Handle)


def form_of(thing: object) -> type[Handle]:
    """Return the default form for a resource, a model class or an object."""
    given = thing if isinstance(thing, type) else type(thing)
    return given if issubclass(given, TypedObject) else Unstructured


def checked_form(form: type[H]) -> type[H]:
    """Return ``form`` if it is a class of objects.

    Raises:
        ConfigError: ``form`` is not a class of objects.
    """
    if not _is_form(form):
        raise ConfigError(
            f"{form!r} is not a class of objects; pass a class of kinform.models, Unstructured "
            "or PartialObjectMetadata"
        )
    return form


def _is_form(form: object) -> bool:
    if not isinstance(form, type) or not issubclass(form, Handle):
        return False
    # TypedObject itself has no kind.
    return not issubclass(form, TypedObject) or hasattr(form, "class_gvk")
