"""Descriptors for the parts of typed objects."""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    TypeVar,
    get_args,
    get_origin,
    overload,
)

from kinform.errors import EncodeError
from kinform.objects._frozen_fields import freezer, frozen
from kinform.objects._model import Model
from kinform.objects._model_trees import Field, Origins
from kinform.objects._part_groups import PartGroup
from kinform.objects._read_only import read_only_class

if TYPE_CHECKING:
    from kinform.objects._typed import TypedObject

V = TypeVar("V")


class Part(Generic[V]):
    """A part of a kind: ``spec: Part[PodSpec] = Part("spec", PodSpec, PodSpec)``.

    Args:
        name: The name in JSON.
        type: The type to decode to; ``Always[int]`` is written even if it is zero.
        zero: The value of an absent part, or a class that creates it. In an editable object it can
            be edited in place, and is added to the object once it has content.
    """

    __slots__ = ("alone", "attribute", "freeze", "is_always", "name", "type", "zero")

    def __init__(self, name: str, type: Any, zero: Any = None) -> None:
        self.name = name
        self.type = type
        self.zero = zero
        self.attribute = ""
        self.freeze = freezer(type)
        self.is_always = get_origin(type) is Annotated and "always" in type.__metadata__
        self.alone = PartGroup([self])

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute

    @overload
    def __get__(self, obj: None, owner: type) -> Part[V]: ...
    @overload
    def __get__(self, obj: TypedObject, owner: type) -> V: ...
    def __get__(self, obj: TypedObject | None, owner: type) -> Part[V] | V:
        if obj is None:
            return self
        # No exceptions on first access: they take longer than decoding ("get, two fields read" in
        # benchmarks/bench_cache.py).
        parts, name = getattr(obj, "_parts", None), self.name
        found: V = parts[name] if parts and name in parts else obj._touch(self)
        return found

    def __set__(self, obj: TypedObject, value: V) -> None:
        obj._require_editable()
        obj._parts[self.name] = self.checked(value, obj)

    def checked(self, value: Any, obj: TypedObject) -> Any:
        """Return the value, or the value of an absent part for ``None``.

        Raises:
            EncodeError: The value has the wrong type.
        """
        if value is None:
            return self.absent()
        bare = get_args(self.type)[0] if get_origin(self.type) is Annotated else self.type
        expected = get_origin(bare) or bare
        is_nested = isinstance(expected, type) and issubclass(expected, (Model, dict, list))
        if is_nested and not isinstance(value, expected):
            name = expected.__name__
            way_out = f"; {name}.from_dict(...) creates one from a dict"
            raise EncodeError(
                f"{type(obj).__name__}.{self.attribute} takes a {name}, not a "
                f"{type(value).__name__}{way_out if issubclass(expected, Model) else ''}"
            )
        return value

    def absent(self, *, read_only: bool = False) -> Any:
        """Return the value of an absent part; with ``read_only``, a struct refuses assignments."""
        zero = self.zero
        if not isinstance(zero, type):
            return zero
        return read_only_class(zero)() if read_only and issubclass(zero, Model) else zero()

    def kept(self, value: Any) -> Any:
        """Return a decoded value as a read-only object keeps it."""
        if value is None:
            value = self.absent(read_only=True)
        return value if self.freeze is None else frozen(value, self.freeze)

    def put(
        self, tree: dict[str, Any], value: Any, origins: Origins, *, is_new: bool = False
    ) -> None:
        """Write ``value`` to ``tree``, in place of the previous value of this part."""
        absent = self.absent()
        if not is_new and self.name not in tree and value == absent:
            return  # reading is not an edit, even if the struct has required fields
        field = Field.of(self.attribute, self.name, self.type, absent)
        field.put(tree, value, origins, is_new=is_new)
