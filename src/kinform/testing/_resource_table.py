"""The shape of the built-in resource table: rows of plain names and flags."""

from __future__ import annotations

import re
from typing import NamedTuple

_PRE_RELEASE = re.compile(r"v\d+(alpha|beta)\d+")


class SubresourceRow(NamedTuple):
    """One subresource. ``group`` and ``version`` are empty where they are its parent's."""

    name: str
    kind: str
    group: str
    version: str
    verbs: tuple[str, ...]


class ResourceRow(NamedTuple):
    """One resource of one group-version. The hash is empty where the server gives none."""

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
        """Whether a server has it without being told: alpha and beta it must be told."""
        return _PRE_RELEASE.fullmatch(self.version) is None
