"""Finds handlers that use asyncio on a thread, where its objects wake nobody.

asyncio's queues, events and futures are not thread-safe: used on another thread, they change
without waking the loop. asyncio checks this in debug mode only, so handlers are inspected when they
are registered, and their exceptions when they fail.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, TracebackType

_PRIMITIVES = (
    asyncio.Queue,
    asyncio.Event,
    asyncio.Condition,
    asyncio.Lock,
    asyncio.Semaphore,
    asyncio.Future,
    asyncio.TaskGroup,
)

_THREAD_SAFE = {"call_soon_threadsafe", "run_coroutine_threadsafe"}


def find_asyncio_object(callback: Callable[..., object]) -> str | None:
    """Return a description of an asyncio object that a callback uses; ``None`` if none is found.

    Looks at the owner of a bound method, bound arguments, the variables of a function and the
    attributes of its ``self``; not into the functions that it calls. A function that names one of
    asyncio's thread-safe functions is assumed to use it.
    """
    for name, value in _reachable(callback):
        if isinstance(value, _PRIMITIVES):
            kind = f"asyncio.{type(value).__name__}"
            return f"{kind} {name!r}" if name else f"an {kind}"
    return None


def is_asyncio_error(error: BaseException) -> bool:
    """Whether asyncio raised an exception because no event loop runs on this thread."""
    if not isinstance(error, RuntimeError):
        return False
    return str(error) == "no running event loop" or _innermost_module(error.__traceback__) in (
        "asyncio.base_events",  # the check of debug mode
        "asyncio.mixins",  # a primitive of another loop
    )


def _reachable(callback: Callable[..., object]) -> Iterator[tuple[str, object]]:
    """Yield the names and values that a callback can use; the name is empty for bound values."""
    if isinstance(callback, functools.partial):
        yield from (("", argument) for argument in callback.args)
        yield from callback.keywords.items()
        yield from _reachable(callback.func)
    elif isinstance(callback, FunctionType):
        yield from _variables(callback, _names_used(callback.__code__))
    elif isinstance(callback, MethodType):
        yield "", callback.__self__
        yield from _reachable_by_method(callback.__func__, callback.__self__)
    elif isinstance(callback, BuiltinMethodType):
        yield "", callback.__self__
    else:
        yield from _reachable_by_method(type(callback).__call__, callback)


def _reachable_by_method(method: object, owner: object) -> Iterator[tuple[str, object]]:
    if isinstance(method, FunctionType):
        names = _names_used(method.__code__)
        yield from _variables(method, names)
        yield from _attributes(owner, names)


def _variables(function: FunctionType, names: set[str]) -> Iterator[tuple[str, object]]:
    """Yield the variables of enclosing functions and the globals that a function names."""
    if names & _THREAD_SAFE:
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        yield name, value
        yield from _attributes(value, names)
    for name in names & function.__globals__.keys():
        yield name, function.__globals__[name]


def _attributes(owner: object, names: set[str]) -> Iterator[tuple[str, object]]:
    """Yield the attributes of an object that a function names."""
    if names & _THREAD_SAFE:
        return
    try:
        attributes: Mapping[str, object] = vars(owner)
    except TypeError:  # it has slots
        return
    for name in names & attributes.keys():
        yield name, attributes[name]


def _names_used(code: CodeType) -> set[str]:
    """Return the names of globals and attributes in a function, and in those inside it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_used(constant)
    return names


def _innermost_module(trace: TracebackType | None) -> str:
    module = ""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next
    return module
