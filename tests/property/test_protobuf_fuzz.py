"""Bytes that a line, a proxy or an enemy has changed: errors of ours, soon, and little memory."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from kinform.client._protobuf_wire import PROTOBUF_WIRE
from kinform.errors import KinformError
from kinform.models import model_for
from kinform.objects import Model, Record, Unstructured
from kinform.protobuf import codec_for, unwrap
from tests.unit.protobuf.sample import (
    SAMPLES,
    config_map,
    envelope,
    event,
    list_of,
    put,
    status,
)

# Of the whole target; each of three seeds has its share.
SECONDS = 6.0
LONGEST = 1 << 16
MOST_MEMORY = 32 << 20

OBJECTS = [sample.body for sample in SAMPLES]
LISTS = [
    envelope("v1", "ConfigMapList", list_of(config_map("a"), config_map("b"), token="next")),
    envelope("v1", "PodList", list_of(*(SAMPLES[1].message,) * 3)),
]
STREAM = b"".join(
    [
        event("ADDED", OBJECTS[1]),
        event("MODIFIED", OBJECTS[2]),
        event("BOOKMARK", envelope("v1", "ConfigMap", put(1, put(6, "3")))),
        event("ERROR", status(410, "Expired", "too old")),
        event("DELETED", OBJECTS[6]),
    ]
)


def read_object(body: bytes) -> None:
    look_at(PROTOBUF_WIRE.read_object(body))


def look_at(record: Record) -> None:
    """Touch everything, in every form."""
    Unstructured.over(record).to_dict()
    record.only_metadata()
    record.codec.drop_metadata(record.payload, frozenset({"managedFields"}))
    record.codec.editable(record.payload)
    model = model_for(record.gvk)
    if model is not None:
        handle = model.over(record)
        for part in handle.parts.values():
            touch(getattr(handle, part.attribute))
        handle.copy().to_bytes()


def touch(value: object) -> None:
    if isinstance(value, Model):
        for field in value.__struct_fields__:
            touch(getattr(value, field))
        repr(value)
    elif isinstance(value, list):
        for each in value:
            touch(each)
    elif isinstance(value, dict):
        touch(list(value.values()))


def read_list(body: bytes) -> None:
    found = PROTOBUF_WIRE.read_list(body, "GET things")
    for item in found.items:
        look_at(Record.read(bytes(item), found.codec, default_gvk=found.item_gvk))


def read_status(body: bytes) -> None:
    PROTOBUF_WIRE.read_status(body)


def read_stream(stream: bytes) -> None:
    framing = PROTOBUF_WIRE.framing(LONGEST)
    for start in range(0, len(stream), 97):
        for frame in framing.feed(stream[start : start + 97]):
            assert (frame.record is None) != (frame.error is None)
            if frame.record is not None:
                look_at(frame.record)
    framing.finish("watch of things")


TARGETS: list[tuple[Callable[[bytes], None], list[bytes]]] = [
    (read_object, OBJECTS),
    (read_list, LISTS),
    (read_status, [status(404, "NotFound", "gone")]),
    (read_stream, [STREAM]),
]


def mutated(seed: bytes, chance: random.Random) -> bytes:
    data = bytearray(seed)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        place = chance.randrange(len(data) + 1)
        match chance.randrange(6):
            case 0:
                data[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del data[place : place + chance.choice((1, 4, 64))]
            case 2:
                data[place:place] = chance.randbytes(chance.choice((1, 4, 64)))
            case 3:
                del data[place:]
            case 4:
                data[place : place + 5] = b"\xff\xff\xff\xff\x07"
            case 5:
                other = chance.randrange(len(data) + 1)
                data[place:place] = data[other : other + 32]
    return bytes(data)


def test_whatever_becomes_of_bytes_is_an_error_of_ours_and_costs_little() -> None:
    chance = random.Random(20260102)
    until = time.monotonic() + SECONDS
    tried, refused = 0, 0
    tracemalloc.start()
    try:
        while time.monotonic() < until:
            target, seeds = chance.choice(TARGETS)
            data = mutated(chance.choice(seeds), chance)
            tried += 1
            try:
                target(data)
            except KinformError:
                refused += 1
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST_MEMORY
    # Both ends of the road were seen.
    assert 0 < refused < tried


def test_the_seeds_themselves_are_read() -> None:
    for target, seeds in TARGETS:
        for seed in seeds:
            target(seed)


@given(st.lists(st.integers(0, len(STREAM)), max_size=12).map(sorted))
def test_however_a_stream_is_cut_it_has_the_same_events(cuts: list[int]) -> None:
    whole = PROTOBUF_WIRE.framing(LONGEST).feed(STREAM)
    framing = PROTOBUF_WIRE.framing(LONGEST)
    frames = [
        frame
        for start, stop in zip([0, *cuts], [*cuts, len(STREAM)], strict=True)
        for frame in framing.feed(STREAM[start:stop])
    ]
    assert framing.finish("watch") == []
    assert [(each.type, each.record and each.record.payload) for each in frames] == [
        (each.type, each.record and each.record.payload) for each in whole
    ]


@given(st.binary(max_size=200))
def test_any_bytes_in_an_envelope_are_an_object_or_an_error_of_ours(raw: bytes) -> None:
    for sample in SAMPLES:
        body = envelope(sample.gvk.api_version, sample.gvk.kind, raw)
        assert unwrap(body).raw == raw
        assert codec_for(sample.gvk) is not None
        try:
            read_object(body)
        except KinformError:
            continue
