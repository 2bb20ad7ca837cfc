"""All exceptions that kinform raises, in one hierarchy.

    KinformError
    ├─ ConfigError                        a kubeconfig, credential or option is invalid
    ├─ DiscoveryError                     the server's API resources could not be read
    │  └─ NoMatchError                    unknown kind or resource; suggests similar ones
    ├─ TransportError                     no response: refused, reset, timed out, TLS
    │  ├─ ResponseTooLargeError           the response exceeds the size limit
    │  ├─ TruncatedResponseError          the response ended prematurely
    │  └─ SourceError                     a custom list or watch callable raised
    ├─ ApiError                           the server returned an error
    │  ├─ BadRequestError           400
    │  ├─ UnauthorizedError         401
    │  ├─ ForbiddenError            403
    │  ├─ NotFoundError             404
    │  ├─ MethodNotAllowedError     405
    │  ├─ NotAcceptableError        406
    │  ├─ ConflictError             409   the object was modified concurrently
    │  ├─ AlreadyExistsError        409   the name is already in use
    │  ├─ ExpiredError              410   the resource version is too old
    │  ├─ UnsupportedMediaTypeError 415
    │  ├─ InvalidError              422
    │  ├─ TooManyRequestsError      429
    │  └─ ServerError               5xx
    │     ├─ ServiceUnavailableError      503
    │     └─ ServerTimeoutError           504
    │        └─ ResourceVersionTooLargeError   the server is behind
    ├─ DecodeError                        a server sent malformed data
    ├─ EncodeError                        an object cannot be serialized
    ├─ WatchError                         a watch failed without an error from the server
    │  ├─ VeryShortWatchError             closed at once, without an event
    │  ├─ WatchSilenceError               no data for too long
    │  ├─ WatchReplayError                a resumed watch repeated known events
    │  ├─ VersionRegressionError          the server's versions are behind the known one
    │  └─ IncompleteStreamError           a streaming list ended before it was complete
    ├─ CacheError                         an operation on a store or informer failed
    │  ├─ CacheSyncError                  not all informers have synced; says which and why
    │  ├─ CacheNotStartedError            a cache was read before its start
    │  ├─ ResourceNotCachedError          the cache does not hold this kind
    │  ├─ OutOfScopeError                 the cache does not cover this namespace
    │  ├─ StaleReadError                  the cache has not seen the caller's own writes
    │  ├─ UnknownIndexError               there is no index with this name
    │  ├─ KeyFuncError                    an object has no key
    │  └─ TransformError                  a transform failed on an object
    ├─ ControllerError                    a controller or its manager failed
    │  ├─ TerminalError                   a reconcile failed, and a retry would not help
    │  ├─ ReconcileTimeoutError           a reconcile took longer than allowed
    │  ├─ LeadershipLostError             work was attempted without leadership
    │  ├─ AlreadyOwnedError               the object has another controller
    │  ├─ ShutdownTimeoutError            components did not stop in time; names them
    │  └─ WaitTimeoutError                an object was not in the wanted state in time
    ├─ InvalidNameError                   an invalid key, kind, resource or path
    ├─ SelectorError                      an invalid label or field selector
    ├─ ReadOnlyError                      an attempt to modify a read-only object
    └─ StateError                         an invalid call in this state (closed, not started)
       ├─ AlreadyStartedError             it is already running
       ├─ AlreadyStoppedError             it has stopped
       └─ QueueClosedError                the queue accepts no more items

Errors of the underlying libraries (aiohttp, ssl, msgspec, yaml) are always wrapped and available as
``__cause__``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

__all__ = [
    "AlreadyExistsError",
    "AlreadyOwnedError",
    "AlreadyStartedError",
    "AlreadyStoppedError",
    "ApiError",
    "BadRequestError",
    "CacheError",
    "CacheNotStartedError",
    "CacheSyncError",
    "ConfigError",
    "ConflictError",
    "ControllerError",
    "DecodeError",
    "DiscoveryError",
    "EncodeError",
    "ExpiredError",
    "ForbiddenError",
    "IncompleteStreamError",
    "InvalidError",
    "InvalidNameError",
    "KeyFuncError",
    "KinformError",
    "LeadershipLostError",
    "MethodNotAllowedError",
    "NoMatchError",
    "NotAcceptableError",
    "NotFoundError",
    "OutOfScopeError",
    "QueueClosedError",
    "ReadOnlyError",
    "ReconcileTimeoutError",
    "ResourceNotCachedError",
    "ResourceVersionTooLargeError",
    "ResponseTooLargeError",
    "SelectorError",
    "ServerError",
    "ServerTimeoutError",
    "ServiceUnavailableError",
    "ShutdownTimeoutError",
    "SourceError",
    "StaleReadError",
    "StateError",
    "TerminalError",
    "TooManyRequestsError",
    "TransformError",
    "TransportError",
    "TruncatedResponseError",
    "UnauthorizedError",
    "UnknownIndexError",
    "UnsupportedMediaTypeError",
    "VersionRegressionError",
    "VeryShortWatchError",
    "WaitTimeoutError",
    "WatchError",
    "WatchReplayError",
    "WatchSilenceError",
]


class KinformError(Exception):
    """Base class of all exceptions that kinform raises."""


class ConfigError(KinformError):
    """The configuration is invalid; the message names the file, the field and the remedy."""


class DiscoveryError(KinformError):
    """The server's groups, versions and resources could not be read."""


class NoMatchError(DiscoveryError):
    """The server does not have this kind or resource; the message suggests similar ones."""


class TransportError(KinformError):
    """There was no response: refused, reset, timed out, or TLS failed. The cause is chained."""


class ResponseTooLargeError(TransportError):
    """The response is larger than the size limit."""


class TruncatedResponseError(TransportError):
    """The connection was lost or the timeout expired in the middle of a response."""


class SourceError(TransportError):
    """A custom list or watch callable raised an exception, which is the cause."""


class ApiError(KinformError):
    """The server returned an error.

    Attributes:
        code: The HTTP status, or the ``code`` of a Status received in a stream.
        reason: The machine-readable reason (``NotFound``, ``Expired``, …); may be empty.
        message: The message of the server, in one line where possible.
        details: The ``details`` of the Status: name, kind, causes; empty if absent.
        retry_after: Seconds to wait before retrying, from the header or the details.
        metadata: The ``metadata`` of the Status; empty if absent.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.details: Mapping[str, Any] = details or {}
        self.retry_after = retry_after
        self.metadata: Mapping[str, Any] = metadata or {}

    def __str__(self) -> str:
        reason = f" {self.reason}" if self.reason else ""
        return f"{self.message or 'no message'} ({self.code}{reason})"

    def __reduce__(self) -> tuple[Callable[[], ApiError], tuple[()], dict[str, Any]]:
        # Copying and pickling pass only positional arguments, and ``code`` is keyword-only.
        return partial(type(self), self.message, code=self.code), (), self.__dict__

    @property
    def causes(self) -> tuple[Mapping[str, Any], ...]:
        """The individual problems of an ``Invalid`` error, each with field, reason and message."""
        causes = self.details.get("causes")
        if not isinstance(causes, list | tuple):
            return ()
        return tuple(cause for cause in causes if isinstance(cause, Mapping))


class BadRequestError(ApiError):
    """400: the request is malformed."""


class UnauthorizedError(ApiError):
    """401: the credentials are missing or were rejected.

    Attributes:
        request: The request with the kind and origin of the credentials, never their value; empty
            if unknown, or if ``message`` has it.
    """

    request: str = ""

    def __str__(self) -> str:
        return f"{self.request}: {super().__str__()}" if self.request else super().__str__()


class ForbiddenError(ApiError):
    """403: the user is not permitted to do this."""


class NotFoundError(ApiError):
    """404: the object or the resource does not exist."""


class MethodNotAllowedError(ApiError):
    """405: the resource does not support this verb."""


class NotAcceptableError(ApiError):
    """406: the server does not support any of the requested content types."""


class ConflictError(ApiError):
    """409: the object has changed since it was read. Read it again and retry."""


class AlreadyExistsError(ApiError):
    """409: an object with this name already exists."""


class ExpiredError(ApiError):
    """410: the resource version or continue token is older than the server's history.

    ``continue_token`` continues the list at a newer resource version, if the server sent one.
    """

    @property
    def continue_token(self) -> str:
        return str(self.metadata.get("continue") or "")


class UnsupportedMediaTypeError(ApiError):
    """415: the server does not support the content type of the request."""


class InvalidError(ApiError):
    """422: the object failed validation; ``causes`` lists the fields."""


class TooManyRequestsError(ApiError):
    """429: the server is rate limiting. ``retry_after`` is the time to wait."""


class ServerError(ApiError):
    """5xx: the server failed."""


class ServiceUnavailableError(ServerError):
    """503: the server, or a server behind it, is temporarily unavailable."""


class ServerTimeoutError(ServerError):
    """504: the request timed out on the server."""


class ResourceVersionTooLargeError(ServerTimeoutError):
    """504: the requested resource version is newer than the server's data."""


class DecodeError(KinformError):
    """Data from a server is malformed.

    Attributes:
        key: ``namespace/name`` of the object, if it could be read.
        resource_version: The version of the object, if it could be read.
    """

    def __init__(self, message: str, *, key: str = "", resource_version: str = "") -> None:
        super().__init__(message)
        self.key = key
        self.resource_version = resource_version


class EncodeError(KinformError, TypeError):
    """An object contains a value that cannot be serialized: a set, a datetime, itself."""


class WatchError(KinformError):
    """A watch failed without an error from the server."""


class VeryShortWatchError(WatchError):
    """The server closed a watch within a second and without an event, as some do for a 410."""


class WatchSilenceError(WatchError):
    """No data arrived for so long that the connection is considered dead."""


class WatchReplayError(WatchError):
    """A resumed watch repeated known events: the server does not support resuming."""


class VersionRegressionError(WatchError):
    """The server's versions are behind the known one, as after a restore from a backup."""


class IncompleteStreamError(WatchError):
    """The server ended a streaming list without confirming that it was complete."""


class CacheError(KinformError):
    """An operation on a store, an index or an informer failed."""


class CacheSyncError(CacheError):
    """Not all informers have synced; the message says which, in which phase, and why."""


class CacheNotStartedError(CacheError):
    """A cache was read before its start. The kind is remembered, and cached from the start on."""


class ResourceNotCachedError(CacheError):
    """A cache was asked for a kind that it does not hold, and may not create an informer for it."""


class OutOfScopeError(CacheError):
    """A cache was asked for a namespace that it does not cover; it says nothing about it."""


class StaleReadError(CacheError):
    """A read did not see the caller's own writes in time."""


class UnknownIndexError(CacheError, KeyError):
    """There is no index with this name; the message lists the existing ones."""

    __str__ = Exception.__str__  # a KeyError would quote its message


class KeyFuncError(CacheError, ValueError):
    """An object has no key, so it cannot be stored."""


class TransformError(CacheError):
    """A transform raised, or did not return an object. The cause is chained.

    Attributes:
        key: The key of the object.
    """

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class InvalidNameError(KinformError, ValueError):
    """A key, group, kind, resource or path is invalid."""


class SelectorError(KinformError, ValueError):
    """A label or field selector is invalid; the message shows the position."""


class ReadOnlyError(KinformError, TypeError):
    """A read-only object cannot be modified. Use ``copy()`` to get an editable one."""


class ControllerError(KinformError):
    """A controller or its manager failed."""


class TerminalError(ControllerError):
    """A reconcile failed, and a retry would not help. Raised by reconcilers."""


class ReconcileTimeoutError(ControllerError):
    """A reconcile took longer than its controller allows."""


class LeadershipLostError(ControllerError):
    """The program is not the leader, or not any more, so it must not write."""


class AlreadyOwnedError(ControllerError):
    """The object has another controller."""


class ShutdownTimeoutError(ControllerError):
    """Some components did not stop in time; the message names them."""


class WaitTimeoutError(ControllerError, TimeoutError):
    """An object was not in the wanted state in time; the message says what was seen last."""


class StateError(KinformError):
    """A call is not allowed in this state: closed, not started, started twice."""


class AlreadyStartedError(StateError):
    """It is already running, or the call is only allowed before the start."""


class AlreadyStoppedError(StateError):
    """It has already stopped."""


class QueueClosedError(StateError):
    """The queue is closed: remaining items can be taken out, but none can be added."""
