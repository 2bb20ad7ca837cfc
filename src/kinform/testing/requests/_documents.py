"""Decodes JSON and YAML of unknown origin: with bounds on nesting, aliases and numbers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from kinform.testing import api_errors

if TYPE_CHECKING:
    import yaml

# Far below Python's recursion limit, because objects are copied and merged recursively.
_MAX_DEPTH = 200
# In characters; a few aliases of aliases would otherwise fill the memory.
_MAX_EXPANDED = 3 * 1024 * 1024
_MAX_UINT64 = 2**64 - 1


def decode_json(body: bytes) -> Any:
    """Decode JSON.

    Raises:
        ValueError: The body is not JSON, is nested too deeply, or has a number out of range.
    """
    body.decode()
    try:
        value = msgspec.json.decode(body)
    except RecursionError:
        raise ValueError(_too_deep()) from None
    if body.count(b"[") + body.count(b"{") > _MAX_DEPTH:
        _check_depth(value)
    return value


def decode_yaml(body: bytes) -> Any:
    """Decode YAML into the values that JSON has.

    Raises:
        ValueError: The body is not YAML, is nested too deeply, grows too large with its aliases, or
            has values that JSON does not have.
    """
    import yaml  # YAML bodies are rare

    try:
        loader = _bounded_loader()(body)
        node = loader.get_single_node()
        if node is None:
            return None
        _expanded_size(node, {})
        value = loader.construct_document(node)
        return decode_json(msgspec.json.encode(value))
    except RecursionError:
        raise ValueError(_too_deep()) from None
    except (yaml.YAMLError, TypeError, OverflowError) as error:
        raise ValueError(str(error)) from error


@cache
def _bounded_loader() -> type[yaml.SafeLoader]:
    import yaml

    class BoundedLoader(yaml.SafeLoader):
        """Refuses deep nesting while it scans, which takes quadratic time otherwise."""

        def fetch_flow_collection_start(self, token: Any) -> None:
            if self.flow_level >= _MAX_DEPTH:
                raise ValueError(_too_deep())
            super().fetch_flow_collection_start(token)

    return BoundedLoader


def parse_version_number(text: str) -> int | None:
    """Return the number of a resource version, or ``None`` if it is not a number.

    Raises:
        BadRequestError: The number has more than 64 bits.
    """
    if not (text.isascii() and text.isdigit()):
        return None
    if len(text) > 20 or int(text) > _MAX_UINT64:
        raise api_errors.bad_request(
            f'strconv.ParseUint: parsing "{text[:40]}": value out of range'
        )
    return int(text)


def _check_depth(value: Any) -> None:
    """Check the nesting, without recursion."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise ValueError(_too_deep())


def _expanded_size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Return the size of a node in characters, with all aliases replaced by their content."""
    known = sizes.get(id(node))
    if known is not None:
        if known < 0:
            raise ValueError("an alias contains itself")
        return known
    sizes[id(node)] = -1
    size = 1
    if isinstance(node.value, str):
        size += len(node.value)
    else:
        for child in node.value:
            for part in child if isinstance(child, tuple) else (child,):
                size += _expanded_size(part, sizes)
    if size > _MAX_EXPANDED:
        raise ValueError(f"with its aliases, it has more than {_MAX_EXPANDED} characters")
    sizes[id(node)] = size
    return size


def _too_deep() -> str:
    return f"it is nested more than {_MAX_DEPTH} levels deep"
