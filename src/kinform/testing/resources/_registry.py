"""The registry of served resources, built-in and custom, by URL and by kind.

The rows of the table (``_generated_resources.RESOURCES``) are in the order of aggregated
discovery: the core group, then the other groups; versions by preference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from kinform.api import GVK, GVR, ApiResource
from kinform.client import ResourceOrModel, place_of, suggest_kind, suggest_resource
from kinform.errors import NoMatchError
from kinform.testing.api_errors import QualifiedName
from kinform.testing.resources._generated_resources import RESOURCES
from kinform.testing.resources._resource_rows import ResourceRow
from kinform.testing.resources._selectable_fields import BUILT_IN_FIELDS, SelectableField
from kinform.testing.resources._traits import ResourceTraits

# Resources that several groups serve from the same objects.
_SHARED_STORAGE = {("events.k8s.io", "events"): ("", "events")}


class Subresource(msgspec.Struct, frozen=True):
    """One subresource; ``gvk`` is the kind of its responses."""

    name: str
    gvk: GVK
    verbs: tuple[str, ...]


class ScalePaths(msgspec.Struct, frozen=True):
    """The paths in an object that the scale subresource uses."""

    spec_replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...]


class StoredKind(msgspec.Struct, frozen=True):
    """How the objects of a resource are stored, for all of its served versions.

    Attributes:
        resource: The group and plural in storage, as named in a Status.
        gvk: The storage version.
        namespaced: Whether the objects belong to namespaces.
        custom: Whether they are custom resources, which the server writes with sorted keys.
        fields: The selectable fields, besides name and namespace.
    """

    resource: QualifiedName
    gvk: GVK
    namespaced: bool
    custom: bool
    fields: tuple[SelectableField, ...]


class ServedResource(msgspec.Struct, frozen=True):
    """One resource of one version, as served to clients."""

    gvr: GVR
    kind: str
    list_kind: str
    singular: str
    verbs: tuple[str, ...]
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    storage_version_hash: str
    subresources: Mapping[str, Subresource]
    stored: StoredKind
    traits: ResourceTraits
    selectable: frozenset[str]
    scale: ScalePaths | None = None

    @property
    def gvk(self) -> GVK:
        return GVK(self.gvr.group, self.gvr.version, self.kind)

    @property
    def api_version(self) -> str:
        return self.gvr.api_version

    @property
    def namespaced(self) -> bool:
        return self.stored.namespaced

    @property
    def custom(self) -> bool:
        return self.stored.custom

    @property
    def qualified_name(self) -> QualifiedName:
        """The name of the resource in a Status."""
        return QualifiedName(self.gvr.group, self.gvr.resource)

    @property
    def qualified_kind(self) -> QualifiedName:
        """The name of the kind in a Status."""
        return QualifiedName(self.gvr.group, self.kind)

    @property
    def splits_status(self) -> bool:
        """Whether the status is only written through its own subresource."""
        return "status" in self.subresources


class ResourceRegistry:
    """All resources that are currently served. ``revision`` changes with them."""

    def __init__(self, rows: Iterable[ResourceRow] = RESOURCES) -> None:
        self.revision = 0
        self._resources: dict[tuple[str, str, str], ServedResource] = {}
        self._kinds: dict[tuple[str, str, str], ServedResource] = {}
        self._custom_groups: dict[str, tuple[str, ...]] = {}
        self._built_in_groups: dict[str, list[str]] = {}
        homes: dict[tuple[str, str], StoredKind] = {}
        for row in rows:
            self._add(_from_row(row, homes))
            versions = self._built_in_groups.setdefault(row.group, [])
            if row.version not in versions:
                versions.append(row.version)

    def find(self, group: str, version: str, resource: str) -> ServedResource | None:
        return self._resources.get((group, version, resource))

    def find_kind(self, group: str, version: str, kind: str) -> ServedResource | None:
        """Return the resource whose objects have this kind, if it can be stored."""
        return self._kinds.get((group, version, kind))

    def require(self, resource: ResourceOrModel) -> ServedResource:
        """Return a resource, given as for a client.

        Raises:
            NoMatchError: It is not served; the message suggests others.
            InvalidNameError: ``resource`` is not a resource.
        """
        place = place_of(resource)
        if isinstance(place, GVK):
            served = self.find_kind(place.group, place.version, place.kind)
            if served is None:
                raise _not_served(str(place), suggest_kind(place, self._described()))
            return served
        gvr = place.gvr if isinstance(place, ApiResource) else place
        served = self.find(gvr.group, gvr.version, gvr.resource)
        if served is None:
            raise _not_served(str(gvr), suggest_resource(gvr, self._described()))
        return served

    def check_served(self, resource: str | GVR) -> None:
        """Check a GVR, a plural (``pods``) or a plural and its group (``deployments.apps``).

        Raises:
            NoMatchError: It is not served; the message suggests others.
            InvalidNameError: The text cannot be the name of a resource.
        """
        if isinstance(resource, GVR):
            self.require(resource)
            return
        plural, dot, group = resource.partition(".")
        for served in self._resources.values():
            if served.gvr.resource == plural and (not dot or served.gvr.group == group):
                return
        raise _not_served(resource, suggest_resource(GVR(group, "v1", plural), self._described()))

    def groups(self) -> dict[str, list[str]]:
        """Return the groups in discovery order, each with its versions by preference."""
        groups = {group: list(versions) for group, versions in self._built_in_groups.items()}
        for group in sorted(self._custom_groups):
            served = groups.setdefault(group, [])
            served += [name for name in self._custom_groups[group] if name not in served]
        return groups

    def resources(self, group: str, version: str) -> Iterator[ServedResource]:
        """Return the resources of one group-version, in discovery order."""
        for (of_group, of_version, _), served in self._resources.items():
            if (of_group, of_version) == (group, version):
                yield served

    def all_resources(self) -> Iterator[ServedResource]:
        yield from self._resources.values()

    def serves_custom_group(self, group: str) -> bool:
        return group in self._custom_groups

    def replace_custom(
        self, resources: Iterable[ServedResource], groups: Mapping[str, tuple[str, ...]]
    ) -> None:
        """Replace all custom resources with these."""
        for served in [old for old in self._resources.values() if old.custom]:
            key = (served.gvr.group, served.gvr.version)
            del self._resources[(*key, served.gvr.resource)]
            self._kinds.pop((*key, served.kind), None)
        for served in resources:
            self._add(served)
        self._custom_groups = dict(groups)
        self.revision += 1

    def _described(self) -> list[ApiResource]:
        return [
            ApiResource(
                served.gvr,
                served.kind,
                served.namespaced,
                singular=served.singular,
                short_names=served.short_names,
            )
            for served in self._resources.values()
        ]

    def _add(self, served: ServedResource) -> None:
        key = (served.gvr.group, served.gvr.version)
        self._resources[(*key, served.gvr.resource)] = served
        if "get" in served.verbs or "list" in served.verbs:
            self._kinds[(*key, served.kind)] = served


def _not_served(resource: str, hint: str) -> NoMatchError:
    return NoMatchError(
        f"{resource!r} is not served{hint} "
        "For a custom resource, create its CustomResourceDefinition first"
    )


def _from_row(row: ResourceRow, homes: dict[tuple[str, str], StoredKind]) -> ServedResource:
    gvr = GVR(row.group, row.version, row.plural)
    home = _SHARED_STORAGE.get((row.group, row.plural), (row.group, row.plural))
    stored = homes.get(home)
    if stored is None:
        resource = QualifiedName(*home)
        fields = BUILT_IN_FIELDS.get(str(resource), ())
        gvk = GVK(row.group, row.version, row.kind)
        stored = StoredKind(resource, gvk, row.namespaced, custom=False, fields=fields)
        homes[home] = stored
    subresources = {
        sub.name: Subresource(
            sub.name,
            GVK(sub.group, sub.version, sub.kind)
            if sub.version
            else GVK.of(gvr.api_version, sub.kind),
            sub.verbs,
        )
        for sub in row.subresources
    }
    return ServedResource(
        gvr=gvr,
        kind=row.kind,
        list_kind=f"{row.kind}List",
        singular=row.singular,
        verbs=row.verbs,
        short_names=row.short_names,
        categories=row.categories,
        storage_version_hash=row.storage_version_hash,
        subresources=subresources,
        stored=stored,
        traits=ResourceTraits.of(str(stored.resource)),
        selectable=frozenset(field.label for field in stored.fields),
        scale=_BUILT_IN_SCALE if "scale" in subresources else None,
    )


_BUILT_IN_SCALE = ScalePaths(
    spec_replicas=("spec", "replicas"),
    status_replicas=("status", "replicas"),
    selector=("spec", "selector"),
)
