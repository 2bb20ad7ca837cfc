"""Hooks around writes: every write verb of a client passes ``WritePipeline.run``."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

import msgspec

from kinform._checks import check_plain, expect
from kinform.api import GVR, FieldSelector, LabelSelector
from kinform.client._arguments import PatchType
from kinform.client._object_decoding import confirms_success
from kinform.client._requester import Answer
from kinform.errors import DecodeError, StateError
from kinform.objects import Handle, Unstructured

logger = logging.getLogger("kinform.client")

R = TypeVar("R")

WriteVerb = Literal["create", "update", "patch", "apply", "delete", "delete_collection"]
"""The verb of a write."""


class Write(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A write that is about to be sent.

    Attributes:
        verb: The verb of the client.
        resource: The resource that is written.
        namespace: The namespace; empty for a cluster-scoped resource, and for the deletion of a
            collection in all namespaces.
        name: The name of the object; empty for a collection, and if the server generates it.
        subresource: The subresource, such as ``status``; empty for the object itself.
        object: The object passed to ``create``, ``update`` or ``apply``. Do not modify it.
        patch: The patch passed to ``patch``.
        patch_type: The type of the patch; empty for other verbs.
        labels: The label selector of ``delete_collection``.
        fields: The field selector of ``delete_collection``.
        dry_run: Whether the server only validates the write and stores nothing.
    """

    verb: WriteVerb
    resource: GVR
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    object: Handle | None = None
    patch: Any = None
    patch_type: PatchType | Literal[""] = ""
    labels: LabelSelector | None = None
    fields: FieldSelector | None = None
    dry_run: bool = False

    def __str__(self) -> str:
        target = "/".join(part for part in (self.namespace, self.name) if part)
        subresource = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.resource}{subresource}{f' {target}' if target else ''}"


class WriteHook:
    """Called before and after every write of a client. Override the methods you need.

    The methods are plain functions, called on the client's event loop, so they must not block.
    Writes run concurrently: other calls may come between ``before`` and ``after`` of one write.
    For each write whose ``before`` returned, either ``after`` or ``failed`` is called, once, with
    the same ``Write``. A write that is retried after a Retry-After is still one write, with a call
    of ``before_retry`` for each retry.
    """

    def before(self, write: Write) -> None:
        """Called before the request is sent. An exception prevents it and goes to the caller."""

    def before_retry(self, write: Write) -> None:
        """Called before the request is sent again, which may be a minute after ``before``.

        An exception prevents it and goes to the caller.
        """

    def after(self, write: Write, result: Handle | None) -> None:
        """Called after the server has accepted the write. An exception is logged.

        Args:
            write: The write.
            result: The server's response: the object with its new resource version. If the server
                only confirms success, as it usually does for a deletion or an eviction, an
                ``Unstructured`` of kind Status, or the list of deleted objects. ``None`` if the
                response is empty or cannot be decoded.
        """

    def failed(self, write: Write, error: BaseException) -> None:
        """Called if the write raised or was cancelled. An exception is logged.

        Only an ``ApiError`` below 500, or an error raised by another hook's ``before``, means that
        the server has not carried out the write. After any other error it may have.
        """


SendWrite = Callable[[Callable[[], None] | None], Awaitable[Answer]]
"""Sends a write. Its argument, if any, is called before each retry."""


class WritePipeline:
    """Sends the writes of one client through its hooks. Without hooks it only sends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Replaced, never modified: a write in progress keeps the hooks it started with.
        self._hooks: tuple[WriteHook, ...] = ()

    def add(self, hook: WriteHook) -> None:
        """Add a hook, for writes that start from now on. Callable from any thread.

        Raises:
            ConfigError: It is not a hook, or one of its methods is async.
            StateError: It was added before.
        """
        expect(
            hook,
            WriteHook,
            receiver="add_write_hook",
            expected="a kinform.client.WriteHook",
            hint="derive your class from it",
        )
        for method in (hook.before, hook.before_retry, hook.after, hook.failed):
            check_plain(f"{method.__name__} of {type(hook).__name__}", method)
        with self._lock:
            if any(each is hook for each in self._hooks):
                raise StateError(f"{hook!r} is already a write hook of this client")
            self._hooks = (*self._hooks, hook)

    def remove(self, hook: WriteHook) -> None:
        """Remove a hook. Writes in progress still call it. Idempotent; any thread."""
        with self._lock:
            self._hooks = tuple(each for each in self._hooks if each is not hook)

    async def run(self, write: Write, send: SendWrite, read: Callable[[Answer], R]) -> R:
        """Send a write and decode the response, with the calls of all hooks around it."""
        hooks = self._hooks
        if not hooks:
            return read(await send(None))
        entered: list[WriteHook] = []

        def before_retry() -> None:
            for hook in hooks:
                hook.before_retry(write)

        try:
            for hook in hooks:
                hook.before(write)
                entered.append(hook)
            answer = await send(before_retry)
            result = read(answer)
        except BaseException as error:
            for hook in reversed(entered):
                _call(hook.failed, write, error)
            raise
        response = _response(answer, result)
        for hook in reversed(entered):
            _call(hook.after, write, response)
        return result


def _call(method: Callable[[Write, Any], None], write: Write, outcome: object) -> None:
    try:
        method(write, outcome)
    except Exception:  # user code
        logger.exception("write hook %r failed; the result of %s is unaffected", method, write)


def _response(answer: Answer, result: object) -> Handle | None:
    """Return what the server sent: verbs return something else if it only confirms success."""
    if not answer.body:
        return None
    if isinstance(result, Handle) and not confirms_success(answer):
        return result
    try:
        return Unstructured.over(answer.wire.read_object(answer.body))
    except DecodeError:
        return None
