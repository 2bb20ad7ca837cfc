"""Compiled readers of messages: they give what the parser would, and leave the rest to it."""

from __future__ import annotations

import gc
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import msgspec
import pytest

from kinform._native import IS_COMPILED, StructReader, ViewField
from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.models import model_for
from kinform.models.core.v1 import Container, EnvVar, Pod, PodSpec
from kinform.objects import Model, Record, TypedObject
from kinform.protobuf import _parts, _views, codec_for
from kinform.protobuf._messages import class_of, fields_of
from kinform.protobuf._parts import part_reader, usual_parts
from kinform.protobuf._usual import Described
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


@pytest.fixture
def no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is not read by compiled code is an error."""

    def refuse(view: Any) -> None:
        raise AssertionError(f"{type(view).__name__} was parsed")

    monkeypatch.setattr(_views, "_parsed", refuse)
    # What was compiled before knows the function by itself.
    _views._parsed_field.cache_clear()
    _forget_readers()


def _forget_readers() -> None:
    _views.view_class.cache_clear()
    _parts.usual_parts.cache_clear()


@pytest.fixture(autouse=True)
def fresh_readers() -> Iterator[None]:
    yield
    _views._parsed_field.cache_clear()
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
    parsed = class_of(message).FromString(payload)
    model = model_for(kind)
    assert model is not None
    return {
        part.name: plain(part_reader(message, part.name, part.type)(parsed))
        for part in model.parts.values()
    }


def plain(value: Any) -> Any:
    """All there is to see of it: fields, items in their order, and the type of each value."""
    if isinstance(value, Model):
        # A view says its model's name, too.
        fields = {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        return type(value).__qualname__, fields
    if isinstance(value, TypedObject):
        return type(value), value.to_dict()
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return dict, [(key, plain(each)) for key, each in value.items()]
    if type(value).__name__ == "Raw":
        return "Raw", bytes(value)
    return type(value), value


def check(kind: GVK, payload: bytes) -> None:
    assert as_read(kind, payload) == as_parsed(kind, payload)


# -- what servers write ----------------------------------------------------------------------


def by_chance(message: str, chance: Random, inside: tuple[str, ...] = ()) -> bytes:
    """A message as Go writes them, in which some things are and some are not."""
    if message in MESSAGES:
        return MESSAGES[message] if chance.randrange(4) else _empty(message)
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
            assert usual_parts(message, part.alone).parts(payload) is not None


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
        (put(2, b"\x07"), lambda pod: pod.spec.node_name),
        (put(2, b"\x00\x01"), lambda pod: pod.spec.node_name),
    ],
    ids=["cut short", "no number", "no time", "no key", "no wire type", "no field"],
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


@pytest.mark.parametrize("seed", range(4))
def test_bytes_broken_by_chance_are_read_as_the_parser_does_where_that_reads_them(
    seed: int,
) -> None:
    chance = Random(seed)
    compared = 0
    for _ in range(300):
        kind = chance.choice(OBJECTS)
        payload = broken(
            by_chance(message_of(kind), chance) + NAMED,
            chance,
            place=chance.randrange,
            insertion=lambda: chance.randbytes(chance.choice((1, 2, 9))),
        )
        try:
            expected = as_parsed(kind, payload)
        except Exception:  # whatever it is, compiled code has only to survive it
            try:
                as_read(kind, payload)
            except DecodeError:
                continue
        else:
            compared += 1
            assert as_read(kind, payload) == expected
    assert compared > 20


# -- what becomes of memory ------------------------------------------------------------------


def test_a_struct_that_refers_to_nothing_is_nothing_to_the_collector() -> None:
    pod = pod_with_environment()
    (container,) = pod.spec.containers
    assert not gc.is_tracked(container.env[0])
    assert gc.is_tracked(container)


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
    container.image = "web:2"
    assert container.copy().image == "web:2"


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

    shared = (PodSpec, Container, EnvVar, type(pod_with_environment().spec), None, True, "")
    before = blocks(2)
    counts = [sys.getrefcount(each) for each in shared]
    assert abs(blocks(20) - before) < 200
    now = [sys.getrefcount(each) for each in shared]
    assert [abs(one - other) < 20 for one, other in zip(now, counts, strict=True)] == [True] * 7


# -- nonsense and accidents ------------------------------------------------------------------


class Pair(msgspec.Struct):
    a: str = ""
    b: Any = None


class Slotless:
    a = 1


any_reader: Any = StructReader
any_field: Any = ViewField
A: Described = ("a", (1,), "one", "text", None, "", False)


def pair_with(kind: str, convert: Any, absent: Any = None, makes: bool = False) -> StructReader:
    """What reads field 2 of a message by itself."""
    return StructReader(None, (("b", (2,), "one", kind, convert, absent, makes),))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: any_reader(), TypeError),
        (lambda: any_reader(5, ()), TypeError),
        (lambda: any_reader(Pair, [A]), TypeError),
        (lambda: any_reader(Pair, (A, 5)), TypeError),
        (lambda: any_reader(Pair, (A[:-1],)), TypeError),
        (lambda: any_reader(Pair, (A, A)), ValueError),
        (lambda: any_reader(Pair, (A, ("b", (1, 2), *A[2:]))), ValueError),
        (lambda: any_reader(Pair, (("b", (1, 2), *A[2:]), A)), ValueError),
        (lambda: any_reader(Pair, (("x", *A[1:]),)), AttributeError),
        (lambda: any_reader(Slotless, (A,)), TypeError),
        (lambda: any_reader(Pair, (("a", (1 << 20,), *A[2:]),)), ValueError),
        (lambda: any_reader(Pair, (("a", (-1,), *A[2:]),)), ValueError),
        (lambda: any_reader(Pair, (("a", ("1",), *A[2:]),)), TypeError),
        (lambda: any_reader(Pair, (("a", (1,), "two", *A[3:]),)), ValueError),
        (lambda: any_reader(Pair, (("a", (1,), "one", "texts", *A[4:]),)), ValueError),
        (lambda: any_reader(Pair, (A,)).parts("text"), TypeError),
        (lambda: any_reader(Pair, (A,), a=1), TypeError),
        (lambda: any_field(any_reader(Pair, (A,)), 1, "a", len), TypeError),
        (lambda: any_field(any_reader(Pair, (A,)), -1, "a", len), TypeError),
        (lambda: any_field(5, 0, "a", len), TypeError),
        (lambda: any_field(any_reader(Pair, (A,)), 0, 5, len), TypeError),
        (lambda: any_field(any_reader(Pair, (A,)), 0, "a", len, a=1), TypeError),
    ],
)
def test_nonsense_is_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_what_converts_may_fail_and_then_it_is_left_to_python_but_not_an_interruption() -> None:
    def raising(error: BaseException) -> Callable[..., Any]:
        def convert(*_: object) -> Any:
            raise error

        return convert

    for kind in ("struct", "view", "converted", "text of", "bytes of"):
        assert pair_with(kind, raising(ValueError())).parts(put(2, "")) is None
        assert pair_with(kind, raising(ValueError())).parts(b"") == [None]
        for error in (KeyboardInterrupt, MemoryError):
            with pytest.raises(error):
                pair_with(kind, raising(error())).parts(put(2, ""))
    assert pair_with("time", raising(OverflowError())).parts(put(2, put(1, 5))) is None
    assert pair_with("text", None, raising(ValueError()), True).parts(b"") is None
    with pytest.raises(KeyboardInterrupt):
        pair_with("text", None, raising(KeyboardInterrupt()), True).parts(b"")


@pytest.mark.parametrize(
    "given", [5, (), (1, 2), (Pair, 5), (5, pair_with("text", None)), pair_with("text", None)]
)
@pytest.mark.parametrize("kind", ["struct", "view"])
def test_what_is_no_reader_of_structs_is_not_used_as_one(kind: str, given: Any) -> None:
    assert pair_with(kind, lambda: given).parts(put(2, "")) is None


def test_a_view_is_of_the_model_that_its_reader_is_for() -> None:
    reader = StructReader(Pair, (A,))
    assert pair_with("view", lambda: (PodSpec, reader)).parts(put(2, "")) is None


def test_a_view_that_somebody_has_tampered_with_is_left_to_python() -> None:
    class Tampered:
        field = ViewField(StructReader(Pair, (A,)), 0, "field", lambda view: "by Python")

    for wire in (None, 5, (), (b"", 0), (b"abc", 0, 4), (b"abc", 2, 1), (b"abc", -1, 2)):
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
            pair_with("converted", lambda raw: views[0].__dict__.clear() or raw),
            0,
            "field",
            lambda view: "by Python",
        )

    for _ in range(100):
        made = Emptied()
        made.__dict__["_wire"] = bytes(put(2, "x" * 100)), 0, len(put(2, "x" * 100))
        views[:] = [made]
        assert made.field == b"x" * 100


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
            None,
            False,
        )
        found.append(StructReader(Pair, (A, described)))
        reader = pair_with("struct", lambda found=found: found[0])
        made = reader.parts(put(2, put(1, "x") + put(2, put(1, "y"))))
        assert made == [Pair("x", Pair("y", None))]
    del found, described, reader, made
    gc.collect()
    assert sum(isinstance(each, StructReader) for each in gc.get_objects()) == before
