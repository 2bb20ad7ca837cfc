"""The base class of all objects: a view of a record, or an editable object."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kinform.api import GVK, namespace_key
from kinform.errors import (
    ConflictError,
    DecodeError,
    EncodeError,
    InvalidNameError,
    ReadOnlyError,
)
from kinform.objects._codec import JSON, Codec
from kinform.objects._frozen_fields import FrozenValues
from kinform.objects._merge_edits import merge_edits
from kinform.objects._paths import Path
from kinform.objects._record import Record


class Handle(ABC):
    """An object: a read-only view of a record, or editable.

    In a view, names, labels and versions come from the decoded head. A part (``spec``, ``status``)
    is decoded on first access and kept in the view, never in the record. Views are therefore
    independent of each other, and the cached bytes never change.

    An object created by its constructor or by ``copy()`` belongs to the caller and is editable.
    """

    # In a view, ``_parts`` stays unset until a part is accessed, because most handles of a long
    # list never need it ("by_index, each further object" in benchmarks/bench_store.py). ``_known``
    # is set on incomplete copies only: the tree that the copy started with.
    __slots__ = ("_known", "_parts", "_record")

    visible: ClassVar[frozenset[str] | None] = None
    """The parts that this class of objects shows; ``None`` for all."""

    _record: Record | None
    _parts: dict[str, Any]
    _known: dict[str, Any] | None

    @classmethod
    def over(cls, record: Record) -> Self:
        """Create a read-only view of ``record``. Nothing is decoded until a part is accessed."""
        handle = cls.__new__(cls)
        handle._record = record
        return handle

    @classmethod
    def over_all(cls, records: Iterable[Record]) -> list[Self]:
        """Create views of many records, in order; cheaper than calling ``over`` for each."""
        new, handles = cls.__new__, []
        for record in records:
            handle = new(cls)
            handle._record = record
            handles.append(handle)
        return handles

    if TYPE_CHECKING:

        @property
        def record(self) -> Record | None:
            """What this is a view of; ``None`` if it is editable."""
    else:
        # Without a Python frame, because it is read several times per event.
        record = property(
            attrgetter("_record"), doc="What this is a view of; ``None`` if it is editable."
        )

    @property
    def memory(self) -> int:
        """Bytes of memory of the record; 0 for an editable object, which has no record."""
        return self._record.memory if self._record is not None else 0

    # -- identity: from the head, without decoding -------------------------------------------

    @property
    def gvk(self) -> GVK:
        """The kind of the object.

        Raises:
            InvalidNameError: The object is editable and has no valid ``apiVersion`` and ``kind``.
        """
        if self._record is not None:
            return self._record.gvk
        return self._own_gvk()

    @property
    def api_version(self) -> str:
        if self._record is not None:
            return self._record.gvk.api_version
        return self._own_gvk().api_version

    @property
    def kind(self) -> str:
        if self._record is not None:
            return self._record.gvk.kind
        return self._own_gvk().kind

    @property
    def name(self) -> str:
        return self._record.head.name if self._record is not None else self._text("name")

    @name.setter
    def name(self, value: str) -> None:
        self._set_member("name", value)

    @property
    def namespace(self) -> str:
        """The namespace; empty for a cluster-scoped object."""
        return self._record.head.namespace if self._record is not None else self._text("namespace")

    @namespace.setter
    def namespace(self, value: str) -> None:
        self._set_member("namespace", value)

    @property
    def key(self) -> str:
        """The key: ``namespace/name``, or ``name`` for a cluster-scoped object."""
        return self._record.head.key if self._record is not None else namespace_key(self)

    @property
    def uid(self) -> str:
        return self._record.head.uid if self._record is not None else self._text("uid")

    @property
    def resource_version(self) -> str:
        if self._record is not None:
            return self._record.head.resource_version
        return self._text("resourceVersion")

    @resource_version.setter
    def resource_version(self, value: str) -> None:
        self._set_member("resourceVersion", value)

    @property
    def generation(self) -> int:
        if self._record is not None:
            return self._record.head.generation
        generation = self._peek("generation")
        return generation if isinstance(generation, int) else 0

    @property
    def labels(self) -> dict[str, str]:
        record = self._record
        if record is not None:
            return FrozenValues(record.head._labels or ())
        labels: dict[str, str] = self._member("labels", dict)
        return labels

    @labels.setter
    def labels(self, value: Mapping[str, str]) -> None:
        self._set_member("labels", dict(value))

    @abstractmethod
    def get_path(self, path: Path, default: Any = None) -> Any:
        """Return the value at a path such as ``"spec.template.spec"``, or ``default`` if absent.

        Path steps are names in JSON. A key that contains dots requires a sequence:
        ``("metadata", "labels", "a.b/c")``.
        """

    # -- copies and bytes --------------------------------------------------------------------

    @abstractmethod
    def copy(self) -> Self:
        """Return an independent, editable copy, for example to edit and update it."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the complete object as a new plain dict.

        Raises:
            DecodeError: A part that was not decoded before is malformed.
        """

    def to_bytes(self, codec: Codec = JSON) -> bytes:
        """Return the object as a request body.

        Raises:
            EncodeError: A value cannot be encoded in this format; the message names its path.
        """
        tree = self._written()
        try:
            return codec.encode(tree)
        except EncodeError as error:
            raise EncodeError(f"{self!r}: {error}") from error.__cause__

    @property
    def is_incomplete(self) -> bool:
        """Whether sending this object would erase fields that it does not contain.

        An object received as protobuf may have fields that this version of kinform does not know
        and that copies do not contain. False for a copy that was made into another object.
        """
        if self._record is not None:
            return self.copy().is_incomplete
        known = getattr(self, "_known", None)
        if known is None:
            return False
        was, metadata = known["metadata"], self.to_dict().get("metadata") or {}
        return all(metadata.get(each) == was.get(each) for each in ("name", "namespace", "uid"))

    def completed(self, current: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``current``, the complete object, with the edits of this incomplete copy.

        Raises:
            ConflictError: ``current`` is not the version that was copied.
        """
        if self._record is not None:
            return self.copy().completed(current)
        known = getattr(self, "_known", None)
        if known is None:
            return self.to_dict()
        version = known["metadata"].get("resourceVersion", "")
        found = current["metadata"].get("resourceVersion", "")
        if version and found != version:
            raise ConflictError(
                f"{self!r} was copied at resource version {version}, but the object now has "
                f"{found}; read it again and retry",
                code=409,
                reason="Conflict",
            )
        now = self.to_dict()
        now["metadata"] = {**(now.get("metadata") or {}), "resourceVersion": version}
        merged: dict[str, Any] = merge_edits(known, now, dict(current))
        return merged

    def to_official(self) -> Any:
        """Return the object as a model of the official client, such as ``V1Pod``.

        Raises:
            ConfigError: The official client is not installed (``kinform[official]``).
            EncodeError: The official client has no class for this kind, or it rejects this object.
        """
        from kinform.objects._official import to_official

        return to_official(self)

    @classmethod
    def from_official(cls, source: object) -> Self:
        """Create an editable object from a model of the official client, or from a JSON dict.

        Raises:
            DecodeError: The kind is a different one, or is missing and not implied by this class.
            EncodeError: A value cannot be encoded, such as a time without a time zone.
        """
        from kinform.objects._official import from_official

        return from_official(source, cls)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        """Compare the contents; a view may be equal to an editable object."""
        if isinstance(other, dict):
            return self.to_dict() == other
        if not isinstance(other, Handle):
            return NotImplemented
        mine, others = self._record, other._record
        if mine is not None and others is not None and self.visible == other.visible:
            same_bytes = mine.payload == others.payload and mine.codec.name == others.codec.name
            if same_bytes and mine.gvk == others.gvk:
                return True
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # equal objects may be edited apart

    def __repr__(self) -> str:
        try:
            kind = str(self.gvk)
        except InvalidNameError:
            kind = "no kind"
        try:
            version = f" rv={self.resource_version}" if self.resource_version else ""
            name = f"{self.key or 'no name'}{version}"
        except DecodeError:
            name = "broken metadata"
        editable = " editable" if self._record is None else ""
        return f"<{type(self).__name__} {kind} {name}{editable}>"

    # -- inside ------------------------------------------------------------------------------

    @abstractmethod
    def _own_gvk(self) -> GVK:
        """Return the kind of an editable object."""

    @abstractmethod
    def _peek(self, member: str) -> Any:
        """Return a metadata field of an editable object by its JSON name, or an empty value."""

    @abstractmethod
    def _member(self, member: str, empty: type[dict[str, Any]] | type[list[Any]]) -> Any:
        """Return a metadata field to edit in place; an empty one is added once it has content."""

    @abstractmethod
    def _set_member(self, member: str, value: Any) -> None:
        """Set a metadata field. Only for editable objects."""

    def _written(self) -> dict[str, Any]:
        """Return the tree to send."""
        return self.to_dict()

    def _remember(self, known: dict[str, Any] | None) -> None:
        """Keep the tree that an incomplete copy started with."""
        if known is not None:
            self._known = known

    def _text(self, member: str) -> str:
        return str(self._peek(member) or "")

    def _decoded(self) -> dict[str, Any]:
        """Return the parts that have been accessed so far."""
        decoded: dict[str, Any] | None = getattr(self, "_parts", None)
        if decoded is None:
            decoded = self._parts = {}
        return decoded

    def _require_editable(self) -> None:
        if self._record is not None:
            raise ReadOnlyError(f"{self!r} is read-only; call copy() and edit the copy")
