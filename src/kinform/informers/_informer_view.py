"""An informer in; the same one out, to those who want its objects in another form."""

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
    """Another door to an informer: one list and watch, one store, and objects in another form.

    Handlers, event streams, index functions and listers that come through it get its form. All
    else (life, status, what has synced) is the shared informer's own.

    Args:
        shared: The informer behind it.
        form: What objects come out as.
    """

    _shared: SharedIndexInformer[Any]

    def __init__(self, shared: SharedIndexInformer[Any], form: type[T]) -> None:
        # Nothing else is ever set here: what a view does not have, it finds at the informer.
        own = {"_shared": shared, "form": form, "indexer": shared.indexer.view(form)}
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        if name == "_shared":
            raise AttributeError(name)  # a copy in the making has nobody to ask
        return getattr(self._shared, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # One store, one life: a view that kept something of its own would begin another.
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
