"""Stripping metadata: named fields gone before anybody sees them, and nothing else touched."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Client, SharedInformerFactory, blocking
from kinform.api import GVK
from kinform.errors import ConfigError, TransformError
from kinform.informers import (
    DynamicSharedInformerFactory,
    Informer,
    ListWatch,
    MetadataSharedInformerFactory,
    RecordTransform,
    SharedIndexInformer,
    chain,
    new_informer,
    strip_managed_fields,
    strip_metadata,
)
from kinform.informers.reflector._admission import Admission
from kinform.models.core.v1 import ConfigMap, Pod
from kinform.objects import (
    JSON,
    Codec,
    Handle,
    PartialObjectMetadata,
    Record,
    TypedObject,
    Unstructured,
)
from kinform.protobuf import codec_for
from kinform.protobuf._messages import fields_of
from kinform.testing import ApiServer, BlockingApiServer, faults
from tests.support.answers import pod
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK, LoggedSource, informer_of
from tests.support.objects import record_of
from tests.support.running import running
from tests.support.waiting import wait_until

POD = GVK("", "v1", "Pod")
MANAGED = [{"manager": "me", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {}}}]


def managed_map(name: str, **more: Any) -> dict[str, Any]:
    made = config_map(name, data={"x": "y"}, app="web")
    made["metadata"] |= {"managedFields": MANAGED, "annotations": {"note": "first"}, **more}
    return made


def managed_pod(name: str = "a", **metadata: Any) -> dict[str, Any]:
    tree = pod(name, rv="7")
    tree["metadata"] |= {"managedFields": MANAGED, "labels": {"app": "web"}, **metadata}
    return tree


def record(codec_name: str, **metadata: Any) -> Record:
    codec: Codec | None = JSON if codec_name == "json" else codec_for(POD)
    assert codec is not None
    return Record.read(codec.encode(managed_pod(**metadata)), codec, default_gvk=POD)


both_codecs = pytest.mark.parametrize("codec", ["json", "protobuf"])


@pytest.fixture
async def client(kinform_api: ApiServer) -> AsyncIterator[Client]:
    for name in "abc":
        kinform_api.create(managed_map(name))
    async with Client(kinform_api.config) as client:
        yield client


def managed(obj: Handle | None) -> Any:
    assert obj is not None
    return obj.get_path("metadata.managedFields")


# -- on records ------------------------------------------------------------------------------


@both_codecs
@pytest.mark.parametrize("form", [Pod, Unstructured, PartialObjectMetadata])
def test_admission_strips_bytes_and_keeps_head_kind_and_codec(
    codec: str, form: type[Handle]
) -> None:
    arrived = record(codec)
    assert managed(form.over(arrived))
    admitted = Admission(form, transform=strip_managed_fields).admit(arrived)
    assert admitted is not None
    assert isinstance(admitted, form)
    assert admitted.record is not None
    assert admitted.record.codec is arrived.codec
    assert admitted.record.head is arrived.head
    assert admitted.record.memory < arrived.memory
    whole = form.over(arrived).to_dict()
    del whole["metadata"]["managedFields"]
    assert admitted.to_dict() == whole


@both_codecs
def test_what_has_none_of_the_fields_is_admitted_as_the_very_record(codec: str) -> None:
    arrived = record(codec)
    admitted = Admission(Pod, transform=strip_metadata("annotations")).admit(arrived)
    assert admitted is not None
    assert admitted.record is arrived


@both_codecs
def test_fields_that_the_head_has_are_gone_from_it_as_well(codec: str) -> None:
    admitted = Admission(Pod, transform=strip_metadata("labels")).admit(record(codec))
    assert admitted is not None
    assert admitted.labels == {}
    assert managed(admitted)


@pytest.mark.parametrize("name", ["json", "protobuf"])
def test_bytes_that_cannot_be_stripped_go_to_quarantine(name: str) -> None:
    good = record(name)
    broken = Record(good.payload[:-3], good.head, good.gvk, good.codec)
    admission = Admission(Pod, transform=strip_managed_fields)
    assert admission.admit(broken) is None
    (bad,) = admission.quarantine.values()
    assert isinstance(bad.error, TransformError)
    assert (bad.key, bad.resource_version) == ("default/a", "7")
    assert "the transform failed on 'default/a'" in str(bad.error)


def test_a_record_transform_of_ones_own_must_leave_the_object_what_it_is() -> None:
    class Rename:
        def transform_record(self, record: Record) -> Record:
            return record_of(pod("other", rv="7"))

        def __call__(self, obj: Pod) -> None: ...

    assert isinstance(Rename(), RecordTransform)
    admission = Admission(Pod, transform=Rename())
    assert admission.admit(record("json")) is None
    assert "changed the identity of 'default/a'" in str(admission.quarantine["default/a"].error)


# -- on objects ------------------------------------------------------------------------------


@both_codecs
@pytest.mark.parametrize("form", [Pod, Unstructured, PartialObjectMetadata])
def test_called_on_an_object_it_edits_a_copy_and_replaces_a_view(
    codec: str, form: type[Handle]
) -> None:
    view = form.over(record(codec, finalizers=["f"]))
    own = view.copy()
    strip = strip_metadata("managedFields", "finalizers", "labels")
    assert strip(own) is own
    assert strip(view) == own
    assert managed(view) == MANAGED
    metadata = own.to_dict()["metadata"]
    assert not {"managedFields", "finalizers", "labels"} & set(metadata)
    assert metadata["name"] == "a"


def test_an_editable_object_without_metadata_is_left_as_it_is() -> None:
    class Note(TypedObject, group="example.com", version="v1", kind="Note"):
        __slots__ = ()

    note = Note.from_dict({"text": "x"})
    assert strip_managed_fields(note).to_dict()["text"] == "x"
    assert strip_managed_fields(Unstructured({"kind": "Note"})) == {"kind": "Note"}


@both_codecs
def test_a_chain_strips_bytes_before_others_get_their_copy(codec: str) -> None:
    seen: list[Any] = []

    def label(obj: Pod) -> None:
        seen.append(managed(obj))
        obj.metadata.labels["seen"] = "yes"

    def forget(obj: Pod) -> Pod:
        return strip_metadata("annotations")(obj)

    transform = chain(chain(strip_managed_fields, label), forget)
    arrived = record(codec, annotations={"b": "c"})
    admitted = Admission(Pod, transform=transform).admit(arrived)
    assert admitted is not None
    assert seen == [None]
    assert admitted.labels == {"app": "web", "seen": "yes"}
    assert admitted.metadata.annotations == {}

    own = Pod.over(arrived).copy()
    assert transform(own) is own
    assert own.labels == admitted.labels


def test_an_empty_chain_changes_nothing() -> None:
    arrived = record("json")
    admitted = Admission(Pod, transform=chain()).admit(arrived)
    assert admitted is not None
    assert admitted.record is arrived


# -- what can be named -----------------------------------------------------------------------


def test_every_field_of_metadata_can_be_named_but_who_it_is() -> None:
    fields = {field.json for field in fields_of("meta/v1.ObjectMeta")}
    for field in fields - {"name", "namespace", "uid", "resourceVersion"}:
        assert field in repr(strip_metadata(field))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (["uid"], "'uid' identifies the object"),
        (["managedFields", "managed_fields"], "no field 'managed_fields'.*managedFields"),
        ([], "requires at least one field"),
    ],
)
def test_other_names_are_refused(fields: list[str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        strip_metadata(*fields)


# -- in informers ----------------------------------------------------------------------------


async def test_all_views_of_a_stripped_store_agree(client: Client) -> None:
    async with SharedInformerFactory(client, transform=strip_managed_fields) as factory:
        holds: list[Any] = [
            factory.core.v1.config_maps,
            factory.for_resource(MAPS, form=Unstructured),
            factory.for_resource(MAPS, form=PartialObjectMetadata),
        ]
        factory.start()
        assert await factory.wait_for_cache_sync(timeout=20)
        typed, tree, metadata = (hold.lister.namespace("default").get("a") for hold in holds)

    assert typed.metadata.managed_fields == []
    assert typed.data == tree["data"] == {"x": "y"}
    assert "managedFields" not in tree.metadata
    assert metadata.metadata == tree.metadata
    assert metadata.annotations == {"note": "first"}
    assert metadata.labels == {"app": "web"}


@pytest.mark.parametrize(
    "factory_type", [DynamicSharedInformerFactory, MetadataSharedInformerFactory]
)
async def test_factories_of_other_forms_strip_too(client: Client, factory_type: Any) -> None:
    async with factory_type(client, transform=strip_managed_fields) as factory:
        maps = factory.for_resource(MAPS, namespace="default")
        factory.start()
        assert await factory.wait_for_cache_sync(timeout=20)
        assert [managed(obj) for obj in maps.lister.list()] == [None] * 3


async def test_nobody_strips_unless_asked(client: Client) -> None:
    for factory in (
        SharedInformerFactory(client),
        DynamicSharedInformerFactory(client),
        MetadataSharedInformerFactory(client),
    ):
        async with factory:
            maps = factory.for_resource(MAPS, namespace="default")
            factory.start()
            assert await factory.wait_for_cache_sync(timeout=20)
            assert all(managed(obj) for obj in maps.lister.list())


async def test_informers_by_themselves_strip_too(client: Client) -> None:
    informer = new_informer(ConfigMap, client, namespace="default", transform=strip_managed_fields)
    plain = Informer(
        ListWatch.for_resource(client, MAPS, namespace="default"),
        on_add=lambda obj: None,
        transform=strip_managed_fields,
    )
    async with informer, running(plain):
        await informer.has_synced
        await plain.has_synced
        assert [obj.metadata.managed_fields for obj in informer.indexer.list()] == [[]] * 3
        assert [managed(obj) for obj in plain.store.list()] == [None] * 3


def test_the_blocking_doors_strip_too(kinform_server: BlockingApiServer) -> None:
    kinform_server.create(managed_map("a"))
    with (
        blocking.Client(kinform_server.config) as client,
        blocking.SharedInformerFactory(client, transform=strip_managed_fields) as factory,
    ):
        maps = factory.core.v1.config_maps
        factory.start()
        assert factory.wait_for_cache_sync(timeout=20)
        assert maps.lister.namespace("default").get("a").metadata.managed_fields == []


async def test_changes_are_stripped_and_handlers_never_see_what_went(
    kinform_api: ApiServer, client: Client
) -> None:
    seen: list[Any] = []
    informer = SharedIndexInformer(
        ListWatch.for_resource(client, MAPS, namespace="default"),
        transform=strip_managed_fields,
        options=QUICK,
    )
    informer.add_event_handler(
        on_add=lambda obj: seen.append(managed(obj)),
        on_update=lambda old, new: seen.extend([managed(old), managed(new)]),
        on_delete=lambda gone: seen.append(managed(gone.object)),
    )
    async with informer:
        await informer.has_synced
        kinform_api.patch(MAPS, "a", {"data": {"x": "z"}}, "default")
        kinform_api.delete(MAPS, "b", "default")
        await wait_until(lambda: len(seen) == 6)

    assert seen == [None] * 6


async def test_a_relist_keeps_the_stripped_bytes_of_what_did_not_change(
    kinform_api: ApiServer, client: Client
) -> None:
    # The stream breaks after the list in it, and the next one finds that history is lost.
    kinform_api.faults.inject(faults.cut_after_events(4), verb="watch", resource="configmaps")
    kinform_api.faults.inject(faults.expired_event(), verb="watch", resource="configmaps", after=1)
    informer = SharedIndexInformer(
        ListWatch.for_resource(client, MAPS, namespace="default"),
        transform=strip_managed_fields,
        options=QUICK,
    )
    async with informer:
        await informer.has_synced
        before = {obj.name: obj.record for obj in informer.indexer.list()}
        kinform_api.patch(MAPS, "a", {"data": {"x": "z"}}, "default")
        await wait_until(lambda: sum(informer.status().relists.values()) == 1)
        await informer.wait_for_rv(kinform_api.resource_version)
        after = {obj.name: obj.record for obj in informer.indexer.list()}

    assert after["b"] is before["b"]
    assert after["c"] is before["c"]
    assert after["a"] is not before["a"]
    assert all(managed(Unstructured.over(each)) is None for each in after.values() if each)


async def test_a_typed_informer_of_any_source_takes_it() -> None:
    source = LoggedSource("a")
    async with informer_of(source, transform=strip_managed_fields) as informer:
        await informer.has_synced
        assert len(informer.indexer) == 1
        assert not informer.quarantine
