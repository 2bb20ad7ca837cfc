"""Every exception kinform raises, in one tree. Imports nothing of kinform.

    KinformError
    ├─ ConfigError                        a kubeconfig, a credential or an option is wrong
    ├─ DiscoveryError                     the server's API surface could not be read
    │  └─ NoMatchError                    no such kind or resource; names the nearest ones
    ├─ TransportError                     no answer: refused, reset, timed out, TLS
    │  ├─ ResponseTooLargeError           the answer is larger than we agreed to hold
    │  ├─ TruncatedResponseError          the answer broke off before its end
    │  └─ SourceError                     a list or watch callable of your own raised
    ├─ ApiError                           the server answered, and said no
    │  ├─ BadRequestError           400
    │  ├─ UnauthorizedError         401
    │  ├─ ForbiddenError            403
    │  ├─ NotFoundError             404
    │  ├─ MethodNotAllowedError     405
    │  ├─ NotAcceptableError        406
    │  ├─ ConflictError             409   someone else wrote first
    │  ├─ AlreadyExistsError        409   the name is taken
    │  ├─ ExpiredError              410   that resource version is history
    │  ├─ UnsupportedMediaTypeError 415
    │  ├─ InvalidError              422
    │  ├─ TooManyRequestsError      429
    │  └─ ServerError               5xx
    │     ├─ ServiceUnavailableError      503
    │     └─ ServerTimeoutError           504
    │        └─ ResourceVersionTooLargeError   this server has not caught up yet
    ├─ DecodeError                        bytes from a server that are not what they claim to be
    ├─ EncodeError                        an object of yours that has no place on the wire
    ├─ WatchError                         a watch ended in a way that is not an answer
    │  ├─ VeryShortWatchError             it was closed at once and had nothing to say
    │  ├─ WatchSilenceError               it said nothing for longer than it ever does
    │  ├─ WatchReplayError                it began with what was known, as if from the start
    │  └─ IncompleteStreamError           a streamed list ended before it was complete
    ├─ CacheError                         a store or an informer cannot do this
    │  ├─ CacheSyncError                  not all informers have synced; says which, and why
    │  ├─ UnknownIndexError               no index of this name
    │  ├─ KeyFuncError                    an object that has no key
    │  └─ TransformError                  a transform failed on an object
    ├─ InvalidNameError                   a key, kind, resource or path that cannot be one
    ├─ SelectorError                      an illegal label or field selector
    ├─ ReadOnlyError                      an edit to an object that came from a cache or a list
    └─ StateError                         a call that makes no sense now (closed, not started)
       ├─ AlreadyStartedError             it runs already
       ├─ AlreadyStoppedError             it has stopped
       └─ QueueClosedError                nothing goes in any more

Errors of the libraries below (aiohttp, ssl, msgspec, yaml) never escape; they are the
``__cause__``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

__all__ = [
    "AlreadyExistsError",
    "AlreadyStartedError",
    "AlreadyStoppedError",
    "ApiError",
    "BadRequestError",
    "CacheError",
    "CacheSyncError",
    "ConfigError",
    "ConflictError",
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
    "MethodNotAllowedError",
    "NoMatchError",
    "NotAcceptableError",
    "NotFoundError",
    "QueueClosedError",
    "ReadOnlyError",
    "ResourceVersionTooLargeError",
    "ResponseTooLargeError",
    "SelectorError",
    "ServerError",
    "ServerTimeoutError",
    "ServiceUnavailableError",
    "SourceError",
    "StateError",
    "TooManyRequestsError",
    "TransformError",
    "TransportError",
    "TruncatedResponseError",
    "UnauthorizedError",
    "UnknownIndexError",
    "UnsupportedMediaTypeError",
    "VeryShortWatchError",
    "WatchError",
    "WatchReplayError",
    "WatchSilenceError",
]


class KinformError(Exception):
    """Catch this to catch everything that kinform raises on purpose."""


class ConfigError(KinformError):
    """The configuration cannot be used; the message names file, field and way out."""


class DiscoveryError(KinformError):
    """The server's groups, versions and resources could not be read."""


class NoMatchError(DiscoveryError):
    """The server has no such kind or resource; the message suggests the nearest ones."""


class TransportError(KinformError):
    """No answer came: refused, reset, timed out, or TLS failed. The cause is chained."""


class ResponseTooLargeError(TransportError):
    """The answer is larger than the limit it was read with."""


class TruncatedResponseError(TransportError):
    """The connection was lost, or the time was up, in the middle of an answer."""


class SourceError(TransportError):
    """A list or watch callable of your own raised what is not of kinform; it is the cause."""


class ApiError(KinformError):
    """The server answered, and the answer is no.

    Attributes:
        code: The HTTP status, or the ``code`` of a Status that came inside a stream.
        reason: The machine-readable reason (``NotFound``, ``Expired``, …); may be empty.
        message: What the server said, in one line where possible.
        details: The Status' ``details``: name, kind, causes; empty if there were none.
        retry_after: Seconds to wait before another try, from the header or the details.
        metadata: The Status' own ``metadata``; empty if there was none.
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
        # An exception is rebuilt from its positional arguments, and ``code`` is not one.
        return partial(type(self), self.message, code=self.code), (), self.__dict__

    @property
    def causes(self) -> tuple[Mapping[str, Any], ...]:
        """The single complaints behind an ``Invalid``, each with field, reason and message."""
        causes = self.details.get("causes")
        if not isinstance(causes, list | tuple):
            return ()
        return tuple(cause for cause in causes if isinstance(cause, Mapping))


class BadRequestError(ApiError):
    """400: the request makes no sense to the server."""


class UnauthorizedError(ApiError):
    """401: the server does not know who is asking."""


class ForbiddenError(ApiError):
    """403: the server knows who is asking, and refuses."""


class NotFoundError(ApiError):
    """404: no such object, or no such resource."""


class MethodNotAllowedError(ApiError):
    """405: the resource does not have this verb."""


class NotAcceptableError(ApiError):
    """406: the server cannot answer in any form that was asked for."""


class ConflictError(ApiError):
    """409: the object changed since it was read. Read it again, and try again."""


class AlreadyExistsError(ApiError):
    """409: an object of this name is there already."""


class ExpiredError(ApiError):
    """410: the resource version or continue token is older than what the server keeps.

    ``continue_token`` is a fresh token for the inconsistent rest of a list, if one was given.
    """

    @property
    def continue_token(self) -> str:
        return str(self.metadata.get("continue") or "")


class UnsupportedMediaTypeError(ApiError):
    """415: the server does not read this kind of body."""


class InvalidError(ApiError):
    """422: the object is well-formed and wrong; ``causes`` says where."""


class TooManyRequestsError(ApiError):
    """429: slow down. ``retry_after`` says for how long."""


class ServerError(ApiError):
    """5xx: the server failed."""


class ServiceUnavailableError(ServerError):
    """503: the server, or the one behind it, is not there right now."""


class ServerTimeoutError(ServerError):
    """504: the server gave up waiting."""


class ResourceVersionTooLargeError(ServerTimeoutError):
    """504: the resource version asked for is newer than this server has seen."""


class DecodeError(KinformError):
    """Bytes from a server are not what they claim to be.

    Attributes:
        key: ``namespace/name`` of the object that they are of, as far as it can be read.
        resource_version: Its version, likewise.
    """

    def __init__(self, message: str, *, key: str = "", resource_version: str = "") -> None:
        super().__init__(message)
        self.key = key
        self.resource_version = resource_version


class EncodeError(KinformError, TypeError):
    """An object holds something that cannot be written: a set, a datetime, itself."""


class WatchError(KinformError):
    """A watch ended in a way that is not the server's answer."""


class VeryShortWatchError(WatchError):
    """The server closed a watch within a second and without an event, as some do for a 410."""


class WatchSilenceError(WatchError):
    """Nothing came for so long that the connection must be taken for dead."""


class WatchReplayError(WatchError):
    """A resumed watch told again what was told before: its server cannot resume."""


class IncompleteStreamError(WatchError):
    """The server ended a streamed list without saying that all objects had been sent."""


class CacheError(KinformError):
    """A store, an index or an informer cannot do what was asked of it."""


class CacheSyncError(CacheError):
    """Not every informer has synced; the message says which, in which phase, and why."""


class UnknownIndexError(CacheError, KeyError):
    """No index of this name; the message names those that there are."""

    __str__ = Exception.__str__  # a KeyError would show its message in quotes


class KeyFuncError(CacheError, ValueError):
    """An object has no key, so no store can hold it."""


class TransformError(CacheError):
    """A transform raised, or returned what is no object. The cause is chained.

    Attributes:
        key: The object that it failed on.
    """

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class InvalidNameError(KinformError, ValueError):
    """A key, group, kind, resource or path that cannot be one."""


class SelectorError(KinformError, ValueError):
    """An illegal label or field selector; the message points at the place."""


class ReadOnlyError(KinformError, TypeError):
    """An edit to an object that others may be reading. ``copy()`` gives one to edit."""


class StateError(KinformError):
    """A call that makes no sense in this state: closed, not started, started twice."""


class AlreadyStartedError(StateError):
    """It runs already, or this had to be said before it did."""


class AlreadyStoppedError(StateError):
    """It has stopped."""


class QueueClosedError(StateError):
    """The queue is closed: what was in it can be taken out, nothing can be put in."""
