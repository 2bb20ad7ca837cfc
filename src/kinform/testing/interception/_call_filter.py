"""Criteria for calls, shared by the faults and the request log."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

import msgspec

from kinform.api import GVR
from kinform.errors import ConfigError
from kinform.testing.interception._call import Call

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


class CallFilter(msgspec.Struct, frozen=True):
    """Criteria for calls. ``None`` matches everything.

    Attributes:
        verb: One of ``get list watch create update patch delete deletecollection``.
        resource: A GVR, a plural (``pods``), or a plural and its group (``deployments.apps``).
        namespace: The namespace in the path; an empty string means "across all namespaces".
        name: The object's name.
        path: The whole path; ``*`` matches anything.
        when: A predicate on the call, evaluated after all other criteria.
    """

    verb: str | None = None
    resource: str | GVR | None = None
    namespace: str | None = None
    name: str | None = None
    path: str | None = None
    when: Callable[[Call], bool] | None = None

    def __post_init__(self) -> None:
        if self.verb is not None and self.verb not in VERBS:
            raise ConfigError(f"{self.verb!r} is not a verb; the verbs are {' '.join(VERBS)}")

    def matches(self, call: Call) -> bool:
        return (
            (self.verb is None or call.verb == self.verb)
            and (self.resource is None or _is_resource(call.gvr, self.resource))
            and (self.namespace is None or call.namespace == self.namespace)
            and (self.name is None or call.name == self.name)
            and (self.path is None or fnmatchcase(call.path, self.path))
            and (self.when is None or self.when(call))
        )


def _is_resource(gvr: GVR | None, wanted: str | GVR) -> bool:
    if gvr is None:
        return False
    if isinstance(wanted, GVR):
        return gvr == wanted
    plural, dot, group = wanted.partition(".")
    return gvr.resource == plural and (not dot or gvr.group == group)
