"""The keys of lists: the fields that identify an element, as declared by the Kubernetes API."""

from __future__ import annotations

from typing import Any

Key = tuple[str, ...]

# By the JSON name of the list. Where lists of several kinds have the same name, each has an entry;
# only the keys that all elements have are used. Lists by "name" are not mentioned.
_KEYS: dict[str, tuple[Key, ...]] = {
    "acceptedTypes": (("group", "version", "kind"),),
    "addresses": (("type",),),
    "conditions": (("type",),),
    "devices": (("driver", "pool", "device", "shareID"),),
    "healthConditions": (("status", "reason"),),
    "hostAliases": (("ip",),),
    "hostIPs": (("ip",),),
    "managedFields": (("manager", "operation", "apiVersion", "subresource"),),
    "nodeAllocatableResourceClaimStatuses": (("resourceClaimName",),),
    "ownerReferences": (("uid",),),
    "podIPs": (("ip",),),
    "ports": (("containerPort", "protocol"), ("port", "protocol")),
    "reservedFor": (("uid",),),
    "resources": (("resource",), ("resourceID",)),
    "storageVersions": (("apiServerID",),),
    "subresources": (("subresource",),),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
    "versions": (("version",),),
    "volumeDevices": (("devicePath",),),
    "volumeMounts": (("mountPath",),),
    "x-kubernetes-validations": (("rule",),),
}


def identities(field: str, *lists: list[Any]) -> list[list[Any]] | None:
    """Return what identifies each element of some versions of a list; ``None`` if nothing does."""
    for key in _KEYS.get(field, ()):
        # The first field of a key is required; the others may have defaults.
        if all(isinstance(each, dict) and each.get(key[0]) for one in lists for each in one):
            return [[tuple(each.get(name) for name in key) for each in one] for one in lists]
    found = [[_name(each) for each in one] for one in lists]
    return found if all(all(one) for one in found) else None


def _name(element: Any) -> str:
    """Return the name of an element, which may be an object with metadata."""
    if not isinstance(element, dict):
        return ""
    metadata = element.get("metadata")
    name = element.get("name") or (metadata.get("name") if isinstance(metadata, dict) else None)
    return name if isinstance(name, str) else ""
