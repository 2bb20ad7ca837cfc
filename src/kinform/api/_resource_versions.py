"""Comparison of resource versions."""

from __future__ import annotations


def is_comparable(resource_version: str) -> bool:
    """Report whether a version can be ordered: only digits, without a leading zero.

    Some aggregated servers use opaque versions, which can only be tested for equality.
    """
    return (
        resource_version.isascii()
        and resource_version.isdigit()
        and not resource_version.startswith("0")
    )


def compare_resource_versions(left: str, right: str) -> int | None:
    """Return a negative number, 0 or a positive number if ``left`` is older, equal or newer.

    Returns ``None`` if they differ and at least one of them is opaque. Versions can have any number
    of digits, so they are compared as text: the longer one is newer. Only versions of the same
    resource in the same cluster are comparable.
    """
    if left == right:
        return 0
    if not (is_comparable(left) and is_comparable(right)):
        return None
    ordered = (len(left), left) < (len(right), right)
    return -1 if ordered else 1


def is_older(version: str, than: str) -> bool:
    """Report whether a version is known to be older; false if they cannot be compared."""
    order = compare_resource_versions(version, than)
    return order is not None and order < 0
