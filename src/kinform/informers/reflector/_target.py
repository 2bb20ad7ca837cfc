"""What a reflector fills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from kinform.errors import ConfigError
from kinform.informers._changes import DeletedObject

T_contra = TypeVar("T_contra", contravariant=True)


class Target(Protocol[T_contra]):
    """A ``Store``, a ``DeltaFIFO``, or anything with these methods.

    It may also have any of these:

    - ``bookmark(resource_version)``: called with how far the watch has come.
    - ``put_all(deltas)``: receives what a batch of the watch brought in one call, keyed by
      namespace and name. It returns true if ``wait_for_capacity`` need not be awaited; its last
      answer for a batch counts.
    - ``async wait_for_capacity()``: awaited after each batch; holds the reflector back.
    - ``replace_keyed(objects, resource_version)``: receives a list as a dict, keyed likewise.
    - ``async wait_until_empty()``: awaited before everything is fetched again.
    """

    def add(self, obj: T_contra, /) -> object: ...
    def update(self, obj: T_contra, /) -> object: ...
    def delete(self, obj: T_contra | DeletedObject[T_contra], /) -> object: ...
    def replace(self, objects: Sequence[T_contra], resource_version: str, /) -> object: ...
    def resync(self) -> object: ...


_METHODS = ("add", "update", "delete", "replace", "resync")


def check_target(target: object) -> None:
    """Refuse what cannot be filled.

    Raises:
        ConfigError: It lacks a method; names that.
    """
    for method in _METHODS:
        if not callable(getattr(target, method, None)):
            raise ConfigError(
                "a reflector fills a Store, a DeltaFIFO, or anything with their methods, "
                f"and a {type(target).__name__} has no {method}()"
            )


class TargetFailedError(Exception):
    """Raised by a target's ``wait_for_capacity`` to end its reflector; ``run`` raises its cause."""
