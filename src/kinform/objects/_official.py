"""Conversion between kinform objects and models of the official client.

Converting to an official model requires the package ``kubernetes``. Converting from one does not:
the models of all its versions, including the asyncio ones, contain the JSON names of their
attributes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeVar

from kinform.api import GVK
from kinform.errors import ConfigError, DecodeError, EncodeError
from kinform.objects._handle import Handle
from kinform.objects._model_trees import plain, written_time
from kinform.objects._tree_handle import TreeHandle
from kinform.objects._typed import TypedObject

H = TypeVar("H", bound=Handle)

# Servers require exactly six decimal places in these times, and official models do not distinguish
# them from other times.
MICRO_TIMES = frozenset({"acquireTime", "eventTime", "lastObservedTime", "pingTime", "renewTime"})

# Bodies such as DeleteOptions belong to every group and have no API of their own.
_META_GROUP = "meta.k8s.io"


def to_official(handle: Handle) -> Any:
    """Return the object as an instance of the official class for its kind.

    Raises:
        ConfigError: The official client is not installed.
        EncodeError: The official client has no class for this kind, or it rejects this object.
    """
    client = _official_client()
    model = _model_class(client, handle.gvk)
    tree = handle.to_dict()
    try:
        if hasattr(model, "from_dict"):
            return model.from_dict(tree)
        # Before version 37, only a client can create models, and only from responses.
        answer = SimpleNamespace(data=json.dumps(tree))
        return client.ApiClient(client.Configuration()).deserialize(answer, model.__name__)
    except (ValueError, TypeError, AttributeError, client.OpenApiException) as error:
        raise EncodeError(
            f"{handle!r} does not fit the official client's {model.__name__}: {_complaint(error)}"
        ) from error


def from_official(source: object, form: type[H]) -> H:
    """Create an editable object of the class ``form`` from an official model or a JSON dict.

    Raises:
        DecodeError: The kind is a different one, or is missing and not implied by ``form``.
        EncodeError: A value cannot be encoded, such as a time without a time zone.
    """
    tree = _tree_of(source)
    try:
        tree = plain(tree)
    except EncodeError as error:
        raise EncodeError(f"{type(source).__name__}: {error}") from None
    if issubclass(form, TypedObject):
        _check_class(source, tree, form.class_gvk)
        return form.from_dict(tree)
    if not issubclass(form, TreeHandle):
        raise DecodeError(f"a {form.__name__} cannot be created; use the class of the kind")
    if not tree.get("apiVersion") or not tree.get("kind"):
        raise DecodeError(
            f"this {type(source).__name__} does not say its apiVersion and kind (those in the "
            "official client's lists do not); set both, or name its class, as "
            "Pod.from_official(...)"
        )
    if form.visible is not None:
        tree = {part: value for part, value in tree.items() if part in form.visible}
    return form(tree)


# -- out: which class ------------------------------------------------------------------------


def _official_client() -> Any:
    # Imported lazily, because it is large and most programs do not need it.
    try:
        return import_module("kubernetes.client")
    except ImportError as error:
        raise ConfigError(
            "to_official() needs the official client, the package kubernetes: "
            "pip install 'kinform[official]'"
        ) from error


def _model_class(client: Any, gvk: GVK) -> Any:
    words = _group_words(gvk.group)
    api = f"{''.join(words)}{gvk.version.capitalize()}Api"
    # A kind of an unknown group may have the same name as a known kind.
    if gvk.group == _META_GROUP or hasattr(client, api):
        for name in _class_names(gvk):
            model = getattr(client, name, None)
            # Parts of objects are classes too; only complete objects have a kind.
            if "kind" in getattr(model, "attribute_map", ()):
                return model
    raise EncodeError(
        f"the official client has no class for {gvk}; it takes a plain dict for it: to_dict()"
    )


def _class_names(gvk: GVK) -> tuple[str, str]:
    """Return the possible class names; the first one is used if several groups have the kind."""
    name = f"{gvk.version.capitalize()}{gvk.kind}"
    return f"{_group_words(gvk.group)[0]}{name}", name


def _group_words(group: str) -> list[str]:
    return [word.capitalize() for word in (group or "core").removesuffix(".k8s.io").split(".")]


def _complaint(error: Exception) -> str:
    """Return the problem and its path, without the value, which may be a secret."""
    errors = getattr(error, "errors", None)
    if callable(errors) and (first := next(iter(errors()), None)):
        place = ".".join(map(str, (getattr(error, "title", ""), *first["loc"])))
        return f"{place}: {first['msg']}"
    return str(error) if type(error) is ValueError else type(error).__name__


# -- in: the tree ----------------------------------------------------------------------------


def _tree_of(source: object) -> dict[str, Any]:
    if isinstance(source, Mapping):
        if "api_version" in source:
            raise DecodeError(
                "this dict has the official client's Python names (api_version); give the model "
                "itself, not its to_dict()"
            )
        return dict(source)
    if not hasattr(source, "attribute_map"):
        raise DecodeError(f"a {type(source).__name__} is not a model of the official client")
    tree: dict[str, Any] = _plain_value(source, type(source).__name__, "")
    return tree


def _plain_value(value: Any, path: str, name: str) -> Any:
    """Convert a model to a dict with JSON names; ``name`` is the field that contains it."""
    if isinstance(value, dict):
        return {key: _plain_value(child, f"{path}.{key}", key) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_value(child, f"{path}[{i}]", name) for i, child in enumerate(value)]
    if isinstance(value, (bytes, bytearray)):
        raise EncodeError(
            f"{path} holds bytes; official models have base64 text there: b64encode(...).decode()"
        )
    if isinstance(value, datetime) and name in MICRO_TIMES and value.tzinfo is not None:
        return written_time(value, is_micro=True)
    if not hasattr(value, "attribute_map"):
        return value
    return {
        key: _plain_value(child, f"{path}.{key}", key)
        for attribute, key in value.attribute_map.items()
        if (child := getattr(value, attribute)) is not None
    }


def _check_class(source: object, tree: Mapping[str, Any], gvk: GVK) -> None:
    """Check the class of a model without a kind, such as a list item."""
    if isinstance(source, Mapping) or tree.get("kind"):
        return
    if not {each.__name__ for each in type(source).__mro__} & set(_class_names(gvk)):
        raise DecodeError(f"this is a {type(source).__name__}, not a {gvk}")
