"""A store that writes down what a reflector asks of it."""

from __future__ import annotations

from collections.abc import Iterable

from kinform.informers import DeletedObject, Store
from kinform.objects import Unstructured


class NotingStore(Store[Unstructured]):
    """Says what was asked of it, in order."""

    def __init__(self) -> None:
        super().__init__(Unstructured)
        self.asked: list[str] = []

    def add(self, obj: Unstructured) -> None:
        self.asked.append(f"add {obj.resource_version}")
        super().add(obj)

    def update(self, obj: Unstructured) -> None:
        self.asked.append(f"update {obj.resource_version}")
        super().add(obj)

    def delete(self, obj: Unstructured | DeletedObject[Unstructured]) -> None:
        assert isinstance(obj, Unstructured)
        self.asked.append(f"delete {obj.resource_version}")
        super().delete(obj)

    def replace(self, objects: Iterable[Unstructured], resource_version: str = "") -> None:
        self.asked.append(f"replace {resource_version}")
        super().replace(objects, resource_version)

    def bookmark(self, resource_version: str) -> None:
        self.asked.append(f"bookmark {resource_version}")
        super().bookmark(resource_version)
