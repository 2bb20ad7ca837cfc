"""Names of resources and kinds in messages of the server."""

from __future__ import annotations

from typing import Any

import msgspec


class QualifiedName(msgspec.Struct, frozen=True):
    """A resource or kind as named in a Status: ``deployments.apps``, ``Scale.autoscaling``."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name

    def details(self, name: str) -> dict[str, Any]:
        given = {"name": name, "group": self.group, "kind": self.name}
        return {key: value for key, value in given.items() if value}
