"""Messages as trees: what a server's JSON has for the same object, and nothing else."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.models import model_for
from kinform.objects._paths import read_path
from kinform.protobuf import ProtobufCodec, _trees, codec_for
from kinform.protobuf._messages import fields_of, has_message, reachable
from kinform.protobuf._table import MESSAGE_PACKAGES
from tests.unit.protobuf.sample import SAMPLES, Sample, metadata, put

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "protobuf.md"


def codec(sample: Sample) -> ProtobufCodec:
    found = codec_for(sample.gvk)
    assert found is not None
    return found


def exactly(tree: Any) -> str:
    """Trees as text, for ``True == 1 == 1.0``."""
    return json.dumps(tree, sort_keys=True, indent=1)


each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.gvk.kind)


@each_sample
def test_a_message_is_the_tree_that_json_has(sample: Sample) -> None:
    assert exactly(codec(sample).decode(sample.message)) == exactly(sample.tree)


@each_sample
def test_each_part_by_itself_is_as_in_the_whole(sample: Sample) -> None:
    for part, tree in sample.tree.items():
        assert codec(sample).decode_part(sample.message, part) == tree


def test_a_part_that_is_absent_or_unknown_is_no_part() -> None:
    pod = SAMPLES[1]
    for part in ("apiVersion", "nonsense", ""):
        with pytest.raises(KeyError):
            codec(pod).decode_part(pod.message, part)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (-62135596799, "0001-01-01T00:00:01Z"),
        (253402300799, "9999-12-31T23:59:59Z"),
    ],
)
def test_times_have_four_digits_of_the_year(seconds: int, text: str) -> None:
    message = put(1, put(1, "a") + put(8, put(1, seconds) + put(2, 5)))
    found = codec_for(GVK("", "v1", "ConfigMap"))
    assert found is not None
    assert found.decode(message)["metadata"]["creationTimestamp"] == text


def test_a_time_that_no_calendar_has_is_an_error_that_names_the_object() -> None:
    found = codec_for(GVK("", "v1", "ConfigMap"))
    assert found is not None
    message = put(1, metadata("a", more=put(9, put(1, 1 << 60))))
    for read in (found.decode, found.read_head):
        with pytest.raises(DecodeError, match="default/a") as caught:
            read(message)
        assert caught.value.key == "default/a"
        assert caught.value.resource_version == "7"


def test_a_pointer_that_json_never_leaves_out_is_null() -> None:
    """As the name of a service that a probe asks."""
    probe = put(10, put(1, put(4, put(1, 80))))
    found = codec_for(GVK("", "v1", "Pod"))
    assert found is not None
    tree = found.decode(put(2, put(2, put(1, "main") + probe)))
    assert tree["spec"]["containers"][0]["livenessProbe"] == {"grpc": {"port": 80, "service": None}}


def test_the_guide_names_every_list_that_is_null_where_json_may_have_an_empty_one() -> None:
    found = set()
    for (group, version), package in MESSAGE_PACKAGES.items():
        for kind in KINDS.get((group, version), ()):
            assert has_message(f"{package}.{kind}")
            for message in reachable(f"{package}.{kind}"):
                found |= {
                    f"{message.rpartition('.')[2]}.{field.json}"
                    for field in fields_of(message)
                    if field.shape != "one"
                    and field.json
                    and not field.omits_empty
                    and not field.omits_zero
                }
    guide = GUIDE.read_text("utf-8")
    assert {name for name in found if f"`{name}`" not in guide} == set()
    assert len(found) > 40


def _kinds() -> dict[tuple[str, str], list[str]]:
    from kinform.protobuf._messages import messages_of

    return {
        place: [
            name
            for name in messages_of(package)
            if (model := model_for(GVK(*place, name))) is not None and model.resource is not None
        ]
        for place, package in MESSAGE_PACKAGES.items()
    }


KINDS = _kinds()


def _paths(tree: object, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if way:
        yield way
    if isinstance(tree, dict):
        for key, child in tree.items():
            yield from _paths(child, (*way, key))
    elif isinstance(tree, list):
        for index, child in enumerate(tree):
            yield from _paths(child, (*way, index))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.gvk.kind)
def test_a_path_leads_to_what_the_tree_has_there(sample: Sample) -> None:
    reader = codec(sample)
    tree = reader.decode(sample.message)
    ways = list(_paths(tree))
    assert len(ways) > 3
    for way in ways:
        assert reader.decode_path(sample.message, way) == read_path(tree, way), way
    for nowhere in ("nowhere", "metadata.nowhere", "metadata.name.nowhere", "spec.nowhere.at.all"):
        with pytest.raises(LookupError):
            reader.decode_path(sample.message, nowhere)


def test_whichever_thread_is_the_first_every_thread_sees_the_whole_tree() -> None:
    pods = codec_for(GVK("", "v1", "Pod"))
    assert pods is not None
    payload = pods.encode(
        {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "m"}], "nodeName": "n"}}
    )
    whole = pods.decode(payload)
    seen: list[object] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(60):
            _trees.tree_of.cache_clear()
            together = threading.Barrier(4)

            def read(together: threading.Barrier = together) -> None:
                together.wait()
                seen.append(pods.decode(payload))

            threads = [threading.Thread(target=read) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert seen == [whole] * 240
