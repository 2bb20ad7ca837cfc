"""Builds request paths from resources, namespaces and names."""

from __future__ import annotations

from urllib.parse import quote

from kinform.api import GVR
from kinform.errors import InvalidNameError


def group_version_path(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def resource_path(
    gvr: GVR, *, namespace: str = "", name: str | None = None, subresource: str = ""
) -> str:
    """Return the path of a collection, an object or a subresource.

    Raises:
        InvalidNameError: A name is not a string, or would change the path: empty, ``..``, or
            containing a slash.
    """
    path = group_version_path(gvr.group, gvr.version)
    if namespace:
        path += f"/namespaces/{_segment(namespace, 'namespace')}"
    path += f"/{gvr.resource}"
    if name is not None:
        path += f"/{_segment(name, f'name of an object in {gvr}')}"
    if subresource:
        parts = _text(subresource, "subresource").split("/")
        path += "".join(f"/{_segment(part, 'subresource')}" for part in parts)
    return path


def _segment(name: object, what: str) -> str:
    value = _text(name, what)
    if not value or value in (".", "..") or "/" in value or "%" in value:
        namespace, slash, rest = value.partition("/")
        is_key = what.startswith("name of") and namespace and slash and rest
        hint = f"; pass {rest!r} and namespace={namespace!r}" if is_key else ""
        raise InvalidNameError(
            f"{value!r} cannot be the {what}: empty, '.', '..', '/' and '%' are not allowed{hint}"
        )
    return quote(value, safe=":@!$&'()*+,;=~")


def _text(name: object, what: str) -> str:
    """Return the name if it is a string; callers may be untyped."""
    if not isinstance(name, str):
        raise InvalidNameError(f"{name!r} cannot be the {what}: it is not a string")
    return name
