"""The row types of the table of built-in resources."""

from __future__ import annotations

import re
from typing import NamedTuple

_PRE_RELEASE = re.compile(r"v\d+(alpha|beta)\d+")


class SubresourceRow(NamedTuple):
    """One subresource. ``group`` and ``version`` are empty if they are those of the parent."""

    name: str
    kind: str
    group: str
    version: str
    verbs: tuple[str, ...]


class ResourceRow(NamedTuple):
    """One resource of one group-version. The hash is empty if the server has none."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    storage_version_hash: str
    subresources: tuple[SubresourceRow, ...]

    @property
    def enabled_by_default(self) -> bool:
        """Whether a server enables it by default, which excludes alpha and beta versions."""
        return _PRE_RELEASE.fullmatch(self.version) is None
