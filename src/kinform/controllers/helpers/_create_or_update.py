"""Creates an object, or brings an existing one into the wanted state."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, overload

from kinform.controllers.helpers._object_change import (
    ObjectChange,
    OperationResult,
    ReaderWriter,
    check_mutate,
)
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)


@overload
async def create_or_update(
    client: ReaderWriter, obj: M, mutate: Callable[[M], object]
) -> tuple[M, OperationResult]: ...
@overload
async def create_or_update(
    client: ReaderWriter, obj: Mapping[str, Any], mutate: Callable[[Unstructured], object]
) -> tuple[Unstructured, OperationResult]: ...
async def create_or_update(
    client: ReaderWriter, obj: Any, mutate: Callable[[Any], object]
) -> tuple[Any, OperationResult]:
    """Create an object, or update the existing one if ``mutate`` changes it.

        def mutate(service: Service) -> None:
            service.spec.selector = {"app": web.name}
            set_controller_reference(web, service)

        service = Service(metadata=ObjectMeta(name=web.name, namespace=web.namespace))
        service, result = await create_or_update(client, service, mutate)

    ``mutate`` receives an editable copy of the existing object, or of ``obj`` if there is none,
    and sets what the program is responsible for. It should leave all else alone: values that the
    server has set would be lost, and every call would write. A changed status is written as well,
    through the status subresource if the kind has one.

    The update fails with a ConflictError if the object was modified since it was read. In a
    reconciler, let it be retried; elsewhere, use ``retry_on_conflict``.

    Args:
        client: A client, or the client of a cache.
        obj: Names the object, and is what to create. It is not modified.
        mutate: Edits the object that it receives. It may be async.

    Returns:
        The object as stored by the server, and what was done.

    Raises:
        ConfigError: ``mutate`` changed the name or the namespace, or an argument is invalid.
        AlreadyExistsError: Somebody else created the object meanwhile, or a cache is behind.
        ConflictError: The object was modified since it was read.
        ApiError: The server refused a request.
    """
    change = ObjectChange[Handle](client, obj, verb="update", receiver="create_or_update")
    return await _run(change, mutate, "create_or_update")


@overload
async def create_or_patch(
    client: ReaderWriter, obj: M, mutate: Callable[[M], object], *, optimistic_lock: bool = False
) -> tuple[M, OperationResult]: ...
@overload
async def create_or_patch(
    client: ReaderWriter,
    obj: Mapping[str, Any],
    mutate: Callable[[Unstructured], object],
    *,
    optimistic_lock: bool = False,
) -> tuple[Unstructured, OperationResult]: ...
async def create_or_patch(
    client: ReaderWriter,
    obj: Any,
    mutate: Callable[[Any], object],
    *,
    optimistic_lock: bool = False,
) -> tuple[Any, OperationResult]:
    """Create an object, or patch the existing one with what ``mutate`` changes.

    Like ``create_or_update``, but only the differences are sent, as a merge patch: changes that
    others made to other fields are kept, and there is no conflict. Lists are sent as a whole.

    Args:
        client: A client, or the client of a cache.
        obj: Names the object, and is what to create. It is not modified.
        mutate: Edits the object that it receives. It may be async.
        optimistic_lock: Whether to fail with a ConflictError if the object was modified since it
            was read. Use it if ``mutate`` edits lists.

    Returns:
        The object as stored by the server, and what was done.

    Raises:
        ConfigError: ``mutate`` changed the name or the namespace, or an argument is invalid.
        AlreadyExistsError: Somebody else created the object meanwhile, or a cache is behind.
        ConflictError: With ``optimistic_lock``, the object was modified since it was read.
        ApiError: The server refused a request.
    """
    change = ObjectChange[Handle](
        client, obj, verb="patch", receiver="create_or_patch", optimistic_lock=optimistic_lock
    )
    return await _run(change, mutate, "create_or_patch")


async def _run(
    change: ObjectChange[Handle],
    mutate: Callable[[Any], object],
    receiver: Literal["create_or_update", "create_or_patch"],
) -> tuple[Handle, OperationResult]:
    check_mutate(mutate, receiver=receiver)
    edited = await change.load()
    answer = mutate(edited)
    if inspect.isawaitable(answer):
        answer = await answer
    change.check(edited, answer)
    return await change.store(edited)
