"""What a reader holds: a light view over one record, or an editable object of the reader's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kinform.api import GVK, namespace_key
from kinform.errors import DecodeError, EncodeError, InvalidNameError, ReadOnlyError
from kinform.objects._codec import JSON, Codec
from kinform.objects._differences import Operation, json_patch
from kinform.objects._frozen import FrozenTexts
from kinform.objects._paths import Path
from kinform.objects._record import Record


class Handle(ABC):
    """An object, read-only over a record or editable.

    Over a record, names, labels and versions come from the decoded head; a part (``spec``,
    ``status``) is decoded when first touched and remembered here, never in the record. So no
    reader sees what another one does, and the cached bytes cannot be changed.

    Made by its constructor, or by ``copy()``, it is the caller's own and can be edited.
    """

    # Over a record, ``_parts`` stays unset until a part is touched: most handles of a long list
    # never are ("by_index, each further object" in benchmarks/bench_store.py).
    # ``_known`` is set on a copy that is not all of the object: what was known of it.
    __slots__ = ("_known", "_parts", "_record")

    visible: ClassVar[frozenset[str] | None] = None
    """The parts that this form of an object has; ``None`` for all."""

    _record: Record | None
    _parts: dict[str, Any]
    _known: dict[str, Any] | None

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

    if TYPE_CHECKING:

        @property
        def record(self) -> Record | None:
            """What this is a view of; ``None`` if it is editable."""
    else:
        # The same, without a frame of its own: it is asked several times per event.
        record = property(
            attrgetter("_record"), doc="What this is a view of; ``None`` if it is editable."
        )

    @property
    def memory(self) -> int:
        """Bytes at rest of the record behind it; 0 for an editable object, which has none."""
        return self._record.memory if self._record is not None else 0

    # -- identity: from the head, without decoding -------------------------------------------

    @property
    def gvk(self) -> GVK:
        """The object's kind.

        Raises:
            InvalidNameError: It is editable and says no legal ``apiVersion`` and ``kind``.
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
        """Empty for a cluster-scoped object."""
        return self._record.head.namespace if self._record is not None else self._text("namespace")

    @namespace.setter
    def namespace(self, value: str) -> None:
        self._set_member("namespace", value)

    @property
    def key(self) -> str:
        """``namespace/name``, or ``name`` if it is cluster-scoped."""
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
            return FrozenTexts(record.head._labels or ())
        labels: dict[str, str] = self._member("labels", dict)
        return labels

    @labels.setter
    def labels(self, value: Mapping[str, str]) -> None:
        self._set_member("labels", dict(value))

    @abstractmethod
    def get_path(self, path: Path, default: Any = None) -> Any:
        """What is at ``"spec.template.spec"`` in JSON, or ``default`` if any step is absent.

        A key that has dots itself needs a sequence: ``("metadata", "labels", "a.b/c")``.
        """

    # -- copies and bytes --------------------------------------------------------------------

    @abstractmethod
    def copy(self) -> Self:
        """An editable object of your own, for edit-then-update. Nothing is shared with it."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A plain dict of the whole object, fresh at each call.

        Raises:
            DecodeError: The bytes behind it are broken somewhere that nobody looked at before.
        """

    def to_bytes(self, codec: Codec = JSON) -> bytes:
        """The object as a request body.

        Raises:
            EncodeError: Something in it cannot be written in this form; the message says where.
        """
        tree = self._written()
        try:
            return codec.encode(tree)
        except EncodeError as error:
            raise EncodeError(f"{self!r}: {error}") from error.__cause__

    def edits(self) -> list[Operation] | None:
        """What was edited since it was copied, as a JSON patch; ``None`` if it can be sent whole.

        An object that came as protobuf may have fields that are newer than this kinform, and that
        no copy shows. To send the copy would erase them, so only the difference is sent. It is
        refused as a conflict if the object has changed meanwhile.
        """
        if self._record is not None:
            return self.copy().edits()
        known = getattr(self, "_known", None)
        if known is None:
            return None
        now, was = self.to_dict(), known["metadata"]
        metadata = now.get("metadata") or {}
        if any(metadata.get(each) != was.get(each) for each in ("name", "namespace", "uid")):
            return None  # it is another object now
        version = was.get("resourceVersion", "")
        now["metadata"] = {**metadata, "resourceVersion": version}
        path = "/metadata/resourceVersion"
        return [{"op": "replace", "path": path, "value": version}, *json_patch(known, now)]

    def to_official(self) -> Any:
        """The object as a model of the official client, such as its ``V1Pod``.

        Raises:
            ConfigError: The official client is not installed (``kinform[official]``).
            EncodeError: It has no class for this kind, or its class does not take this object.
        """
        from kinform.objects._official import to_official

        return to_official(self)

    @classmethod
    def from_official(cls, source: object) -> Self:
        """An editable object from a model of the official client, or a dict as JSON has it.

        Raises:
            DecodeError: It is of another kind, or says none and this class does not know either.
            EncodeError: Something in it cannot be written, such as a time without a time zone.
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
        """Objects are equal if they say the same, whichever of them is editable."""
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
        """The kind of an editable object."""

    @abstractmethod
    def _peek(self, member: str) -> Any:
        """A member of an editable object's metadata, by its name in JSON; or something empty."""

    @abstractmethod
    def _member(self, member: str, empty: type[dict[str, Any]] | type[list[Any]]) -> Any:
        """The same, to be edited in place: an empty one belongs to the object once it is filled."""

    @abstractmethod
    def _set_member(self, member: str, value: Any) -> None:
        """Set it. Only on an editable object."""

    def _written(self) -> dict[str, Any]:
        """The tree that is sent."""
        return self.to_dict()

    def _remember(self, known: dict[str, Any] | None) -> None:
        """Of a copy: what was known of the object, if that was not all."""
        if known is not None:
            self._known = known

    def _text(self, member: str) -> str:
        return str(self._peek(member) or "")

    def _decoded(self) -> dict[str, Any]:
        """The parts that were touched so far."""
        decoded: dict[str, Any] | None = getattr(self, "_parts", None)
        if decoded is None:
            decoded = self._parts = {}
        return decoded

    def _require_editable(self) -> None:
        if self._record is not None:
            raise ReadOnlyError(f"{self!r} is read-only; call copy() and edit the copy")
