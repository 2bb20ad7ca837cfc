"""Parts that are read from a message: they are what structs are, and cannot be edited."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import msgspec
import pytest

from kinform.api import GVK
from kinform.errors import DecodeError, ReadOnlyError
from kinform.models import model_for
from kinform.models.apps.v1 import StatefulSet
from kinform.models.core.v1 import Container, PersistentVolumeClaim, Pod, PodSpec
from kinform.objects import JSON, Model, Quantity, Record, TypedObject
from kinform.protobuf import codec_for
from tests.unit.protobuf.sample import POD, SAMPLES, STATEFUL_SET, Sample, entry, metadata, put

pytestmark = pytest.mark.usefixtures("either_way")


def over(sample: Sample, message: bytes | None = None) -> Any:
    """A handle over the message."""
    codec, model = codec_for(sample.gvk), model_for(sample.gvk)
    assert codec is not None
    assert model is not None
    return model.over(Record.read(sample.message if message is None else message, codec))


def as_json(sample: Sample) -> Any:
    """A handle over the same object as JSON."""
    said = {"apiVersion": sample.gvk.api_version, "kind": sample.gvk.kind}
    model = model_for(sample.gvk)
    assert model is not None
    text = json.dumps({**said, **sample.tree}, separators=(",", ":"))
    return model.over(Record.read(text.encode(), JSON))


def check_fields(ours: Any, theirs: Any, place: str) -> None:
    if isinstance(theirs, Model):
        for field in theirs.__struct_fields__:
            check_fields(getattr(ours, field), getattr(theirs, field), f"{place}.{field}")
    elif isinstance(theirs, list):
        for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            check_fields(mine, other, f"{place}[{index}]")
    else:
        assert ours == theirs, place


each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.gvk.kind)


@each_sample
def test_handles_of_both_forms_are_equal_part_by_part(sample: Sample) -> None:
    ours, theirs = over(sample), as_json(sample)
    assert ours == theirs
    assert theirs == ours
    assert ours.to_dict() == theirs.to_dict()
    assert ours.record.head == theirs.record.head
    for part in ours.parts.values():
        mine, other = getattr(ours, part.attribute), getattr(theirs, part.attribute)
        check_fields(mine, other, part.name)
        assert mine == other
        assert other == mine
        if isinstance(other, Model):
            assert mine.to_dict() == other.to_dict()


def test_a_view_is_of_its_model_and_shows_itself_as_one() -> None:
    pod = over(POD)
    assert isinstance(pod.spec, PodSpec)
    assert isinstance(pod.spec.containers[0], Container)
    assert repr(pod.spec) == repr(as_json(POD).spec)
    assert type(pod.spec).__name__ == "PodSpec"
    assert hasattr(type(pod.spec), "node_name")
    with pytest.raises(TypeError, match="unhashable"):
        hash(pod.spec)


def test_views_differ_if_a_field_does() -> None:
    other = over(POD, POD.message.replace(b"web:1", b"web:2"))
    assert over(POD).spec != other.spec
    assert over(POD).status == other.status
    assert over(POD).spec != POD.tree["spec"]
    assert over(POD).spec != over(POD).status


def test_a_field_is_read_once() -> None:
    spec = over(POD).spec
    assert spec.containers is spec.containers
    assert spec.containers[0].resources is spec.containers[0].resources
    assert spec.containers[0].resources.limits["cpu"] == Quantity("500m")


def test_a_view_cannot_be_edited() -> None:
    spec = over(POD).spec
    with pytest.raises(ReadOnlyError, match=r"PodSpec .* copy\(\)"):
        spec.node_name = "n2"
    with pytest.raises(ReadOnlyError):
        spec.nod_name = "n2"
    with pytest.raises(ReadOnlyError):
        del spec.node_name
    assert spec.node_name == "n1"


def test_an_edit_of_a_list_is_seen_and_refused_when_it_is_sent() -> None:
    pod = over(POD)
    list.append(pod.spec.containers, Container(name="second"))  # past the refusal
    assert pod.spec != over(POD).spec
    assert pod.spec != as_json(POD).spec
    with pytest.raises(ReadOnlyError, match="its spec was edited"):
        pod.to_bytes()


@pytest.mark.parametrize(
    "copied",
    [
        lambda view: view.copy(),
        copy.copy,
        copy.deepcopy,
        lambda view: pickle.loads(pickle.dumps(view)),
    ],
    ids=["copy()", "copy.copy", "copy.deepcopy", "pickle"],
)
def test_a_copy_of_a_view_is_a_struct_of_ones_own(copied: Any) -> None:
    view = over(POD).spec
    struct = copied(view)
    assert type(struct) is PodSpec
    assert type(struct.containers[0]) is Container
    assert struct == view
    struct.containers[0].image = "web:2"
    struct.node_name = "n2"
    assert struct != view
    assert view.containers[0].image == "web:1"


def test_a_view_may_be_put_into_an_object_that_is_made() -> None:
    made = Pod(metadata=over(POD).metadata.copy(), spec=over(POD).spec)
    assert made.to_dict()["spec"] == POD.tree["spec"]
    made.spec = over(POD).spec
    assert json.loads(made.to_bytes())["spec"] == POD.tree["spec"]


@pytest.mark.parametrize(
    "look",
    [
        msgspec.json.encode,
        msgspec.to_builtins,
        msgspec.structs.asdict,
        msgspec.structs.astuple,
        lambda view: msgspec.json.encode({"a": [view]}),
        lambda view: msgspec.structs.replace(view, reason="x"),
    ],
)
def test_who_looks_past_the_attributes_is_told_and_not_given_an_empty_struct(look: Any) -> None:
    status = over(POD).status
    for _ in range(2):
        with pytest.raises(AttributeError, match="unset"):
            look(status)
        assert status.phase == "Running"
    assert look(status.copy())


def test_objects_inside_of_others_are_editable_and_say_their_kind() -> None:
    (claim,) = over(STATEFUL_SET).spec.volume_claim_templates
    assert isinstance(claim, PersistentVolumeClaim)
    assert claim.metadata.name == "data"
    assert claim.to_dict() == STATEFUL_SET.tree["spec"]["volumeClaimTemplates"][0]
    copied = over(STATEFUL_SET).copy()
    assert isinstance(copied, StatefulSet)
    copied.spec.volume_claim_templates[0].metadata.name = "more"
    tree = copied.to_dict()["spec"]["volumeClaimTemplates"][0]
    assert tree["metadata"] == {"name": "more"}
    assert tree["kind"] == "PersistentVolumeClaim"


def test_a_copy_of_a_handle_is_edited_and_written_as_json_would_be() -> None:
    ours, theirs = over(POD).copy(), as_json(POD).copy()
    for copied in (ours, theirs):
        copied.metadata.labels["seen"] = "yes"
        copied.spec.containers[0].image = "web:2"
        copied.spec.active_deadline_seconds = 5
        copied.status.phase = ""
    assert json.loads(ours.to_bytes()) == json.loads(theirs.to_bytes())
    assert "phase" not in ours.to_dict()["status"]
    assert over(POD).spec.containers[0].image == "web:1"


def test_a_text_that_is_no_utf8_reads_as_go_writes_it_into_json() -> None:
    """One mark for each byte that belongs to nothing, as of a text that was cut too short."""
    spec = put(2, put(10, b"a\xe2\x82") + entry(7, "k", b"\xff") + put(22, put(1, b"\xff!")))
    pod = over(POD, put(1, metadata("a")) + spec)
    assert pod.spec.node_name == "a\ufffd\ufffd"
    assert pod.spec.node_selector == {"k": "\ufffd"}
    assert pod.to_dict()["spec"]["nodeName"] == "a\ufffd\ufffd"
    assert pod.spec.copy() == pod.spec
    assert pod.get_path("spec.nodeSelector") == {"k": "\ufffd"}


@pytest.mark.parametrize(
    ("message", "read", "named"),
    [
        (
            put(3, put(7, put(1, 1 << 60))),
            lambda pod: pod.status.start_time,
            "PodStatus.start_time does not decode",
        ),
        (
            put(1, put(17, put(4, put(1, 1 << 60)))),
            lambda pod: pod.metadata.managed_fields[0].time,
            "ObjectMeta.managed_fields does not decode",
        ),
    ],
    ids=["no time", "no time, deeper"],
)
def test_what_does_not_decode_is_an_error_of_ours_when_it_is_touched(
    message: bytes, read: Any, named: str
) -> None:
    pod = over(POD, put(1, metadata("a")) + message)
    with pytest.raises(DecodeError, match=named):
        read(pod)
    with pytest.raises(DecodeError, match="does not decode"):
        pod.to_dict()
    with pytest.raises(DecodeError, match="does not decode"):
        pod.copy()


def test_raw_json_that_is_none_is_an_error_of_ours() -> None:
    revision = GVK("apps", "v1", "ControllerRevision")
    model, codec = model_for(revision), codec_for(revision)
    assert model is not None
    assert codec is not None
    for text in (b"{", b"[" * 100_000, b"\xff"):
        handle: TypedObject = model.over(
            Record.read(put(1, metadata("a")) + put(2, put(1, text)), codec)
        )
        with pytest.raises(DecodeError, match="does not decode"):
            handle.to_dict()
        with pytest.raises(DecodeError, match="does not decode"):
            handle.data  # type: ignore[attr-defined]  # noqa: B018  # a part of this kind


@pytest.mark.parametrize(
    "edit",
    [
        lambda container: setattr(container, "image", "web:2"),
        lambda container: setattr(container.env[0], "value", "2"),
    ],
    ids=["a large one", "a small one"],
)
def test_an_edit_of_a_struct_inside_of_a_view_is_refused(edit: Any) -> None:
    """18.5: at the assignment, not when the object is sent."""
    found = codec_for(GVK("", "v1", "Pod"))
    assert found is not None
    env = [{"name": "A", "value": "1"}]
    tree = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "m", "env": env}]}}
    pod = Pod.over(Record.read(found.encode(tree), found))
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        edit(pod.spec.containers[0])
    assert pod == Pod.over(Record.read(found.encode(tree), found))
