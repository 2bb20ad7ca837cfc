"""A decorator for small controllers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinform.controllers._controller import Controller


def controller(name: str = "", **options: Any) -> Callable[[Callable[..., Any]], Controller[Any]]:
    """Make a controller of a function. The options are those of ``Controller``.

        @controller(for_=Web, owns=[Deployment])
        async def web(request: Request, context: Context) -> Result: ...

    Args:
        name: The name of the controller; by default that of the function.
    """

    def decorate(function: Callable[..., Any]) -> Controller[Any]:
        own_name = str(getattr(function, "__name__", "")).replace("_", "-")
        return Controller(name or own_name, function, **options)

    return decorate
