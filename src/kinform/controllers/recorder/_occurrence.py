"""One call of the recorder: what happened, and to which object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args

import msgspec

from kinform._checks import expect
from kinform.api import GVK
from kinform.errors import ConfigError
from kinform.objects import Handle, Model

EventKind = Literal["Normal", "Warning"]
"""The type of an event."""

V = TypeVar("V")

_KINDS = get_args(EventKind)
# The limits of the server.
_LONGEST_WORD = 128
_LONGEST_MESSAGE = 1024


class Reference(msgspec.Struct, frozen=True):
    """The object that an event is about. Its version does not matter: it changes all the time."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    field_path: str = ""

    @property
    def home(self) -> str:
        """The namespace of the events about this object."""
        return self.namespace or "default"

    def to_dict(self) -> dict[str, str]:
        tree = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "fieldPath": self.field_path,
        }
        return {name: value for name, value in tree.items() if value}


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to an object."""

    regarding: Reference
    related: Reference | None
    type: EventKind
    reason: str
    action: str
    message: str
    annotations: Mapping[str, str]


def occurrence(
    obj: object,
    type: object,
    reason: object,
    message: object,
    *,
    action: object,
    related: object,
    annotations: object,
) -> Occurrence:
    """Check the arguments of ``EventRecorder.event``.

    Raises:
        ConfigError: An argument is invalid.
        InvalidNameError: An object has no valid kind.
    """
    if type not in _KINDS:
        raise ConfigError(f"an event is 'Normal' or a 'Warning', not {type!r}")
    expect(message, str, receiver="message of an event", expected="a string")
    notes = {} if annotations is None else annotations
    expect(notes, Mapping, receiver="annotations= of an event", expected="a dict of strings")
    assert isinstance(message, str)
    assert isinstance(notes, Mapping)
    word = _word("reason", reason)
    return Occurrence(
        regarding=reference_of(obj),
        related=None if related is None else reference_of(related),
        type=type,  # type: ignore[arg-type]
        reason=word,
        action=word if action is None else _word("action", action),
        message=_shortened(message),
        annotations=dict(notes),
    )


def reference_of(obj: object) -> Reference:
    """Return the reference to an object of any form, or to one that is a reference itself.

    Raises:
        ConfigError: It is not an object, or has no name.
        InvalidNameError: It has no valid apiVersion and kind.
    """
    if isinstance(obj, Handle):
        gvk = obj.gvk
        found = Reference(gvk.api_version, gvk.kind, obj.namespace, obj.name, obj.uid)
    elif isinstance(obj, Model) and hasattr(obj, "field_path"):
        found = _from_tree(obj.to_dict())
    elif isinstance(obj, Mapping):
        found = _from_tree(obj)
    else:
        raise ConfigError(
            f"an event is about an object, not a {_class_name(obj)}; pass a model, an "
            "Unstructured, a dict, or an ObjectReference"
        )
    if not found.name:
        raise ConfigError(
            f"an event is about an existing object, but this {found.kind} has no name"
        )
    return found


def _from_tree(tree: Mapping[str, Any]) -> Reference:
    gvk = GVK.of(str(tree.get("apiVersion") or ""), str(tree.get("kind") or ""))
    source = tree.get("metadata")
    named: Mapping[str, Any] = source if isinstance(source, Mapping) else tree
    text = {each: str(named.get(each) or "") for each in ("namespace", "name", "uid", "fieldPath")}
    return Reference(
        gvk.api_version, gvk.kind, text["namespace"], text["name"], text["uid"], text["fieldPath"]
    )


def _class_name(obj: object) -> str:
    return obj.__class__.__name__


def _word(option: str, given: object) -> str:
    if not isinstance(given, str) or not 0 < len(given.encode()) <= _LONGEST_WORD:
        raise ConfigError(
            f"the {option} of an event is one word of at most {_LONGEST_WORD} bytes, such as "
            f"'ScaledUp', not {given!r}"
        )
    return given


def _shortened(message: str) -> str:
    """Return a message that the server accepts: shortened, and valid in UTF-8."""
    encoded = message.encode(errors="replace")
    if len(encoded) <= _LONGEST_MESSAGE:
        return encoded.decode()
    return encoded[: _LONGEST_MESSAGE - 3].decode(errors="ignore") + "…"
