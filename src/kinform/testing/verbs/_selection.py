"""Selects the objects of a list or watch, and translates changes to watch events."""

from __future__ import annotations

from kinform.testing.requests import ParsedListOptions
from kinform.testing.resources import matches_fields
from kinform.testing.storage import Collection, StoredChange, StoredObject


class Selection:
    """The objects of a collection that a list or watch selects."""

    def __init__(self, collection: Collection, namespace: str, options: ParsedListOptions) -> None:
        self._collection = collection
        self.prefix = f"{namespace}/" if namespace else ""
        self._labels = options.labels
        self._fields = options.fields
        self.selects_all = not options.selects

    def matches(self, stored: StoredObject) -> bool:
        if not stored.key.startswith(self.prefix):
            return False
        if self.selects_all:
            return True
        return self._labels.matches(stored.labels) and (
            not self._fields
            or matches_fields(self._fields, self._collection.reader, stored.key, stored.fields)
        )

    def event(self, change: StoredChange) -> tuple[bytes, StoredObject] | None:
        """Return the event type of a change and its object; ``None`` if there is no event.

        An object that enters the selection is added, one that leaves it is deleted.
        """
        new, old = change.new, change.old
        if self.selects_all:
            if not new.key.startswith(self.prefix):
                return None
            if change.deleted:
                return b"DELETED", new
            return (b"ADDED" if old is None else b"MODIFIED"), new
        was = old is not None and self.matches(old)
        if change.deleted:
            return (b"DELETED", new) if was else None
        if self.matches(new):
            return (b"MODIFIED" if was else b"ADDED"), new
        if was and old is not None:
            gone = _with_version(self._collection, old, change.resource_version)
            return b"DELETED", gone
        return None


def _with_version(collection: Collection, stored: StoredObject, version: int) -> StoredObject:
    """Return an object that left a selection: its old content, with the version of the change."""
    document = stored.document()
    document.metadata["resourceVersion"] = str(version)
    encoded = document.encode(collection.kind)
    return collection.stored(stored.key, version, encoded, stored.labels, stored.fields)
