"""Compiled readers of messages: they give what the parser would, and leave the rest to it."""

from __future__ import annotations

import gc
import struct
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from enum import Enum
from functools import lru_cache, partial
from itertools import count
from operator import attrgetter
from random import Random
from typing import Any, Literal
from weakref import ref

import msgspec
import pytest

from kinform._native import IS_COMPILED, StructReader, ViewField
from kinform._native._fallback import StructReader as NoReader
from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.models import model_for
from kinform.models.core.v1 import Container, EnvVar, Pod, PodSpec, PodTemplateSpec
from kinform.objects import Model, Part, Record, TypedObject, read_only_class
from kinform.protobuf import _codec, _parts, _views, codec_for
from kinform.protobuf._messages import fields_of
from kinform.protobuf._models import field_reader, model_fields
from kinform.protobuf._native_readers import Described
from kinform.protobuf._parts import part_reader, parts_reader
from tests.support.breaking import broken
from tests.unit.protobuf.sample import SAMPLES, entry, metadata, put, varint
from tests.unit.protobuf.test_structs import (
    MESSAGES,
    OBJECTS,
    SCALARS,
    each_kind,
    filled,
    hollow,
    message_of,
    put_into,
)

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="there is no compiled code here")

POD = GVK("", "v1", "Pod")
NAMED = put(1, metadata("a"))
PARSED = _views._parsed


@pytest.fixture
def no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is not read by compiled code is an error."""

    def refuse(view: Any, field: Any) -> None:
        raise AssertionError(f"{type(view).__name__} was parsed")

    monkeypatch.setattr(_views, "_parsed", refuse)
    _forget_readers()


def _forget_readers() -> None:
    _views.view_class.cache_clear()
    _parts.parts_reader.cache_clear()


@pytest.fixture(autouse=True)
def fresh_readers() -> Iterator[None]:
    yield
    _forget_readers()


def as_read(kind: GVK, payload: bytes) -> dict[str, Any]:
    """Every part, by compiled code as far as that goes."""
    codec, model = codec_for(kind), model_for(kind)
    assert codec is not None
    assert model is not None
    return {
        part.name: plain(codec.decode_parts(payload, part.alone)[0])
        for part in model.parts.values()
    }


def as_parsed(kind: GVK, payload: bytes) -> dict[str, Any]:
    """Every part, by the parser."""
    message = message_of(kind)
    model = model_for(kind)
    assert model is not None
    return {
        part.name: plain(in_python(part_reader(message, part.name, part.type)(payload)))
        for part in model.parts.values()
    }


def in_python(value: Any) -> Any:
    """Read all fields of a view without compiled code."""
    if hasattr(value, "_of"):
        for field in model_fields(read_only_class(value._model), value._of):
            value.__dict__[field.attribute] = field_reader(field)(PARSED(value, field))
    return value


def plain(value: Any) -> Any:
    """All there is to see of it: fields, items in their order, and the type of each value."""
    if isinstance(value, Model):
        fields = {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        return getattr(value, "_model", type(value)), fields
    if isinstance(value, TypedObject):
        return type(value), value.to_dict()
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return dict, [(key, plain(each)) for key, each in value.items()]
    if type(value).__name__ == "Raw":
        return "Raw", bytes(value)
    return type(value), repr(value)


def check(kind: GVK, payload: bytes) -> None:
    assert as_read(kind, payload) == as_parsed(kind, payload)


# -- what servers write ----------------------------------------------------------------------


def by_chance(message: str, chance: Random, inside: tuple[str, ...] = ()) -> bytes:
    """A message as Go writes them, in which some things are and some are not."""
    if message in MESSAGES:
        # An empty union would be null, which a map of them cannot have.
        is_full = chance.randrange(4) or message.endswith("OrStringArray")
        return MESSAGES[message] if is_full else _empty(message)
    within = (*inside, message)
    written = b""
    for field in fields_of(message):
        if within.count(field.element) > 1 or not chance.randrange(3):
            continue
        times = chance.randrange(1, 4) if field.shape != "one" else 1
        for number in range(times):
            value: int | str | bytes
            if field.is_message:
                value = by_chance(field.element, chance, within)
            else:
                value = _scalar(field.element, chance)
            if field.shape == "map":
                written += put(field.number, put(1, f"k{number}") + put(2, value))
            elif field.element == "float64":
                written += varint(field.number << 3 | 1) + struct.pack("<d", chance.random() * 9)
            else:
                written += put_into(field, value)
    return written


def _empty(message: str) -> bytes:
    """As Go writes what has nothing in it."""
    return put(1, 0) + put(2, 0) + put(3, "") if message == "intstr.IntOrString" else b""


def _scalar(element: str, chance: Random) -> int | str | bytes:
    if element in ("int32", "int64"):
        limit = 31 if element == "int32" else 63
        return chance.choice([0, 1, -1, 300, (1 << limit) - 1, -(1 << limit)])
    if element == "bool":
        return chance.randrange(2)
    if element == "string":
        return chance.choice(["", "x", "Größe", "日本", "🙂", "a" * 300])
    return SCALARS.get(element, b"")


@each_kind
def test_what_servers_write_is_read_without_the_parser(kind: GVK, no_parser: None) -> None:
    message = message_of(kind)
    payloads = [filled(message), hollow(message), NAMED, b""]
    payloads += [by_chance(message, Random(seed)) for seed in range(12)]
    for payload in payloads:
        check(kind, payload)
        model = model_for(kind)
        assert model is not None
        for part in model.parts.values():
            assert parts_reader(message, part.alone).parts(payload) is not None


def test_both_fields_and_parts_are_read_by_compiled_code_here(no_parser: None) -> None:
    """Or the test above would say nothing."""
    with pytest.raises(AssertionError, match="PodSpec was parsed"):
        as_read(POD, NAMED + put(2, put(10, b"\xff")))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.gvk.kind)
def test_samples_are_read_as_the_parser_does(sample: Any) -> None:
    if sample.gvk in OBJECTS:
        check(sample.gvk, sample.message)


# -- what they do not write ------------------------------------------------------------------

TIME = 1700000000
UNUSUAL: dict[str, bytes] = {
    "a number twice": put(2, put(5, 7) + put(5, 8)),
    "a text twice": put(2, put(10, "a") + put(10, "b")),
    "a message twice": put(2, put(14, put(1, put(1, "a"))) + put(14, put(5, 7))),
    "a part twice": put(2, put(10, "a")) + put(2, put(5, 7)),
    "an inlined message twice": put(2, put(1, put(1, "v") + put(2, put(1, put(1, "/a")))))
    + put(2, put(1, put(2, put(2, put(1, "m"))))),
    "a map that is not sorted": put(2, entry(7, "b", "1") + entry(7, "a", "2")),
    "a map with a key twice": put(2, entry(7, "a", "1") + entry(7, "a", "2")),
    "a map that goes on later": put(2, entry(7, "a", "1") + put(10, "n") + entry(7, "b", "2")),
    "a map without a key": put(2, put(7, put(2, "1"))),
    "a map without a value": put(2, put(7, put(1, "a"))),
    "a map with more in it": put(2, put(7, put(1, "a") + put(2, "b") + put(3, "c"))),
    "a map whose value is first": put(2, put(7, put(2, "b") + put(1, "a"))),
    "an empty entry": put(2, put(7, b"")),
    "a text that is no UTF-8": put(2, put(10, b"a\xff")),
    "a number where a text is": put(2, put(10, 5)),
    "a text where a number is": put(2, put(5, "x")),
    "a number where a message is": put(2, put(14, 5)),
    "a number where a part is": put(2, 5),
    "eight bytes where a number is": put(2, varint(5 << 3 | 1) + bytes(8)),
    "four bytes where a text is": put(2, varint(10 << 3 | 5) + bytes(4)),
    "numbers in one piece": put(2, put(14, put(4, varint(5) + varint(6)))),
    "a field that nobody knows": put(2, put(999, "x") + put(998, 5) + put(10, "n")),
    "a number of a field that is high": put(2, put(1 << 20, "x") + put(10, "n")),
    "wide fields that nobody knows": put(2, varint(997 << 3 | 1) + bytes(8) + put(10, "n"))
    + put(2, varint(996 << 3 | 5) + bytes(4)),
    "a group": put(2, varint(900 << 3 | 3) + put(1, "x") + varint(900 << 3 | 4) + put(10, "n")),
    "a number of ten bytes": put(2, put(5, -7)),
    "a number that is too large": put(2, put(8, (1 << 40) + 7)),
    "a bool that is two": put(2, put(11, 2)),
    "1970": put(3, put(7, put(1, 0))),
    "before 1970": put(3, put(7, put(1, -5))),
    "Go's zero": put(3, put(7, put(1, -62135596800))),
    "nanoseconds alone": put(3, put(7, put(2, 5))),
    "nanoseconds": put(3, put(7, put(1, TIME) + put(2, 5))),
    "nanoseconds first": put(3, put(7, put(2, 5) + put(1, TIME))),
    "a time with more in it": put(3, put(7, put(1, TIME) + put(3, 5))),
    "an amount with more in it": put(2, entry(32, "cpu", put(1, "1") + put(2, "x"))),
    "an amount with nothing in it": put(2, entry(32, "cpu", b"")),
    "an amount that is no UTF-8": put(2, entry(32, "cpu", put(1, b"\xff"))),
    "a port that is half": put(2, put(2, put(10, put(1, put(2, put(2, put(1, 1))))))),
    "a port without a type": put(2, put(2, put(10, put(1, put(2, put(2, put(2, 80))))))),
}


@pytest.mark.parametrize("message", UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_unusual_is_read_as_the_parser_does(message: bytes) -> None:
    check(POD, NAMED + message)
    check(POD, message + NAMED)


@pytest.mark.parametrize(
    ("broken_part", "read"),
    [
        (put(2, put(2, b"\x0a\x05a")), lambda pod: pod.spec.containers),
        (put(2, put(7, b"\xff" * 11)), lambda pod: pod.spec.node_selector),
        (put(3, put(7, put(1, 1 << 60))), lambda pod: pod.status.start_time),
        (put(2, put(7, put(1, b"\xff") + put(2, "x"))), lambda pod: pod.spec.node_selector),
        (put(2, b"\xd2\x80\x80\x80\x80\x00\x02n1"), lambda pod: pod.spec.node_name),
        (put(2, b"\x52\x82\x80\x80\x80\x80\x00n1"), lambda pod: pod.spec.node_name),
        (put(2, b"\x07"), lambda pod: pod.spec.node_name),
        (put(2, b"\x00\x01"), lambda pod: pod.spec.node_name),
    ],
    ids=[
        "cut short",
        "no number",
        "no time",
        "no key",
        "long tag",
        "long size",
        "no wire type",
        "no field",
    ],
)
def test_what_is_broken_is_an_error_that_says_where(
    broken_part: bytes, read: Callable[[Pod], object]
) -> None:
    codec = codec_for(POD)
    assert codec is not None
    pod = Pod.over(Record.read(put(1, metadata("a", rv="7")) + broken_part, codec))
    for _ in range(2):
        with pytest.raises(DecodeError, match=r"does not decode") as caught:
            read(pod)
        assert caught.value.key.endswith("a")
        assert caught.value.resource_version == "7"


def test_what_is_nested_too_deep_is_an_error() -> None:
    kind = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    schema = b""
    for _ in range(5000):
        schema = put(28, schema)  # "not", which is a schema
    version = put(1, "v1") + put(4, put(1, schema))
    codec, model = codec_for(kind), model_for(kind)
    assert codec is not None
    assert model is not None
    obj: Any = model.over(Record.read(put(1, metadata("a")) + put(2, put(7, version)), codec))
    with pytest.raises(DecodeError):
        obj.spec.versions  # noqa: B018  # the reading is what fails


def outcomes(kind: GVK, payload: bytes, *, is_compiled: bool = True) -> dict[str, Any]:
    """What each field of each part is: a value, or an error with its text, key and version."""
    model, codec = model_for(kind), codec_for(kind)
    assert model is not None
    assert codec is not None
    found: dict[str, Any] = {}
    for part in model.parts.values():
        view = outcome(partial(_decode_part, codec, payload, part))
        if not hasattr(view, "_of"):
            found[part.name] = view
            continue
        fields = {field.attribute: field for field in model_fields(view._model, view._of)}
        for name in view.__struct_fields__:
            read: Callable[[Any], Any] = attrgetter(name)
            if name in fields and not is_compiled:
                read = _views._PythonReader(fields[name], None)
            found[f"{part.name}.{name}"] = outcome(partial(read, view))
    return found


def _decode_part(codec: Any, payload: bytes, part: Part[Any]) -> Any:
    return codec.decode_parts(payload, part.alone)[0]


def outcome(read: Callable[[], Any]) -> Any:
    try:
        value = read()
    except DecodeError as error:
        return "error", str(error), error.key, error.resource_version
    return value if hasattr(value, "_of") else plain(value)


def check_broken(kind: GVK, payload: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Compare what both ways make of a message; how many fields are readable, and how many not."""
    compiled = outcomes(kind, payload)
    with monkeypatch.context() as patch:
        patch.setattr(_codec, "parts_reader", lambda message, group: NoReader(None, ()))
        interpreted = outcomes(kind, payload, is_compiled=False)
    assert compiled == interpreted
    broken_fields = sum(each[:1] == ("error",) for each in compiled.values())
    return len(compiled) - broken_fields, broken_fields


@pytest.mark.parametrize("seed", range(6))
def test_a_broken_message_has_the_same_fields_and_errors_in_both_ways(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = Random(seed)
    readable = unreadable = mixed = 0
    for _ in range(300):
        kind = chance.choice(OBJECTS)
        payload = broken(
            by_chance(message_of(kind), chance) + NAMED,
            chance,
            place=chance.randrange,
            insertion=lambda: chance.randbytes(chance.choice((1, 2, 9))),
        )
        good, bad = check_broken(kind, payload, monkeypatch)
        readable += good
        unreadable += bad
        mixed += good > 0 and bad > 0
    assert readable > 1000
    assert unreadable > 100
    assert mixed > 10


BROKEN = {
    "a container": NAMED + put(2, put(2, b"\x0a\x05a") + put(10, "n1")),
    "a map": NAMED + put(2, put(10, "n1") + put(7, b"\xff" * 11)),
    "a time": NAMED + put(2, put(10, "n1")) + put(3, put(7, put(1, 1 << 60)) + put(1, "Running")),
    "a part": NAMED + put(2, put(10, "n1")) + put(3, b"\x07"),
    "a label": put(1, metadata("a") + put(11, b"\xff\xff")) + put(2, put(10, "n1")),
}


@pytest.mark.parametrize("payload", BROKEN.values(), ids=BROKEN)
def test_what_is_not_broken_can_be_read_in_both_ways(
    payload: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = check_broken(POD, payload, monkeypatch)
    assert good > 0
    assert bad > 0


def test_a_null_that_a_map_cannot_have_is_an_error_as_in_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    (number,) = (
        field.number
        for field in fields_of("apiextensions/v1.JSONSchemaProps")
        if field.json == "dependencies"
    )
    version = put(1, "v1") + put(4, put(1, entry(number, "k", b"")))
    good, bad = check_broken(kind, NAMED + put(2, put(1, "g") + put(7, version)), monkeypatch)
    assert good > 1
    assert bad == 1


def test_nothing_can_be_read_if_no_field_ends_where_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert check_broken(POD, NAMED + put(2, put(10, "n1")) + b"\x07", monkeypatch)[0] == 0


# -- what becomes of memory ------------------------------------------------------------------


@each_kind
def test_the_collector_looks_at_the_same_structs_as_if_they_were_made_by_their_class(
    kind: GVK,
) -> None:
    for payload in (filled(message_of(kind)), hollow(message_of(kind))):
        model = model_for(kind)
        assert model is not None
        for part in model.parts.values():
            for view in parts_reader(message_of(kind), part.alone).parts(payload) or ():
                for made in structs_in(view):
                    fields = {name: getattr(made, name) for name in made.__struct_fields__}
                    assert gc.is_tracked(made) == gc.is_tracked(type(made)(**fields))


def structs_in(value: Any) -> Iterator[Model]:
    if isinstance(value, Model):
        if not hasattr(value, "_of"):
            yield value
        for name in value.__struct_fields__:
            yield from structs_in(getattr(value, name))
    elif isinstance(value, (list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from structs_in(each)


def test_a_circle_that_an_edit_makes_is_collected() -> None:
    class Witness(dict[str, Any]):
        pass

    def blank() -> Container:
        return pod_with_environment().spec.containers[0]

    edits: list[Callable[[Any, Any], Any]] = [
        lambda one, other: list.append(one.resources.claims, other),
        lambda one, other: dict.__setitem__(one.resources.limits, "x", other),
        lambda one, other: list.append(one.env, other),
    ]
    for edit in edits:
        struct, witness = blank(), Witness()
        edit(struct, witness)
        witness["back"] = struct
        alive = ref(witness)
        del struct, witness
        gc.collect()
        assert alive() is None


def pod_with_environment() -> Pod:
    codec = codec_for(POD)
    assert codec is not None
    env = put(1, "A") + put(2, "b")
    return Pod.over(Record.read(NAMED + put(2, put(2, put(1, "m") + put(7, env))), codec))


def test_structs_are_those_of_the_model_in_every_way() -> None:
    """Made without its constructor, they are as if they were made by it."""
    spec = pod_with_environment().spec
    made = PodSpec(**{name: getattr(spec, name) for name in spec.__struct_fields__})
    assert spec == made
    (container,) = spec.containers
    assert container == type(container)(
        **{name: getattr(container, name) for name in container.__struct_fields__}
    )
    assert container.command is not container.args
    assert container.resources is not pod_with_environment().spec.containers[0].resources
    mine = container.copy()
    mine.image = "web:2"
    assert type(mine) is Container
    assert (mine.image, container.image) == ("web:2", "")


def test_nothing_is_kept() -> None:
    payloads = [NAMED + message for message in UNUSUAL.values()]
    payloads += [filled(message_of(POD)), filled(message_of(POD))[:-3], NAMED + put(2, b"\x07")]

    def blocks(rounds: int) -> int:
        for _ in range(rounds):
            for payload in payloads:
                with suppress(DecodeError):
                    as_read(POD, payload)
        gc.collect()
        return sys.getallocatedblocks()

    shared: list[object] = [PodSpec, Container, EnvVar, type(pod_with_environment().spec)]
    if sys.version_info < (3, 12):
        # Later they are immortal: modules built for an older Python count them, and no other does.
        shared += [None, True, ""]
    before = blocks(2)
    counts = [sys.getrefcount(each) for each in shared]
    assert blocks(60) - before < 50
    now = [sys.getrefcount(each) for each in shared]
    assert max(abs(one - other) for one, other in zip(now, counts, strict=True)) < 30


# -- nonsense and accidents ------------------------------------------------------------------


class Pair(msgspec.Struct):
    a: str = ""
    b: Any = None


class Slotless:
    __struct_fields__ = ("a",)
    a = 1


class DictWithSlots(dict[str, int]):
    __slots__ = ("a",)
    __struct_fields__ = ("a",)


any_reader: Any = StructReader
any_field: Any = ViewField
A: Described = ("a", (1,), "one", "text", None, "is", "")
B: Described = ("b", (), "one", "text", None, "is", None)


def field_two(kind: str, convert: Any, how: str = "is", absent: Any = None) -> StructReader:
    """What reads field 2 of a message by itself."""
    return StructReader(None, (("b", (2,), "one", kind, convert, how, absent),))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: any_reader(), TypeError),
        (lambda: any_reader(5, ()), TypeError),
        (lambda: any_reader(Pair, [A, B]), TypeError),
        (lambda: any_reader(Pair, (A, 5)), TypeError),
        (lambda: any_reader(Pair, (A[:-1], B)), TypeError),
        (lambda: any_reader(Pair, (A,)), TypeError),
        (lambda: any_reader(Pair, (B, A)), TypeError),
        (lambda: any_reader(Pair, (A, ("x", *B[1:]))), TypeError),
        (lambda: any_reader(Pair, (A, ("b", *A[1:]))), ValueError),
        (lambda: any_reader(Pair, (A, ("b", (1, 2), *A[2:]))), ValueError),
        (lambda: any_reader(Pair, (("a", (1, 2), *A[2:]), ("b", *A[1:]))), ValueError),
        (lambda: any_reader(Slotless, (A,)), TypeError),
        (lambda: any_reader(DictWithSlots, (A,)), TypeError),
        (lambda: any_reader(None, (("a", (1 << 20,), *A[2:]),)), ValueError),
        (lambda: any_reader(None, (("a", (-1,), *A[2:]),)), ValueError),
        (lambda: any_reader(None, (("a", ("1",), *A[2:]),)), TypeError),
        (lambda: any_reader(None, (("a", (1,) * 300_000, *A[2:]),)), ValueError),
        (lambda: any_reader(None, (("a", (1,), "two", *A[3:]),)), ValueError),
        (lambda: any_reader(None, (("a", (1,), "one", "texts", *A[4:]),)), ValueError),
        (lambda: any_reader(None, ((*A[:5], "was", None),)), ValueError),
        (lambda: any_reader(None, ((*A[:5], "read", None),)), ValueError),
        (lambda: any_reader(None, (A,)).parts("text"), TypeError),
        (lambda: any_reader(None, (A,)).parts(bytearray()), TypeError),
        (lambda: any_reader(None, (A,), a=1), TypeError),
        (lambda: any_field(any_reader(None, (A,)), 1, "a", len, None), TypeError),
        (lambda: any_field(any_reader(None, (A,)), -1, "a", len, None), TypeError),
        (lambda: any_field(5, 0, "a", len, None), TypeError),
        (lambda: any_field(any_reader(None, (A,)), 0, 5, len, None), TypeError),
        (lambda: any_field(any_reader(None, (A,)), 0, "a", len, None, a=1), TypeError),
    ],
)
def test_nonsense_is_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def raising(error: BaseException) -> Callable[..., Any]:
    def convert(*_: object) -> Any:
        raise error

    return convert


@pytest.mark.parametrize("kind", ["struct", "view", "converted", "text of", "bytes of"])
def test_what_says_what_cannot_be_is_left_to_python_and_no_other_error(kind: str) -> None:
    for malformed in (ValueError(), OverflowError(), RecursionError()):
        assert field_two(kind, raising(malformed)).parts(put(2, "")) is None
    assert field_two(kind, raising(ValueError())).parts(b"") == [None]
    for error in (KeyboardInterrupt, MemoryError, TimeoutError, AttributeError):
        with pytest.raises(error):
            field_two(kind, raising(error())).parts(put(2, ""))


def test_what_makes_an_absent_one_may_fail() -> None:
    assert field_two("text", None, "made", raising(ValueError())).parts(b"") is None
    with pytest.raises(KeyboardInterrupt):
        field_two("text", None, "made", raising(KeyboardInterrupt())).parts(b"")
    assert field_two("time", raising(OverflowError())).parts(put(2, put(1, 5))) is None


@pytest.mark.parametrize(
    "given", [5, (), (1, 2), (Pair, 5), (5, field_two("text", None)), field_two("text", None)]
)
@pytest.mark.parametrize("kind", ["struct", "view"])
def test_what_is_no_reader_of_structs_is_not_used_as_one(kind: str, given: Any) -> None:
    with pytest.raises(TypeError, match="a reader of structs"):
        field_two(kind, lambda: given).parts(put(2, ""))


def test_a_view_is_of_the_model_that_its_reader_is_for() -> None:
    reader = StructReader(Pair, (A, B))
    with pytest.raises(TypeError, match="a reader of structs"):
        field_two("view", lambda: (PodSpec, reader)).parts(put(2, ""))


def test_a_view_that_somebody_has_tampered_with_is_left_to_python() -> None:
    class Tampered:
        field = ViewField(StructReader(None, (A,)), 0, "field", lambda view: "by Python", None)

    for wire in (
        *(None, 5, (), (b"", 0), (b"abc", 0, 4), (b"abc", 2, 1), (b"abc", -1, 2)),
        *(("abc", 0, 1), (b"abc", "0", 1), (b"abc", 0, 1 << 80)),
    ):
        made = Tampered()
        made.__dict__["_wire"] = wire
        assert made.field == "by Python"
    made = Tampered()
    made.__dict__["_wire"] = put(1, "x"), 0, 3
    assert made.field == "x"
    assert made.__dict__["field"] == "x"
    assert isinstance(Tampered.field, ViewField)


def test_what_converts_may_do_what_it_likes_with_the_view() -> None:
    views: list[Any] = []

    class Emptied:
        field = ViewField(
            field_two("converted", lambda raw: views[0].__dict__.clear() or raw),
            0,
            "field",
            lambda view: "by Python",
            None,
        )

    for _ in range(100):
        made = Emptied()
        made.__dict__["_wire"] = bytes(put(2, "x" * 100)), 0, len(put(2, "x" * 100))
        views[:] = [made]
        assert made.field == b"x" * 100


def test_whoever_is_the_first_to_read_a_field_reads_it_for_all() -> None:
    """A second one in the middle of it, as another thread would be, and the same value."""

    class Twice:
        field: Any

    def convert(raw: bytes) -> list[bytes]:
        if not nested:
            nested.append(None)
            nested.append(made.field)
        return [raw]

    nested: list[Any] = []
    Twice.field = ViewField(field_two("converted", convert), 0, "field", lambda view: None, None)
    made = Twice()
    made.__dict__["_wire"] = put(2, "x"), 0, 3
    assert made.field is nested[1]


def test_a_reader_may_be_asked_for_while_it_is_asked_for() -> None:
    """By whoever is asked for it, or by another thread; and what is asked is cached by lru_cache,
    which still needs itself when it has called."""
    for _ in range(50):
        inner = StructReader(Pair, (A, B))
        seen: list[Any] = []
        outer: list[StructReader] = []

        def ask(
            seen: list[Any] = seen,
            inner: StructReader = inner,
            outer: list[StructReader] = outer,
        ) -> StructReader:
            if not seen:
                seen.append(None)
                seen.append(outer[0].parts(put(2, put(1, "x"))))
            return inner

        outer.append(field_two("struct", lru_cache(maxsize=None)(ask)))
        del ask
        assert outer[0].parts(put(2, put(1, "x"))) == seen[1] == [Pair("x")]


def test_threads_may_ask_for_the_same_reader_at_once() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            for _ in range(50):
                inner = StructReader(Pair, (A, B))

                def ask(inner: StructReader = inner) -> StructReader:
                    for _ in range(100):
                        pass
                    return inner

                reader = field_two("struct", lru_cache(maxsize=None)(ask))
                del ask
                found = threads.map(reader.parts, [put(2, put(1, "x"))] * 16)
                assert list(found) == [[Pair("x")]] * 16
    finally:
        sys.setswitchinterval(interval)


def test_nobody_finds_a_struct_before_it_is_complete() -> None:
    found: list[Any] = []

    def look(raw: bytes) -> bytes:
        found.extend(each for each in gc.get_objects() if type(each) is Pair)
        return raw

    described: Described = ("b", (2,), "one", "converted", look, "is", None)
    reader = field_two("struct", lambda: StructReader(Pair, (A, described)))
    (made,) = reader.parts(put(2, put(1, "x") + put(2, "y"))) or [None]
    assert made == Pair("x", b"y")
    assert found == []


def test_readers_that_refer_to_themselves_are_collected() -> None:
    gc.collect()
    before = sum(isinstance(each, StructReader) for each in gc.get_objects())
    for _ in range(10):
        found: list[StructReader] = []
        described: Described = (
            "b",
            (2,),
            "one",
            "struct",
            lambda found=found: found[0],
            "is",
            None,
        )
        found.append(StructReader(Pair, (A, described)))
        reader = field_two("struct", lambda found=found: found[0])
        made = reader.parts(put(2, put(1, "x") + put(2, put(1, "y"))))
        assert made == [Pair("x", Pair("y", None))]
    del found, described, reader, made
    gc.collect()
    assert sum(isinstance(each, StructReader) for each in gc.get_objects()) == before


# -- models of a user's own ------------------------------------------------------------------


class Seen(Model):
    name: str = ""

    def __post_init__(self) -> None:
        self.name += "!"


class Needy(Model):
    name: str
    image: str = ""


class Stubborn(Model):
    restart_policy: str = "Always"


class Template(Model):
    spec: Stubborn = msgspec.field(default_factory=Stubborn)


class SeenSpec(Model):
    containers: list[Seen] = msgspec.field(default_factory=list)


class NeedySpec(Model):
    containers: list[Needy] = msgspec.field(default_factory=list)


class DefaultSpec(Model):
    template: Template = msgspec.field(default_factory=Template)


class OptionalSpec(Model):
    template: Template | None = None


class CheckedSpec(Model):
    node_name: str = ""

    def __post_init__(self) -> None:
        assert self.node_name != "nowhere"


class Color(Enum):
    RED = 1


class Painted(Model):
    name: str = ""
    color: Color = Color.RED
    day: date = date(2026, 1, 1)
    number: int = msgspec.field(default_factory=count().__next__)
    several: dict[str, list[int]] = msgspec.field(default_factory=lambda: defaultdict(list))


class PaintedSpec(Model):
    containers: list[Painted] = msgspec.field(default_factory=list)
    color: Color = Color.RED


class LargerTemplate(Template):
    more: str = "more"


class FilledSpec(Model):
    template: PodTemplateSpec = msgspec.field(
        default_factory=lambda: PodTemplateSpec(spec=PodSpec(node_name="n1"))
    )


class LargerSpec(Model):
    template: Template = msgspec.field(default_factory=LargerTemplate)


class Truth(Model):
    replicas: int | bool = False


class TruthSpec(Model):
    template: Truth = msgspec.field(default_factory=Truth)


class Frozen(Model, frozen=True):  # type: ignore[misc]  # of dataclasses that is so
    name: str = ""
    command: list[str] = msgspec.field(default_factory=list)


class FrozenSpec(Model):
    containers: list[Frozen] = msgspec.field(default_factory=list)


class Loud(Model):
    name: str = ""
    command: list[str] = msgspec.field(default_factory=list)

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, (*value, "!") if isinstance(value, list) else value)


class LoudSpec(Model):
    containers: list[Loud] = msgspec.field(default_factory=list)


CONTAINER = put(2, put(2, put(1, "m") + put(3, "run")))
REPLICAS = put(2, put(1, 3))


@pytest.mark.parametrize(
    ("spec", "message", "payload", "read"),
    [
        (SeenSpec, "core/v1.Pod", CONTAINER, lambda spec: spec.containers),
        (NeedySpec, "core/v1.Pod", CONTAINER, lambda spec: spec.containers),
        (DefaultSpec, "apps/v1.Deployment", REPLICAS, lambda spec: spec.template),
        (OptionalSpec, "apps/v1.Deployment", REPLICAS, lambda spec: spec.template),
        (PaintedSpec, "core/v1.Pod", CONTAINER, lambda spec: spec.color),
        (PaintedSpec, "core/v1.Pod", CONTAINER, lambda spec: spec.containers[0].day),
        (PaintedSpec, "core/v1.Pod", CONTAINER, lambda spec: spec.containers[0].several["x"]),
        (FilledSpec, "apps/v1.Deployment", REPLICAS, lambda spec: spec.template),
        (LargerSpec, "apps/v1.Deployment", REPLICAS, lambda spec: spec.template),
        (TruthSpec, "apps/v1.Deployment", REPLICAS, lambda spec: spec.template),
        (FrozenSpec, "core/v1.Pod", CONTAINER, lambda spec: spec.containers),
        (LoudSpec, "core/v1.Pod", CONTAINER, lambda spec: spec.containers),
        (CheckedSpec, "core/v1.Pod", put(2, put(10, "n1")), lambda spec: spec.node_name),
    ],
)
def test_models_that_are_more_than_their_fields_are_made_by_their_constructors(
    spec: type[Model], message: str, payload: bytes, read: Callable[[Any], Any]
) -> None:
    part: Part[Any] = Part("spec", spec, spec)
    (ours,) = parts_reader(message, part.alone).parts(payload) or [None]
    theirs = in_python(part_reader(message, "spec", spec)(payload))
    assert plain(read(ours)) == plain(read(theirs))


class UntrackedSpec(Model, gc=False):
    node_name: str = ""


class CheckedName(Model):
    node_name: Literal["", "n1"] = ""


class DefaultName(Model):
    node_name: str = "somewhere"


def test_types_and_defaults_of_a_model_apply_as_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = codec_for(POD)
    assert codec is not None

    def read(model: type[Model], name: str) -> list[Any]:
        part: Part[Any] = Part("spec", model, model)
        found = []
        for reader in (parts_reader, lambda message, group: NoReader(None, ())):
            monkeypatch.setattr(_codec, "parts_reader", reader)
            payload = NAMED + put(2, put(10, name))
            found.append(outcome(partial(_decode_part, codec, payload, part)))
        return found

    one, other = read(CheckedName, "n2")
    assert one == other
    assert one[0] == "error"
    assert "Invalid enum value 'n2'" in one[1]
    assert read(CheckedName, "n1") == [plain(CheckedName(node_name="n1"))] * 2
    # Go writes an empty name, and JSON omits it.
    assert read(DefaultName, "") == [plain(DefaultName())] * 2


def test_views_of_a_model_without_garbage_collection_are_collected_anyway() -> None:
    """Their dict refers to other objects; msgspec refuses a dict without a header for it."""
    part: Part[Any] = Part("spec", UntrackedSpec, UntrackedSpec)
    views = []
    for _ in range(1000):
        views += parts_reader("core/v1.Pod", part.alone).parts(put(2, put(10, "n1"))) or []
    gc.collect()
    assert {view.node_name for view in views} == {"n1"}
    assert len(views) == 1000
    del views
    gc.collect()


def test_a_default_that_is_made_is_made_anew_for_everybody() -> None:
    part: Part[Any] = Part("spec", PaintedSpec, PaintedSpec)
    payload = put(2, put(2, put(1, "a")) + put(2, put(1, "b")))
    (spec,) = parts_reader("core/v1.Pod", part.alone).parts(payload) or [None]
    one, other = spec.containers
    assert one.number != other.number
    assert one.several is not other.several
    assert one.color is other.color is Color.RED


def test_threads_that_read_what_is_parsed_get_the_same_list() -> None:
    codec = codec_for(POD)
    assert codec is not None
    container = put(2, put(1, b"m\xff"))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            for _ in range(50):
                spec = Pod.over(Record.read(NAMED + put(2, container * 20), codec)).spec
                found = list(threads.map(lambda spec: spec.containers, [spec] * 4))
                assert all(each is found[0] for each in found)
    finally:
        sys.setswitchinterval(interval)


def test_a_field_that_nobody_gives_and_nobody_makes_is_an_error_in_both_ways() -> None:
    part: Part[Any] = Part("spec", NeedySpec, NeedySpec)
    payload = put(2, put(2, put(2, "an image")))
    (ours,) = parts_reader("core/v1.Pod", part.alone).parts(payload) or [None]
    theirs = in_python(part_reader("core/v1.Pod", "spec", NeedySpec)(payload))
    assert ours.containers == theirs.containers == [Needy(name="", image="an image")]


# -- what is not needed ----------------------------------------------------------------------


def test_the_parser_is_not_loaded_for_what_compiled_code_reads() -> None:
    """It takes some milliseconds, and memory, before the first object can be read."""
    message = put(1, metadata("a")) + put(2, put(10, "n1")) + put(3, put(1, "Running"))
    script = f"""
import sys
from kinform.api import GVK
from kinform.models.core.v1 import Pod
from kinform.objects import Record
from kinform.protobuf import codec_for
def is_loaded(): return "google.protobuf.descriptor_pool" in sys.modules
pod = Pod.over(Record.read({message!r}, codec_for(GVK("", "v1", "Pod"))))
print(pod.metadata.name, pod.spec.node_name, pod.status.phase, is_loaded())
pod.to_dict()
print(is_loaded())
"""
    said = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert said.stdout == "a n1 Running False\nTrue\n"
