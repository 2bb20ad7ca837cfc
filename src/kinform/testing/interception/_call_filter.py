"""Criteria for calls, shared by the faults, the request log and ``end_watches``."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TypedDict

import msgspec

from kinform.api import GVR
from kinform.client import ResourceLike, gvr_of
from kinform.errors import ConfigError
from kinform.testing.interception._call import Call

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


class CallCriteria(TypedDict, total=False):
    """The criteria of a ``CallFilter``, as keywords. ``None`` matches everything.

    Attributes:
        verb: One of ``get list watch create update patch delete deletecollection``.
        resource: A plural (``pods``), a plural and its group (``deployments.apps``), or a resource
            as for a client: ``apps/v1/deployments``, a GVR or a model class.
        namespace: The namespace in the path; an empty string means "across all namespaces".
        name: The object's name.
        path: The whole path; ``*`` matches anything.
        when: A predicate on the call, evaluated after all other criteria.
    """

    verb: str | None
    resource: ResourceLike | None
    namespace: str | None
    name: str | None
    path: str | None
    when: Callable[[Call], bool] | None


class CallFilter(msgspec.Struct, frozen=True):
    """Criteria for calls, as in ``CallCriteria``; ``resource`` is a plural or a GVR."""

    verb: str | None = None
    resource: str | GVR | None = None
    namespace: str | None = None
    name: str | None = None
    path: str | None = None
    when: Callable[[Call], bool] | None = None

    def __post_init__(self) -> None:
        if self.verb is not None and self.verb not in VERBS:
            raise ConfigError(f"{self.verb!r} is not a verb; the verbs are {' '.join(VERBS)}")

    @classmethod
    def of(
        cls,
        verb: str | None = None,
        resource: ResourceLike | None = None,
        namespace: str | None = None,
        name: str | None = None,
        path: str | None = None,
        when: Callable[[Call], bool] | None = None,
    ) -> CallFilter:
        """Create a filter from criteria.

        Raises:
            ConfigError: The verb does not exist.
            InvalidNameError: ``resource`` is not a resource.
        """
        return cls(verb, _named(resource), namespace, name, path, when)

    def matches(self, call: Call) -> bool:
        return (
            (self.verb is None or call.verb == self.verb)
            and (self.resource is None or _is_resource(call.gvr, self.resource))
            and (self.namespace is None or call.namespace == self.namespace)
            and (self.name is None or call.name == self.name)
            and (self.path is None or fnmatchcase(call.path, self.path))
            and (self.when is None or self.when(call))
        )


def _named(resource: ResourceLike | None) -> str | GVR | None:
    if resource is None or (isinstance(resource, str) and "/" not in resource):
        return resource
    return gvr_of(resource)


def _is_resource(gvr: GVR | None, wanted: str | GVR) -> bool:
    if gvr is None:
        return False
    if isinstance(wanted, GVR):
        return gvr == wanted
    plural, dot, group = wanted.partition(".")
    return gvr.resource == plural and (not dot or gvr.group == group)
