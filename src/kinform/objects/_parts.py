"""A record or a tree in; a mapping of the object's parts out, each decoded when it is touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, ClassVar, Self

from kinform.errors import EncodeError, ReadOnlyError
from kinform.objects._codec import JSON, Codec
from kinform.objects._frozen import FrozenDict, FrozenList, freeze, thaw
from kinform.objects._record import Record

_ABSENT: Any = object()


class _Whole(dict[str, Any]):
    """Every part of an object: what is not here, the object has not."""


class Parts(MutableMapping[str, Any]):
    """An object as a mapping: read-only over a record, or editable and the caller's own."""

    # Over a record, ``_parts`` stays unset until a part is touched: most handles of a long list
    # never are ("by_index, each further object" in benchmarks/bench_store.py).
    __slots__ = ("_parts", "_record")

    visible: ClassVar[frozenset[str] | None] = None
    """The parts that this form of an object has; ``None`` for all."""

    def __init__(self, tree: Mapping[str, Any] | None = None) -> None:
        """An editable object; ``tree`` is copied.

        Raises:
            EncodeError: The tree contains itself.
        """
        self._become_editable({} if tree is None else thaw(tree))

    @classmethod
    def over(cls, record: Record) -> Self:
        """A read-only view of ``record``. Costs nothing until a part is touched."""
        handle = cls.__new__(cls)
        handle._record = record
        return handle

    @classmethod
    def over_all(cls, records: Iterable[Record]) -> list[Self]:
        """``over`` for many, cheaper than one by one; in their order."""
        new, handles = cls.__new__, []
        for record in records:
            handle = new(cls)
            handle._record = record
            handles.append(handle)
        return handles

    def _become_editable(self, tree: dict[str, Any]) -> None:
        self._record: Record | None = None
        self._parts = tree

    @property
    def record(self) -> Record | None:
        """What this is a view of; ``None`` if it is editable."""
        return self._record

    @property
    def memory(self) -> int:
        """Bytes at rest of the record behind it; 0 for an editable object, which has none."""
        return self._record.memory if self._record is not None else 0

    # -- copies and bytes --------------------------------------------------------------------

    def copy(self) -> Self:
        """An editable object of your own, for edit-then-update. Nothing is shared with it."""
        copied = type(self).__new__(type(self))
        copied._become_editable(self.to_dict())
        return copied

    def to_dict(self) -> dict[str, Any]:
        """A plain dict of the whole object, fresh at each call.

        Raises:
            DecodeError: The bytes behind it are broken somewhere that nobody looked at before.
        """
        record = self._record
        if record is None:
            copied: dict[str, Any] = thaw(self._tree())
            return copied
        # Items of a list do not say their kind; an object by itself does, and says it first.
        said = {"apiVersion": record.gvk.api_version, "kind": record.gvk.kind}
        if self.visible is None:
            tree = record.codec.decode(record.payload)
        else:
            tree = {part: self._decode_part(record, part) for part in self.visible - said.keys()}
        return said | {part: value for part, value in tree.items() if part not in said}

    def to_bytes(self, codec: Codec = JSON) -> bytes:
        """The object as a request body.

        Raises:
            EncodeError: Something in it cannot be written in this form; the message says where.
        """
        try:
            return codec.encode(self._tree() if self._record is None else self.to_dict())
        except EncodeError as error:
            raise EncodeError(f"{self!r}: {error}") from error.__cause__

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

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

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        """Objects are equal if they say the same, whichever of them is editable."""
        if isinstance(other, dict):
            return self.to_dict() == other
        if not isinstance(other, Parts):
            return NotImplemented
        mine, others = self._record, other._record
        if mine is not None and others is not None and self.visible == other.visible:
            same_bytes = mine.payload == others.payload and mine.codec.name == others.codec.name
            if same_bytes and mine.gvk == others.gvk:
                return True
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # equal objects may be edited apart

    # -- editing -----------------------------------------------------------------------------

    def __setitem__(self, part: str, value: Any) -> None:
        self._require_editable()
        frozen = isinstance(value, FrozenDict | FrozenList)
        self._tree()[part] = thaw(value) if frozen else value

    def __delitem__(self, part: str) -> None:
        self._require_editable()
        del self._tree()[part]

    # The inherited ones would refuse only if there is something to change, which depends on
    # the data; these refuse always.

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
        """One part, fresh. Raises KeyError if this object has none of this name."""
        if part == "apiVersion":
            return record.gvk.api_version
        if part == "kind":
            return record.gvk.kind
        if not isinstance(part, str) or (self.visible is not None and part not in self.visible):
            raise KeyError(part)
        return record.codec.decode_part(record.payload, part)

    def _decoded(self) -> dict[str, Any]:
        """The parts that were touched so far."""
        try:
            return self._parts
        except AttributeError:
            decoded: dict[str, Any] = {}
            self._parts = decoded
            return decoded

    def _tree(self) -> dict[str, Any]:
        """The parts of an editable object, complete and live."""
        return self._parts

    def _all_parts(self) -> dict[str, Any]:
        """Every part, decoded; parts that were handed out before stay the same ones."""
        if self._record is None:
            return self._tree()
        decoded = self._decoded()
        if type(decoded) is not _Whole:
            decoded = self._parts = _Whole(
                (part, decoded[part] if part in decoded else freeze(value))
                for part, value in self.to_dict().items()
            )
        return decoded

    def _require_editable(self) -> None:
        if self._record is not None:
            raise ReadOnlyError(f"{self!r} is read-only; call copy() and edit the copy")
