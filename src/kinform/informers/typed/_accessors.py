"""The building blocks of accessors such as ``factory.apps.v1.stateful_sets``.

Generated classes use them, for the built-in groups and in packages that ``kinform generate``
writes. They work with every factory that has ``for_model``, async or blocking: type checkers
derive the type of the result from the factory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NoReturn, Protocol, Self, TypeVar, overload

from kinform.objects import TypedObject

M = TypeVar("M", bound=TypedObject)
M_contra = TypeVar("M_contra", bound=TypedObject, contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class ModelFactory(Protocol[M_contra, R_co]):
    """A factory that returns an ``R_co`` for the model ``M_contra``."""

    def for_model(self, model: type[M_contra], /) -> R_co: ...


F_co = TypeVar("F_co", bound=ModelFactory[Any, Any], covariant=True)


class Group(Generic[F_co]):
    """An API group, or one version of it, as an attribute of a factory."""

    __slots__ = ("_factory",)

    def __init__(self, factory: F_co) -> None:
        self._factory = factory


class accessor(Generic[M]):  # noqa: N801  # a decorator, like property
    """Decorates a method that returns a model, and turns it into the informer for that model.

    The method runs on every access, so it can import the model on first use. Methods are used
    instead of attributes for their docstrings, which editors and ``help`` show.
    """

    def __init__(self, load: Callable[[Any], type[M]]) -> None:
        self._load = load
        self.__doc__ = load.__doc__

    @overload
    def __get__(self, group: None, owner: type) -> Self: ...
    @overload
    def __get__(self, group: Group[ModelFactory[M, R]], owner: type) -> R: ...
    def __get__(self, group: Group[ModelFactory[M, R]] | None, owner: type) -> R | Self:
        if group is None:
            return self
        return group._factory.for_model(self._load(group))

    def __set__(self, group: object, value: NoReturn) -> NoReturn:
        # Makes it a data descriptor, which `help` lists with its docstring.
        raise AttributeError(f"{self._load.__name__} cannot be assigned")
