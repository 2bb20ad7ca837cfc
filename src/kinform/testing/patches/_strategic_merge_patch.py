"""Strategic merge patches: returns the merged value and modifies neither input.

For built-in kinds only. Lists whose names Kubernetes merges are merged by key, sets are united,
and other lists are replaced.
"""

from __future__ import annotations

from typing import Any

from kinform.testing import api_errors

Json = dict[str, Any]

# The merge keys of lists of objects, by the name of their field.
_MERGE_KEYS = {
    "conditions": "type",
    "containers": "name",
    "containerStatuses": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "ephemeralContainerStatuses": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "initContainerStatuses": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "hostIPs": "ip",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "secrets": "name",
    "taints": "key",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
    "webhooks": "name",
    "addresses": "type",
}
_SETS = frozenset({"finalizers", "podCIDRs"})
_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"


def apply_strategic_patch(current: Any, patch: Json) -> Json:
    """Return the merged object.

    Raises:
        ServerError: A directive or a list item is invalid. The real server fails, too.
    """
    merged = _merge_object(current if isinstance(current, dict) else {}, patch)
    return merged if merged is not None else {}


def merge_key(field: str, items: list[Any]) -> str | None:
    """Return the merge key of a list of objects, or ``None`` if it is not merged."""
    if field == "ports":
        # Ports of a container or of a service.
        named = any(isinstance(item, dict) and "containerPort" in item for item in items)
        return "containerPort" if named else "port"
    return _MERGE_KEYS.get(field)


def _merge_object(current: Json, patch: Json) -> Json | None:
    """Return the merged object; ``None`` if the patch deletes it."""
    directive = patch.get(_DIRECTIVE)
    if directive == "delete":
        return None
    if directive == "replace":
        replaced: Json = _without_directives(patch)
        return replaced
    if directive not in (None, "merge"):
        raise api_errors.internal(f"unknown patch type: {directive} in map: {_text_of(patch)}")
    merged = dict(current)
    if _RETAIN in patch:
        kept = patch[_RETAIN]
        merged = {key: value for key, value in merged.items() if key in kept}
    for key, value in patch.items():
        if key.startswith(_DELETE_PRIMITIVES):
            _delete_primitives(merged, key.removeprefix(_DELETE_PRIMITIVES), value)
    for key, value in patch.items():
        if not key.startswith("$"):
            _merge_member(merged, key, value)
    for key, value in patch.items():
        if key.startswith(_ORDER):
            field = key.removeprefix(_ORDER)
            if not isinstance(value, list):
                raise api_errors.internal(
                    f"expected a []interface {{}}, but received a {_go_type(value)}"
                )
            if isinstance(merged.get(field), list):
                merged[field] = _ordered(field, merged[field], value)
    return merged


def _delete_primitives(merged: Json, field: str, values: Any) -> None:
    if values is None:
        merged.pop(field, None)
    elif isinstance(values, list) and isinstance(merged.get(field), list):
        merged[field] = [item for item in merged[field] if item not in values]


def _merge_member(merged: Json, key: str, value: Any) -> None:
    current = merged.get(key)
    if value is None:
        merged.pop(key, None)
    elif isinstance(value, dict):
        result = _merge_object(current if isinstance(current, dict) else {}, value)
        if result is None:
            merged.pop(key, None)
        else:
            merged[key] = result
    elif isinstance(value, list):
        merged[key] = _merge_list(key, current if isinstance(current, list) else [], value)
    else:
        merged[key] = value


def _merge_list(field: str, current: list[Any], patch: list[Any]) -> list[Any]:
    if field in _SETS:
        return current + [item for item in patch if item not in current]
    objects = all(isinstance(item, dict) for item in patch)
    if objects and any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return [_without_directives(item) for item in patch if set(item) != {_DIRECTIVE}]
    key = merge_key(field, [*patch, *current])
    if key is None or not objects:
        return [_without_directives(item) for item in patch]
    merged = list(current)
    for item in patch:
        if key not in item:
            raise api_errors.internal(
                f"map: {_text_of(item)} does not contain declared merge key: {key}"
            )
        _merge_item(merged, key, item)
    return merged


def _merge_item(merged: list[Any], key: str, item: Json) -> None:
    for position, existing in enumerate(merged):
        if isinstance(existing, dict) and existing.get(key) == item[key]:
            result = _merge_object(existing, item)
            if result is None:
                del merged[position]
            else:
                merged[position] = result
            return
    if item.get(_DIRECTIVE) != "delete":
        merged.append(_without_directives(item))


def _ordered(field: str, items: list[Any], order: list[Any]) -> list[Any]:
    """Sort the items named in ``order`` first; the others keep their order after them."""
    key = merge_key(field, items)
    if key is not None and all(isinstance(item, dict) for item in items):
        wanted = [entry.get(key) if isinstance(entry, dict) else entry for entry in order]
        return sorted(items, key=lambda item: _position(item.get(key), wanted))
    return sorted(items, key=lambda item: _position(item, order))


def _position(value: Any, order: list[Any]) -> int:
    """Return the position of any JSON value, which may not be hashable."""
    return order.index(value) if value in order else len(order)


def _go_type(value: Any) -> str:
    names = {bool: "bool", int: "int64", float: "float64", str: "string", type(None): "<nil>"}
    return names.get(type(value), "map[string]interface {}")


def _text_of(item: Json) -> str:
    """Return an object as the server prints it."""
    return f"map[{' '.join(f'{key}:{value}' for key, value in sorted(item.items()))}]"


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_directives(item)
            for key, item in value.items()
            if not key.startswith("$") and item is not None
        }
    if isinstance(value, list):
        return [_without_directives(item) for item in value]
    return value
