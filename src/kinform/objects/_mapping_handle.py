"""Objects as mappings of their parts, each of which is decoded on first access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Self

from kinform.objects._codec import PARTIAL_JSON
from kinform.objects._frozen import FrozenDict, FrozenList, freeze, thaw
from kinform.objects._handle import Handle
from kinform.objects._record import Record

_ABSENT: Any = object()


class _Whole(dict[str, Any]):
    """All parts of an object: a part that is missing here does not exist."""


class MappingHandle(Handle, MutableMapping[str, Any]):
    """An object as a mapping: a read-only view of a record, or editable."""

    __slots__ = ()

    def __init__(self, tree: Mapping[str, Any] | None = None) -> None:
        """Create an editable object from a copy of ``tree``.

        Raises:
            EncodeError: The tree contains itself.
        """
        self._become_editable({} if tree is None else thaw(tree))

    def _become_editable(self, tree: dict[str, Any]) -> None:
        self._record = None
        self._parts = tree

    # -- copies and bytes --------------------------------------------------------------------

    def copy(self) -> Self:
        copied = type(self).__new__(type(self))
        copied._become_editable(self.to_dict())
        if (record := self._record) is None:
            copied._remember(getattr(self, "_known", None))
        elif record.codec.editable(record.payload)[0] is PARTIAL_JSON:
            copied._remember(self.to_dict())
        return copied

    def to_dict(self) -> dict[str, Any]:
        record = self._record
        if record is None:
            copied: dict[str, Any] = thaw(self._tree())
            return copied
        # List items have no kind; a single object has one, and it comes first.
        said = {"apiVersion": record.gvk.api_version, "kind": record.gvk.kind}
        if self.visible is None:
            tree = record.codec.decode(record.payload)
        else:
            tree = {part: self._decode_part(record, part) for part in self.visible - said.keys()}
        return said | {part: value for part, value in tree.items() if part not in said}

    def _written(self) -> dict[str, Any]:
        return self._tree() if self._record is None else self.to_dict()

    # -- reading -----------------------------------------------------------------------------

    def __getitem__(self, part: str) -> Any:
        if self._record is None:
            return self._tree()[part]
        parts = self._decoded()
        if part in parts:
            return parts[part]
        if type(parts) is _Whole:
            raise KeyError(part)
        value = parts[part] = freeze(self._decode_part(self._record, part))
        return value

    def __contains__(self, part: object) -> bool:
        try:
            self[part]  # type: ignore[index]  # what is not a string is in no object
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._all_parts())

    def __len__(self) -> int:
        return len(self._all_parts())

    # Objects compare by content, not as mappings.
    __eq__ = Handle.__eq__
    __hash__ = None  # type: ignore[assignment]  # equal objects may be edited apart
    __bool__ = Handle.__bool__

    # -- editing -----------------------------------------------------------------------------

    def __setitem__(self, part: str, value: Any) -> None:
        self._require_editable()
        frozen = isinstance(value, FrozenDict | FrozenList)
        self._tree()[part] = thaw(value) if frozen else value

    def __delitem__(self, part: str) -> None:
        self._require_editable()
        del self._tree()[part]

    # The inherited methods would raise only if there is something to change, which depends on the
    # data; these always raise.

    def pop(self, part: str, default: Any = _ABSENT) -> Any:
        self._require_editable()
        return self._tree().pop(part) if default is _ABSENT else self._tree().pop(part, default)

    def popitem(self) -> tuple[str, Any]:
        self._require_editable()
        return self._tree().popitem()

    def clear(self) -> None:
        self._require_editable()
        self._tree().clear()

    def setdefault(self, part: str, default: Any = None) -> Any:
        self._require_editable()
        return super().setdefault(part, default)

    def update(self, *trees: Any, **parts: Any) -> None:
        self._require_editable()
        super().update(*trees, **parts)

    # -- inside ------------------------------------------------------------------------------

    def _decode_part(self, record: Record, part: object) -> Any:
        """Decode one part. Raises KeyError if the object does not have it."""
        if part == "apiVersion":
            return record.gvk.api_version
        if part == "kind":
            return record.gvk.kind
        if not isinstance(part, str) or (self.visible is not None and part not in self.visible):
            raise KeyError(part)
        return record.codec.decode_part(record.payload, part)

    def _tree(self) -> dict[str, Any]:
        """Return the parts of an editable object, complete and mutable."""
        return self._parts

    def _all_parts(self) -> dict[str, Any]:
        """Decode all parts; parts that were returned before keep their identity."""
        if self._record is None:
            return self._tree()
        decoded = self._decoded()
        if type(decoded) is not _Whole:
            decoded = self._parts = _Whole(
                (part, decoded[part] if part in decoded else freeze(value))
                for part, value in self.to_dict().items()
            )
        return decoded
