"""The verbs for callers in the same process, without a socket.

The semantics and the errors are those of HTTP.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeVar, cast, overload

import msgspec

from kinform._checks import expect
from kinform.api import GVK
from kinform.client import (
    Fields,
    Labels,
    ObjectOrMapping,
    Propagation,
    Resource,
    ResourceOrModel,
    as_field_selector,
    as_label_selector,
    form_of,
)
from kinform.objects import JSON, Handle, Record, TypedObject, Unstructured, request_body
from kinform.testing import api_errors
from kinform.testing.formats import Representation
from kinform.testing.requests import ParsedDeleteOptions, ParsedListOptions, ParsedWriteOptions
from kinform.testing.resources import ServedResource
from kinform.testing.storage import ClusterState, ObjectDocument, StoredObject
from kinform.testing.verbs import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Selection,
    create_object,
    delete_object,
    find_object,
    patch_object,
    replace_object,
    restore_object,
)

Json = dict[str, Any]
M = TypeVar("M", bound=TypedObject)
R = TypeVar("R")
V = TypeVar("V", bound=Callable[..., Any])

ServerPatchType = Literal["merge", "json", "strategic"]
"""The types of patches that the server supports."""


class Run(Protocol):
    """Calls a function on the event loop of the server, and returns its result."""

    def __call__(self, function: Callable[[], R], /) -> R: ...


_PATCHES = {"json": JSON_PATCH, "merge": MERGE_PATCH, "strategic": STRATEGIC_PATCH}
_WRITE = ParsedWriteOptions()
# Metadata that a recreated object does not inherit.
_NOT_INHERITED = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "resourceVersion",
        "uid",
    }
)


def _on_loop(verb: V) -> V:
    """Return the same verb, called where the state of the cluster may be used."""

    @functools.wraps(verb)
    def call(self: InProcessApi, /, *args: Any, **options: Any) -> Any:
        return self._run(lambda: verb(self, *args, **options))

    return cast("V", call)


class InProcessApi:
    """The verbs of a cluster, in process.

    Resources are given as for a client: a GVR, a string such as ``v1/pods``, a GVK, or a model
    class. With a class, the results are objects of this class, otherwise dicts.

    Args:
        cluster: The state to read and write.
        run: Calls a function on the event loop of the server. Without it, the verbs are only for
            use on this loop.
    """

    def __init__(self, cluster: ClusterState, run: Run | None = None) -> None:
        self._cluster = cluster
        self._run: Run = run or _call

    @overload
    def create(self, obj: M) -> M: ...
    @overload
    def create(self, obj: Mapping[str, Any]) -> Json: ...
    @_on_loop
    def create(self, obj: ObjectOrMapping) -> Any:
        """Create an object and return it as stored. The default namespace is ``default``."""
        return self._create(form_of(obj), obj)

    @_on_loop
    def load(self, objects: Iterable[ObjectOrMapping | bytes]) -> int:
        """Store many objects unchanged, including their status, and return their number.

        As from a backup, they keep their uids and timestamps. JSON bytes load fastest.
        Objects passed as dicts must not be modified afterwards.
        """
        count = 0
        for given in objects:
            head: Mapping[str, Any]
            if isinstance(given, bytes):
                head = _read_type(given)
                document = ObjectDocument.from_body(given)
                if b"\n" in given:
                    # Bytes are stored unchanged, and a line break would end a watch event.
                    document = ObjectDocument.from_object(msgspec.json.decode(given))
            else:
                head = given.to_dict() if isinstance(given, Handle) else given
                document = ObjectDocument.from_object(head)
            served = self._of_object(head)
            restore_object(self._cluster, served, self._namespace_of(served, head), document)
            count += 1
        return count

    @overload
    def update(self, obj: M, *, subresource: str = "") -> M: ...
    @overload
    def update(self, obj: Mapping[str, Any], *, subresource: str = "") -> Json: ...
    @_on_loop
    def update(self, obj: ObjectOrMapping, *, subresource: str = "") -> Any:
        """Replace an object, or its status, and return it as stored."""
        tree = _tree_of(obj)
        served = self._of_object(tree)
        namespace = self._namespace_of(served, tree)
        name = (tree.get("metadata") or {}).get("name", "")
        stored, _ = replace_object(
            self._cluster, served, namespace, name, tree, _WRITE, subresource
        )
        return _decoded(form_of(obj), served, stored)

    @overload
    def patch(
        self,
        resource: type[M],
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        type: ServerPatchType = "merge",
        subresource: str = "",
    ) -> M: ...
    @overload
    def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        type: ServerPatchType = "merge",
        subresource: str = "",
    ) -> Json: ...
    @_on_loop
    def patch(
        self,
        resource: ResourceOrModel,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        type: ServerPatchType = "merge",
        subresource: str = "",
    ) -> Any:
        """Patch an object with a dict to merge or a list of JSON patch operations; return it.

        A patch without a change keeps the version of the object.
        """
        served = self._cluster.registry.require(resource)
        stored = patch_object(
            self._cluster,
            served,
            self._namespace(served, namespace),
            name,
            _media_type(type),
            patch,
            _WRITE,
            subresource,
        )
        return _decoded(form_of(resource), served, stored)

    @_on_loop
    def delete(
        self,
        resource: ResourceOrModel,
        name: str,
        namespace: str = "",
        *,
        grace_period: int | None = None,
        propagation: Propagation | None = None,
    ) -> bool:
        """Delete an object. Return False if finalizers or a pod's grace period still keep it."""
        return self._delete(resource, name, namespace, grace_period, propagation)

    @overload
    def recreate(self, resource: type[M], name: str, namespace: str = "") -> M: ...
    @overload
    def recreate(self, resource: Resource, name: str, namespace: str = "") -> Json: ...
    @_on_loop
    def recreate(self, resource: ResourceOrModel, name: str, namespace: str = "") -> Any:
        """Delete an object and create it again immediately, with a new uid. Return it as stored.

        Raises:
            ConflictError: A finalizer keeps the object.
        """
        served, stored = self._find(resource, name, namespace)
        old = _decoded(Unstructured, served, stored)
        if not self._delete(resource, name, namespace, grace_period=0):
            raise api_errors.conflict(
                served.qualified_name, name, "its finalizers prevent the deletion"
            )
        metadata = {
            key: value for key, value in old["metadata"].items() if key not in _NOT_INHERITED
        }
        return self._create(form_of(resource), {**old, "metadata": metadata})

    @overload
    def get(self, resource: type[M], name: str, namespace: str = "") -> M: ...
    @overload
    def get(self, resource: Resource, name: str, namespace: str = "") -> Json: ...
    @_on_loop
    def get(self, resource: ResourceOrModel, name: str, namespace: str = "") -> Any:
        """Return one object.

        Raises:
            NotFoundError: The object does not exist.
        """
        served, stored = self._find(resource, name, namespace)
        return _decoded(form_of(resource), served, stored)

    @overload
    def list(
        self, resource: type[M], namespace: str = "", *, labels: Labels = "", fields: Fields = ""
    ) -> list[M]: ...
    @overload
    def list(
        self, resource: Resource, namespace: str = "", *, labels: Labels = "", fields: Fields = ""
    ) -> list[Json]: ...
    @_on_loop
    def list(
        self,
        resource: ResourceOrModel,
        namespace: str = "",
        *,
        labels: Labels = "",
        fields: Fields = "",
    ) -> Any:
        """Return the objects, of one namespace or selection if given, by namespace and name."""
        served = self._cluster.registry.require(resource)
        options = ParsedListOptions(
            labels=as_label_selector(labels), fields=as_field_selector(fields)
        )
        collection = self._cluster.collection(served)
        selection = Selection(collection, namespace, options)
        form = form_of(resource)
        return [
            _decoded(form, served, stored)
            for stored in collection.select(selection.prefix)
            if selection.matches(stored)
        ]

    # The work of verbs that others use too; on the loop already.

    def _create(self, form: type[Handle], obj: ObjectOrMapping) -> Any:
        tree = _tree_of(obj)
        served = self._of_object(tree)
        namespace = self._namespace_of(served, tree)
        stored = create_object(self._cluster, served, namespace, tree, _WRITE)
        return _decoded(form, served, stored)

    def _delete(
        self,
        resource: ResourceOrModel,
        name: str,
        namespace: str,
        grace_period: int | None = None,
        propagation: Propagation | None = None,
    ) -> bool:
        served = self._cluster.registry.require(resource)
        options = ParsedDeleteOptions(grace=grace_period, propagation=propagation or "")
        place = self._namespace(served, namespace)
        return delete_object(self._cluster, served, place, name, options).gone

    def _find(
        self, resource: ResourceOrModel, name: str, namespace: str
    ) -> tuple[ServedResource, StoredObject]:
        served = self._cluster.registry.require(resource)
        place = self._namespace(served, namespace)
        return served, find_object(self._cluster, served, place, name)

    def _of_object(self, obj: Mapping[str, Any]) -> ServedResource:
        kind, api_version = obj.get("kind"), obj.get("apiVersion")
        if not kind or not api_version:
            raise api_errors.bad_request("an object must have a kind and apiVersion")
        return self._cluster.registry.require(GVK.of(api_version, kind))

    def _namespace_of(self, served: ServedResource, obj: Mapping[str, Any]) -> str:
        return self._namespace(served, (obj.get("metadata") or {}).get("namespace", ""))

    def _namespace(self, served: ServedResource, namespace: str) -> str:
        """Return the namespace; like kubectl, ``default`` if there is none."""
        return (namespace or "default") if served.namespaced else ""


class _ObjectTypeMetadata(msgspec.Struct):
    namespace: str = ""


class _ObjectType(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""  # noqa: N815 - the name on the wire
    metadata: _ObjectTypeMetadata = msgspec.field(default_factory=_ObjectTypeMetadata)


_OBJECT_TYPE = msgspec.json.Decoder(_ObjectType)


def _read_type(body: bytes) -> Json:
    """Read the type and metadata of an object.

    Raises:
        BadRequestError: The body is not an object.
    """
    try:
        head = _OBJECT_TYPE.decode(body)
    except msgspec.DecodeError as error:
        raise api_errors.bad_request(f"cannot load an object: {error}") from error
    return {
        "kind": head.kind,
        "apiVersion": head.apiVersion,
        "metadata": {"namespace": head.metadata.namespace},
    }


def _media_type(patch_type: str) -> str:
    if patch_type not in _PATCHES:
        raise api_errors.bad_request(
            f"{patch_type!r} is not a type of patch; the types are {', '.join(_PATCHES)}"
        )
    return _PATCHES[patch_type]


def _decoded(form: type[Handle], served: ServedResource, stored: StoredObject) -> Any:
    """Return an object as ``form`` if this is a model class, otherwise as a dict."""
    body = Representation(served).body(stored)
    if issubclass(form, TypedObject):
        return form.over(Record.read(body, JSON))
    return msgspec.json.decode(body)


def _tree_of(obj: ObjectOrMapping) -> Json:
    """Return the object as a dict that the caller cannot modify."""
    if isinstance(obj, Handle):
        body = request_body(obj)
    else:
        expect(obj, Mapping, receiver="ApiServer", expected="an object: a model or a dict")
        body = msgspec.json.encode(obj)
    tree: Json = msgspec.json.decode(body)
    return tree


def _call(work: Callable[[], R]) -> R:
    return work()
