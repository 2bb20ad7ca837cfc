"""Field selectors: the selectable fields of each kind, and a reader for their values.

The reader takes the JSON of an object and returns the values as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from kinform.api import FieldSelector

_BY_EVERYONE = ("metadata.name", "metadata.namespace")


class SelectableField(msgspec.Struct, frozen=True):
    """One selectable field: its label, its path and its value if absent."""

    label: str
    path: tuple[str, ...]
    default: str = ""


def _field(label: str, default: str = "", *, path: str = "") -> SelectableField:
    return SelectableField(label, tuple((path or label).split(".")), default)


_EVENT_FIELDS = (
    *(
        _field(f"involvedObject.{name}")
        for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")
    ),
    _field("involvedObject.fieldPath"),
    _field("reason"),
    _field("reportingComponent"),
    _field("source", path="source.component"),
    _field("type"),
)
_SIGNER = (_field("spec.signerName"),)

# By resource as named in a Status. Other kinds only have metadata.name and .namespace.
BUILT_IN_FIELDS: Mapping[str, tuple[SelectableField, ...]] = {
    "pods": (
        _field("spec.nodeName"),
        _field("spec.restartPolicy"),
        _field("spec.schedulerName"),
        _field("spec.serviceAccountName"),
        _field("spec.hostNetwork", "false"),
        _field("status.phase"),
        _field("status.podIP"),
        _field("status.podIPs", path="status.podIP"),
        _field("status.nominatedNodeName"),
    ),
    "nodes": (_field("spec.unschedulable", "false"),),
    "replicationcontrollers": (_field("status.replicas", "0"),),
    "events": _EVENT_FIELDS,
    "namespaces": (_field("status.phase"),),
    "secrets": (_field("type"),),
    "services": (_field("spec.clusterIP"), _field("spec.type")),
    "jobs.batch": (_field("status.successful", "0", path="status.succeeded"),),
    "certificatesigningrequests.certificates.k8s.io": _SIGNER,
    "clustertrustbundles.certificates.k8s.io": _SIGNER,
    "podcertificaterequests.certificates.k8s.io": (
        *_SIGNER,
        _field("spec.podName"),
        _field("spec.nodeName"),
    ),
    "resourceslices.resource.k8s.io": (
        _field("spec.nodeName"),
        _field("spec.driver"),
        _field("spec.pool.name"),
    ),
}

# Alternative labels of a field.
FIELD_ALIASES: Mapping[str, Mapping[str, str]] = {"pods": {"spec.host": "spec.nodeName"}}


def unsupported_field(resource: str, kind: str, label: str, *, custom: bool) -> str:
    """Return the server's message for a field that is not selectable."""
    if resource == "jobs.batch":
        return f'field label "{label}" not supported for Job'
    if custom or resource in BUILT_IN_FIELDS:
        return f"field label not supported: {label}"
    known = ", ".join(f'"{name}"' for name in _BY_EVERYONE)
    return f'"{label}" is not a known field selector: only {known}'


class FieldReader:
    """Reads the selectable fields of one kind in a single pass over the JSON, skipping the rest."""

    def __init__(self, fields: tuple[SelectableField, ...]) -> None:
        self.fields = fields
        self.sections = frozenset(field.path[0] for field in fields)
        self._index = {field.label: position for position, field in enumerate(fields)}
        self._view: msgspec.json.Decoder[Any] | None = None
        if fields:
            tree = _tree([field.path for field in fields])
            self._view = msgspec.json.Decoder(_view_type("Object", tree))
            self._steps = [(_attributes(tree, field.path), field.default) for field in fields]

    def read(self, body: bytes) -> tuple[str, ...]:
        """Return the values, in the order of ``fields``."""
        if self._view is None:
            return ()
        try:
            view = self._view.decode(body)
        except msgspec.ValidationError:
            # A parent of a field is not an object. This is rare, so it may be slow.
            document = msgspec.json.decode(body)
            return tuple(_as_text(_walk(document, of.path), of.default) for of in self.fields)
        return tuple(_as_text(_follow(view, steps), default) for steps, default in self._steps)

    def position(self, label: str) -> int | None:
        """Return the position of a label in the values, or ``None`` if it is not selectable."""
        return self._index.get(label)


def matches_fields(
    selector: FieldSelector, reader: FieldReader, key: str, values: tuple[str, ...]
) -> bool:
    """Whether an object matches; ``key`` is ``namespace/name`` or ``name``."""

    def value_of(label: str) -> str:
        namespace, _, name = key.rpartition("/")
        if label == "metadata.name":
            return name
        if label == "metadata.namespace":
            return namespace
        position = reader.position(label)
        return "" if position is None else values[position]

    return selector.matches(value_of)


_Tree = dict[str, Any]


def _tree(paths: list[tuple[str, ...]]) -> _Tree:
    """Return the paths as nested dicts; a leaf is an empty dict."""
    tree: _Tree = {}
    for path in paths:
        branch = tree
        for step in path:
            branch = branch.setdefault(step, {})
    return tree


def _view_type(name: str, tree: _Tree) -> type[msgspec.Struct]:
    """Return a struct of these members only; all other JSON is skipped without decoding."""
    fields: list[tuple[str, Any, Any]] = []
    renamed: dict[str, str] = {}
    for position, (step, below) in enumerate(tree.items()):
        attribute = f"f{position}"
        renamed[attribute] = step
        of: Any = _view_type(f"{name}_{step}", below) | None if below else Any
        fields.append((attribute, of, None))
    return msgspec.defstruct(name, fields, rename=renamed, gc=False)


def _attributes(tree: _Tree, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attribute for each step of a path through the structs of ``_view_type``."""
    attributes = []
    for step in path:
        attributes.append(f"f{list(tree).index(step)}")
        tree = tree[step]
    return tuple(attributes)


def _follow(view: Any, attributes: tuple[str, ...]) -> Any:
    for attribute in attributes:
        if view is None:
            return None
        view = getattr(view, attribute)
    return view


def _walk(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


# Most objects have one of a few values: nodes, phases, types.
@lru_cache(maxsize=4096)
def _shared(value: str) -> str:
    return value


def _as_text(value: Any, default: str) -> str:
    if value is None:
        return default
    if isinstance(value, str):
        return _shared(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
