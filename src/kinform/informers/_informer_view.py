"""A view of a shared informer that returns its objects as another class."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from kinform.errors import ConfigError
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers.reflector._admission import Transform
from kinform.informers.reflector._state import WatchFailure
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class InformerView(SharedIndexInformer[T]):
    """A view of an informer: the same list, watch and store, with objects of another class.

    Handlers, event streams, index functions and listers of the view receive objects of its form.
    Lifecycle, status and sync state are those of the shared informer.

    Args:
        shared: The underlying informer.
        form: The class of the objects.
    """

    _shared: SharedIndexInformer[Any]

    def __init__(self, shared: SharedIndexInformer[Any], form: type[T]) -> None:
        # The only own attributes; all others are looked up on the shared informer.
        own = {"_shared": shared, "form": form, "indexer": shared.indexer.view(form)}
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        if name == "_shared":
            raise AttributeError(name)  # a copy under construction has no shared informer yet
        return getattr(self._shared, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # A view has no state of its own: assignments go to the shared informer.
        setattr(self._shared, name, value)

    def set_transform(self, transform: Transform[T] | None) -> None:
        raise ConfigError(
            f"{self.name}: the transform belongs to the store, which others see as "
            f"{self._shared.form.__name__}; set it on the factory, or on that informer"
        )

    def set_watch_error_handler(self, handler: Callable[[WatchFailure], object] | None) -> None:
        self._shared.set_watch_error_handler(handler)

    def start(self) -> None:
        self._shared.start()

    def stop(self) -> None:
        self._shared.stop()

    async def run(self) -> None:
        await self._shared.run()

    async def __aenter__(self) -> Self:
        await self._shared.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._shared.__aexit__(exc_type, exc, traceback)
