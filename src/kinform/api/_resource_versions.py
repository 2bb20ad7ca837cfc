"""Two resource versions in, their order out, or the knowledge that they have none."""

from __future__ import annotations


def is_comparable(resource_version: str) -> bool:
    """Whether the server promises an order for it: digits only, and no leading zero.

    Versions of some aggregated servers are opaque; those can only be tested for equality.
    """
    return (
        resource_version.isascii()
        and resource_version.isdigit()
        and not resource_version.startswith("0")
    )


def compare_resource_versions(left: str, right: str) -> int | None:
    """Negative, zero or positive as ``left`` is older than, the same as, or newer than ``right``.

    ``None`` if they differ and at least one of them is opaque. Versions may have any number
    of digits, so they are compared as text: the longer one is newer. They mean something
    only within one group and resource of one cluster.
    """
    if left == right:
        return 0
    if not (is_comparable(left) and is_comparable(right)):
        return None
    ordered = (len(left), left) < (len(right), right)
    return -1 if ordered else 1
