"""Objects as mappings, with properties for the common metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinform.api import GVK
from kinform.errors import EncodeError
from kinform.objects._frozen import freeze, thaw
from kinform.objects._mapping_handle import MappingHandle
from kinform.objects._paths import Path, read_path, remove_path, write_path


class TreeHandle(MappingHandle):
    """An object as a mapping: a read-only view of a record, or editable.

    In an editable object, ``labels``, ``annotations``, ``finalizers`` and ``owner_references`` can
    be edited in place even if they are absent; a field that stays empty is not added.
    """

    # ``_pending`` is set on editable objects only: fields that were read but do not exist yet.
    __slots__ = ("_pending",)

    @property
    def deletion_timestamp(self) -> str | None:
        """The time when deletion was requested; ``None`` if it was not."""
        if self._record is not None:
            return self._record.head.deletion_timestamp
        return self._text("deletionTimestamp") or None

    # -- the rest of the metadata: decoded on first touch ------------------------------------

    @property
    def metadata(self) -> dict[str, Any]:
        """The complete metadata; created if the object is editable and has none."""
        metadata: dict[str, Any] = (
            self["metadata"] if self._record is not None else self._own_metadata(make=True)
        )
        return metadata

    @property
    def creation_timestamp(self) -> str | None:
        metadata = self.metadata if self._record is not None else self._own_metadata()
        return metadata.get("creationTimestamp")

    @property
    def annotations(self) -> dict[str, str]:
        annotations: dict[str, str] = self._member("annotations", dict)
        return annotations

    @annotations.setter
    def annotations(self, value: Mapping[str, str]) -> None:
        self._set_member("annotations", dict(value))

    @property
    def finalizers(self) -> list[str]:
        finalizers: list[str] = self._member("finalizers", list)
        return finalizers

    @property
    def owner_references(self) -> list[dict[str, Any]]:
        references: list[dict[str, Any]] = self._member("ownerReferences", list)
        return references

    # -- dotted helpers ----------------------------------------------------------------------

    def get_path(self, path: Path, default: Any = None) -> Any:
        return read_path(self, path, default)

    def set_path(self, path: Path, value: Any) -> None:
        """Set a value and create missing mappings on the path. Only for editable objects.

        Raises:
            InvalidNameError: The path leads through a scalar, or beyond the end of a list.
        """
        self._require_editable()
        write_path(self._tree(), path, thaw(value))

    def remove_path(self, path: Path) -> bool:
        """Remove a value and report whether it existed. Only for editable objects."""
        self._require_editable()
        return remove_path(self._tree(), path)

    # -- inside ------------------------------------------------------------------------------

    def _become_editable(self, tree: dict[str, Any]) -> None:
        super()._become_editable(tree)
        self._pending: dict[str, Any] = {}

    def _tree(self) -> dict[str, Any]:
        """Return the parts of an editable object, including pending fields with content."""
        filled = {member: value for member, value in self._pending.items() if value}
        for member, value in filled.items():
            del self._pending[member]
            metadata = self._own_metadata(make=True)
            if metadata.get(member) is None:
                metadata[member] = value
        return self._parts

    def _own_metadata(self, *, make: bool = False) -> dict[str, Any]:
        metadata = self._parts.get("metadata")
        if metadata is None:
            metadata = {}
            if make:
                self._parts["metadata"] = metadata
        if not isinstance(metadata, dict):
            raise EncodeError(f"{self!r}: its metadata is a {type(metadata).__name__}, not a dict")
        return metadata

    def _own_gvk(self) -> GVK:
        return GVK.of(self.api_version, self.kind)

    @property
    def api_version(self) -> str:
        if self._record is not None:
            return self._record.gvk.api_version
        return str(self._parts.get("apiVersion") or "")

    @property
    def kind(self) -> str:
        if self._record is not None:
            return self._record.gvk.kind
        return str(self._parts.get("kind") or "")

    def _peek(self, member: str) -> Any:
        metadata = self._parts.get("metadata")
        return metadata.get(member) if isinstance(metadata, dict) else None

    def _member(self, member: str, empty: type[dict[str, Any]] | type[list[Any]]) -> Any:
        if self._record is not None:
            found = self.metadata.get(member)
            return freeze(empty()) if found is None else found
        self._tree()
        found = self._own_metadata().get(member)
        return self._pending.setdefault(member, empty()) if found is None else found

    def _set_member(self, member: str, value: Any) -> None:
        self._require_editable()
        self._pending.pop(member, None)
        self._own_metadata(make=True)[member] = value
