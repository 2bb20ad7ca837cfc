"""Objects of a known kind, whose parts are structs that are decoded on first access."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec

from kinform.api import GVK, GVR, ApiResource
from kinform.errors import DecodeError, EncodeError, ReadOnlyError
from kinform.objects._codec import JSON, NESTED_JSON, PARTIAL_JSON, Codec
from kinform.objects._handle import Handle
from kinform.objects._head import Head
from kinform.objects._model_trees import Origins, note_origins, plain, without_nulls
from kinform.objects._nested import Nestable
from kinform.objects._part import Part
from kinform.objects._part_groups import PartGroup
from kinform.objects._paths import Path, read_path, split_path
from kinform.objects._record import Record

# Each of these is decoded separately. The other parts are small and decoded together.
_BIG_PARTS = frozenset({"metadata", "spec", "status"})


class TypedObject(Handle, Nestable):
    """An object of a known kind. Generated subclasses define its parts.

    Objects from a cache or a client are read-only. Objects created with keywords, ``from_dict`` or
    ``copy()`` are editable. Fields that the model does not know survive ``copy``, edit and
    ``update``: unedited fields are sent back unchanged.

    Class arguments:
        group, version, kind: The kind.
        plural: The resource, if the kind has one.
        namespaced: Whether objects of this kind are namespaced.
    """

    # Set on editable objects only: the bytes that the object was copied from; the decoded tree,
    # once a part was accessed; and the subtree that each model was read from.
    __slots__ = ("_base", "_origins", "_tree")

    resource: ClassVar[ApiResource | None] = None
    """The resource of this kind; ``None`` for bodies such as ``Scale``."""
    class_gvk: ClassVar[GVK]
    parts: ClassVar[Mapping[str, Part[Any]]] = {}
    """The parts by their JSON names."""
    _groups: ClassVar[Mapping[str, PartGroup]] = {}
    _demanded: ClassVar[Sequence[Part[Any]]] = ()

    _base: tuple[Codec, bytes] | None
    _origins: Origins
    _tree: dict[str, Any] | None

    def __init_subclass__(
        cls,
        *,
        group: str = "",
        version: str = "",
        kind: str = "",
        plural: str = "",
        namespaced: bool = False,
    ) -> None:
        super().__init_subclass__()
        if kind:
            cls.class_gvk = GVK(group, version, kind)
            cls.resource = (
                ApiResource(GVR(group, version, plural), kind, namespaced) if plural else None
            )
        own = {each.name: each for each in vars(cls).values() if isinstance(each, Part)}
        cls.parts = {**cls.parts, **own}
        cls._demanded = [part for part in cls.parts.values() if part.is_always]
        rest = PartGroup([part for name, part in cls.parts.items() if name not in _BIG_PARTS])
        cls._groups = {
            name: part.alone if name in _BIG_PARTS else rest for name, part in cls.parts.items()
        }

    def __init__(self, **parts: Any) -> None:
        """Create an editable object from its parts; ``None`` means absent.

        Raises:
            TypeError: A part does not exist.
            EncodeError: A part has the wrong type.
        """
        self._build(**parts)

    def _build(self, **parts: Any) -> None:
        self._become_editable(None)
        by_attribute = {part.attribute: part for part in self.parts.values()}
        if unknown := parts.keys() - by_attribute.keys():
            raise TypeError(
                f"{type(self).__name__} has no part {', '.join(sorted(unknown))}; "
                f"it has {', '.join(by_attribute)}"
            )
        for attribute, value in parts.items():
            if value is not None:
                part = by_attribute[attribute]
                self._parts[part.name] = part.checked(value, self)

    def _become_editable(self, base: tuple[Codec, bytes] | None) -> None:
        self._record = None
        self._parts = {}
        self._base = base
        self._tree = None
        self._origins = {}

    def get_path(self, path: Path, default: Any = None) -> Any:
        record = self._record
        if record is None:
            return read_path(self.to_dict(), path, default)
        said = {"apiVersion": record.gvk.api_version, "kind": record.gvk.kind}
        if split_path(path)[0] in said:
            return read_path(said, path, default)
        try:
            return record.codec.decode_path(record.payload, path)
        except LookupError:
            return default

    # -- copies and trees --------------------------------------------------------------------

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """Create an editable object from parsed JSON or YAML.

        Raises:
            DecodeError: The kind is a different one, or a value has the wrong type; the message
                names its path.
        """
        said = GVK.of(
            str(tree.get("apiVersion") or cls.class_gvk.api_version),
            str(tree.get("kind") or cls.class_gvk.kind),
        )
        if said != cls.class_gvk:
            raise DecodeError(f"this is a {said}, not a {cls.class_gvk}")
        made = cls._over_tree(plain(dict(tree)))
        for part in cls.parts.values():
            part.__get__(made, cls)
        return made

    @classmethod
    def _over_tree(cls, tree: dict[str, Any]) -> Self:
        made = cls.__new__(cls)
        made._become_editable((JSON, JSON.encode(tree)))
        return made

    def copy(self) -> Self:
        if (record := self._record) is None:
            copied = self._over_tree(self.to_nested())
            copied._remember(getattr(self, "_known", None))
            return copied
        made = type(self).__new__(type(self))
        made._become_editable(record.codec.editable(record.payload))
        if made._base is not None and made._base[0] is PARTIAL_JSON:
            made._remember(made.to_dict())
        return made

    def to_dict(self) -> dict[str, Any]:
        gvk = self.gvk
        said = {"apiVersion": gvk.api_version, "kind": gvk.kind}
        return {**said, **self._tree_now(), **said}

    @classmethod
    def from_nested(cls, tree: dict[str, Any]) -> Self:
        return cls._over_tree(tree)

    @classmethod
    def over_nested(cls, tree: dict[str, Any]) -> Self:
        payload = NESTED_JSON.encode(tree)
        return cls.over(Record(payload, _nested_head(tree), cls.class_gvk, NESTED_JSON))

    def to_nested(self) -> dict[str, Any]:
        tree = self._tree_now()
        record = self._record
        is_from_tree = self._base is not None if record is None else record.codec is NESTED_JSON
        return self.to_dict() if tree and not is_from_tree else tree

    def _tree_now(self) -> dict[str, Any]:
        """Return the tree that the object was read from, with all edits."""
        source = self._source()
        tree: dict[str, Any] = {} if source is None else source[0].decode(source[1])
        if self._record is None:
            self._write_parts(tree)
        return tree

    def _write_parts(self, tree: dict[str, Any]) -> None:
        """Write the accessed parts into ``tree``; for a new object, also the required ones."""
        is_new = self._base is None
        demanded = {part.name: part.absent() for part in self._demanded} if is_new else {}
        for name, value in {**demanded, **self._parts}.items():
            try:
                self.parts[name].put(tree, value, self._origins, is_new=is_new)
            except EncodeError as error:
                raise EncodeError(f"{self!r}: {str(error).lstrip('.')}") from None
            except RecursionError as error:
                raise EncodeError(
                    f"{self!r}: {name} contains itself, or is nested too deep"
                ) from error

    def _written(self) -> dict[str, Any]:
        if self._record is not None:
            self._refuse_edits(self._record)
        return self.to_dict()

    def _refuse_edits(self, record: Record) -> None:
        """Raise if a read-only object was edited, because the edit would be lost."""
        fresh = type(self).over(record)
        for name, value in self._decoded().items():
            if self.parts[name].__get__(fresh, type(self)) != value:
                raise ReadOnlyError(
                    f"{self!r} is read-only, and its {name} was edited; call copy() first and "
                    "edit the copy"
                )

    # -- inside ------------------------------------------------------------------------------

    def _touch(self, part: Part[Any]) -> Any:
        """Decode a part, and the parts that are decoded with it."""
        record = self._record
        if record is None:
            return self._touch_editable(part, self._decoded())
        group = self._groups[part.name]
        try:
            found = record.codec.decode_parts(record.payload, group, read_only=True)
        except DecodeError as error:
            group = part.alone
            found = self._decode_alone(part, record.codec, record.payload, error)
        parts = self._decoded()
        if group is part.alone:
            value = parts[part.name] = part.kept(found[0])
            return value
        for each, value in zip(group.parts, found, strict=True):
            if each.name not in parts:
                parts[each.name] = each.kept(value)
        return parts[part.name]

    def _touch_editable(self, part: Part[Any], parts: dict[str, Any]) -> Any:
        if self._base is None:
            value = parts[part.name] = part.absent()
            return value
        codec, payload = self._base
        group = self._groups[part.name]
        try:
            found = codec.decode_parts(payload, group, read_only=False)
        except DecodeError as error:
            group = part.alone
            found = self._decode_alone(part, codec, payload, error)
        for each, value in zip(group.parts, found, strict=True):
            if each.name not in parts:
                parts[each.name] = each.absent() if value is None else value
                self._note_origins(each.name, codec, payload)
        return parts[part.name]

    def _decode_alone(
        self, part: Part[Any], codec: Codec, payload: bytes, error: DecodeError
    ) -> Sequence[Any]:
        """Decode a part after its group could not be decoded: another part may be malformed."""
        if self._groups[part.name] is not part.alone:
            try:
                read_only = self._record is not None
                return codec.decode_parts(payload, part.alone, read_only=read_only)
            except DecodeError as own:
                error = own
        raise DecodeError(
            f"{self._called()}: {error}", key=error.key, resource_version=error.resource_version
        ) from error.__cause__

    def _note_origins(self, name: str, codec: Codec, payload: bytes) -> None:
        if self._tree is None:
            self._tree = codec.decode(payload)
        note_origins(self._parts[name], self._tree.get(name), self._origins)

    def _called(self) -> str:
        """Return a name for errors about data that may include the object's own name."""
        return repr(self) if self._record is not None else f"{type(self).__name__}"

    def _source(self) -> tuple[Codec, bytes] | None:
        record = self._record
        return self._base if record is None else (record.codec, record.payload)

    def _own_gvk(self) -> GVK:
        return self.class_gvk

    def _metadata(self) -> Any:
        metadata = self.parts.get("metadata")
        return None if metadata is None else metadata.__get__(self, type(self))

    def _peek(self, member: str) -> Any:
        # Bodies such as Status and DeleteOptions have different metadata, or none.
        return getattr(self._metadata(), _ATTRIBUTES[member], None)

    def _member(self, member: str, empty: Callable[[], Any]) -> Any:
        found = self._peek(member)
        return empty() if found is None else found

    def _set_member(self, member: str, value: Any) -> None:
        self._require_editable()
        metadata, attribute = self._metadata(), _ATTRIBUTES[member]
        if not hasattr(metadata, attribute):
            raise EncodeError(f"a {type(self).__name__} has no {attribute} in its metadata")
        setattr(metadata, attribute, value)


def _nested_head(tree: dict[str, Any]) -> Head:
    """Return the head of an object that may have no metadata, and nulls for absent fields."""
    metadata = tree.get("metadata")
    try:
        return msgspec.convert(metadata, Head)
    except msgspec.ValidationError:
        pass  # handled only after a failure, as in all models
    try:
        return msgspec.convert({} if metadata is None else without_nulls(metadata, Head), Head)
    except msgspec.ValidationError:
        raise TypeError("its metadata is malformed") from None  # the decoder adds the path


_ATTRIBUTES = {
    "name": "name",
    "namespace": "namespace",
    "uid": "uid",
    "resourceVersion": "resource_version",
    "generation": "generation",
    "labels": "labels",
}
