"""Names of kinds, resources and objects, and the keys of objects."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from kinform.api._validation import is_dns_label, is_dns_subdomain, is_kind, is_resource
from kinform.errors import InvalidNameError


class Named(Protocol):
    """An object with a name and, unless it is cluster-scoped, a namespace."""

    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str: ...


class ObjectName(NamedTuple):
    """The name of an object; ``namespace`` is empty for cluster-scoped objects."""

    namespace: str
    name: str

    @property
    def key(self) -> str:
        return namespace_key(self)

    def __str__(self) -> str:
        return self.key


def namespace_key(obj: Named) -> str:
    """Return the key of an object: ``namespace/name``, or ``name`` if it is cluster-scoped."""
    namespace, name = obj.namespace, obj.name
    return f"{namespace}/{name}" if namespace else name


def split_namespace_key(key: str) -> ObjectName:
    """Split a key into namespace and name; the inverse of ``namespace_key``.

    Raises:
        InvalidNameError: The key has more than one slash.
    """
    first, slash, rest = key.partition("/")
    if "/" in rest:
        raise InvalidNameError(
            f"key {key!r} has more than one slash; it must be namespace/name or name"
        )
    return ObjectName(first, rest) if slash else ObjectName("", first)


class GVK(msgspec.Struct, frozen=True, order=True):
    """A kind: group (empty for the core group), version and kind."""

    group: str
    version: str
    kind: str

    def __post_init__(self) -> None:
        _check_group_version(self.group, self.version, self)
        if not is_kind(self.kind):
            raise InvalidNameError(
                f"{self!r}: {self.kind!r} cannot be a kind; it is one word, such as 'Pod'"
            )

    @classmethod
    def of(cls, api_version: str, kind: str) -> GVK:
        """Create a GVK from the fields of an object: ``GVK.of("apps/v1", "Deployment")``."""
        group, version = split_api_version(api_version)
        return cls(group, version, kind)

    @property
    def api_version(self) -> str:
        return join_api_version(self.group, self.version)

    def __str__(self) -> str:
        return f"{self.api_version}/{self.kind}"


class GVR(msgspec.Struct, frozen=True, order=True):
    """A resource: group (empty for the core group), version and the plural name in the URL."""

    group: str
    version: str
    resource: str

    def __post_init__(self) -> None:
        _check_group_version(self.group, self.version, self)
        if not is_resource(self.resource):
            raise InvalidNameError(
                f"{self!r}: {self.resource!r} cannot be a resource; it is the plural in the URL, "
                "such as 'pods' (a kind such as 'Pod' goes into a GVK)"
            )

    @classmethod
    def parse(cls, text: str) -> GVR:
        """Parse ``v1/pods`` or ``apps/v1/deployments``.

        Raises:
            InvalidNameError: The text does not have two or three parts, or a part is invalid.
        """
        parts = text.split("/")
        if len(parts) not in (2, 3):
            raise InvalidNameError(
                f"{text!r} is not a resource; write version/resource ('v1/pods') "
                "or group/version/resource ('apps/v1/deployments')"
            )
        group, version, resource = parts if len(parts) == 3 else ["", *parts]
        return cls(group, version, resource)

    @property
    def api_version(self) -> str:
        return join_api_version(self.group, self.version)

    def __str__(self) -> str:
        return f"{self.api_version}/{self.resource}"


def split_api_version(api_version: str) -> tuple[str, str]:
    """Split ``apps/v1`` into ``("apps", "v1")`` and ``v1`` into ``("", "v1")``.

    Raises:
        InvalidNameError: The text is empty or has more than one slash.
    """
    group, slash, version = api_version.rpartition("/")
    if not version or "/" in group or (slash and not group):
        raise InvalidNameError(
            f"{api_version!r} is not an apiVersion; write 'v1' or 'group/version'"
        )
    return group, version


def join_api_version(group: str, version: str) -> str:
    """Return the ``apiVersion``: ``apps/v1``, or ``v1`` for the core group."""
    return f"{group}/{version}" if group else version


def _check_group_version(group: str, version: str, whole: object) -> None:
    if group != "" and not is_dns_subdomain(group):
        raise InvalidNameError(
            f"{whole!r}: {group!r} cannot be a group; it is lower-case and dotted, "
            "such as 'apps' or 'batch.example.com', and empty for the core group"
        )
    if not is_dns_label(version):
        raise InvalidNameError(
            f"{whole!r}: {version!r} cannot be a version; group and version are separate, "
            "such as ('apps', 'v1')"
        )
