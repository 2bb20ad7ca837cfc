"""JSON patches (RFC 6902): applies a list of operations to a document.

It behaves like the library of kube-apiserver: ``replace`` adds a missing member, and a negative
array index counts from the end.
"""

from __future__ import annotations

import copy
from typing import Any

from kinform.testing import api_errors

_OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})


def apply_json_patch(document: Any, operations: list[Any]) -> Any:
    """Return a patched copy.

    Raises:
        BadRequestError: An operation is not an object.
        InvalidError: An operation does not apply; nothing is changed then.
    """
    changed = copy.deepcopy(document)
    for operation in operations:
        if not isinstance(operation, dict):
            raise api_errors.bad_request(
                f"error decoding patch: json: cannot unmarshal {api_errors.json_type(operation)} "
                "into Go value of type handlers.jsonPatchOp"
            )
        changed = _apply(changed, operation)
    return changed


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    kind, path = operation.get("op"), operation.get("path")
    if kind not in _OPERATIONS or not isinstance(path, str):
        raise api_errors.unprocessable()
    where = _pointer(path)
    match kind:
        case "test":
            if _get(document, where, missing=None) != operation.get("value"):
                raise api_errors.unprocessable()
            return document
        case "remove":
            return _remove(document, where)
        case "add" | "replace":
            if "value" not in operation:
                raise api_errors.unprocessable()
            put = _add if kind == "add" else _replace
            return put(document, where, operation["value"])
        case _:
            return _move_or_copy(document, operation, where)


def _move_or_copy(document: Any, operation: dict[str, Any], where: list[str]) -> Any:
    source = operation.get("from")
    if not isinstance(source, str):
        raise api_errors.unprocessable()
    origin = _pointer(source)
    value = copy.deepcopy(_get(document, origin))
    if operation["op"] == "move":
        document = _remove(document, origin)
    return _add(document, where, value)


def _pointer(path: str) -> list[str]:
    if not path:
        return []
    if not path.startswith("/"):
        raise api_errors.unprocessable()
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


_NO_DEFAULT = object()


def _get(document: Any, where: list[str], *, missing: Any = _NO_DEFAULT) -> Any:
    """Return the value at a pointer; ``missing`` is returned for an absent last member."""
    for position, step in enumerate(where):
        if isinstance(document, dict):
            if step not in document:
                if missing is not _NO_DEFAULT and position == len(where) - 1:
                    return missing
                raise api_errors.unprocessable()
            document = document[step]
        elif isinstance(document, list):
            document = document[_index(step, len(document) - 1)]
        else:
            raise api_errors.unprocessable()
    return document


def _index(step: str, highest: int) -> int:
    digits = step.removeprefix("-")
    if not digits.isdecimal() or (len(digits) > 1 and digits.startswith("0")):
        raise api_errors.unprocessable()
    index = int(step)
    if index < 0:
        index += highest + 1
    if not 0 <= index <= highest:
        raise api_errors.unprocessable()
    return index


def _add(document: Any, where: list[str], value: Any) -> Any:
    if not where:
        return value
    parent, last = _get(document, where[:-1]), where[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        at = len(parent) if last == "-" else _index(last, len(parent))
        parent.insert(at, value)
    else:
        raise api_errors.unprocessable()
    return document


def _replace(document: Any, where: list[str], value: Any) -> Any:
    if not where:
        return value
    parent, last = _get(document, where[:-1]), where[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        parent[_index(last, len(parent) - 1)] = value
    else:
        raise api_errors.unprocessable()
    return document


def _remove(document: Any, where: list[str]) -> Any:
    if not where:
        raise api_errors.unprocessable()
    parent, last = _get(document, where[:-1]), where[-1]
    if isinstance(parent, dict) and last in parent:
        del parent[last]
    elif isinstance(parent, list):
        del parent[_index(last, len(parent) - 1)]
    else:
        raise api_errors.unprocessable()
    return document
