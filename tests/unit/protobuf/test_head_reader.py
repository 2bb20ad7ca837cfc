"""However a head is read, from well-trodden bytes or by the parser, it is the same head."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest
from google.protobuf.message import DecodeError as MalformedError
from hypothesis import given
from hypothesis import strategies as st

from kinform import _native
from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.objects import JSON, Head, Record
from kinform.protobuf import _head_reader, codec_for, owners_of
from kinform.protobuf._head_reader import parsed_head
from tests.support.breaking import broken
from tests.unit.protobuf.sample import put

pytestmark = pytest.mark.usefixtures("either_way")

CODEC = codec_for(GVK("", "v1", "Pod"))
assert CODEC is not None
read_head = CODEC.head

TEXT = st.text(max_size=140)
LABELS = st.dictionaries(st.text(max_size=20), TEXT, max_size=4)


def _size(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return _size(number << 3) + _size(value)
    data = value.encode() if isinstance(value, str) else value
    return _size(number << 3 | 2) + _size(len(data)) + data


def _object(*metadata: bytes, rest: bytes = b"") -> bytes:
    return _field(1, b"".join(metadata)) + rest


def _label(key: str, value: str) -> bytes:
    return _field(11, _field(1, key) + _field(2, value))


def _as_a_server_writes(
    labels: dict[str, str], annotations: dict[str, str], managed: list[bytes]
) -> list[bytes]:
    return [
        *(_field(number, text) for number, text in ((1, "web-0"), (2, "web-"), (3, "shop"))),
        _field(4, ""),
        _field(5, "u-1"),
        _field(6, "7"),
        _field(7, 3),
        _field(8, _field(1, 1_700_000_000) + _field(2, 0)),
        *(_label(key, labels[key]) for key in sorted(labels)),
        *(_field(12, _field(1, key) + _field(2, value)) for key, value in annotations.items()),
        _field(13, _field(4, "owner") + _field(6, 1)),
        *(_field(17, each) for each in managed),
    ]


USUAL = _object(
    *_as_a_server_writes({"app": "web", "tier": "front"}, {"note": "n" * 300}, [b"m" * 500, b"m"]),
    rest=_field(2, b"spec" * 5000) + _field(3, b"status"),
)


def _outcome(read: Callable[[bytes], Head], payload: bytes) -> object:
    try:
        return read(payload)
    except DecodeError as error:
        return type(error.__cause__)
    except (MalformedError, ValueError, OverflowError) as error:
        return type(error)


def test_what_a_server_writes_is_read_without_the_parser(
    monkeypatch: pytest.MonkeyPatch, either_way: str
) -> None:
    expected = parsed_head(USUAL)
    if either_way == "compiled":
        monkeypatch.setattr(_head_reader, "_parse", None)
    head = read_head(USUAL)
    assert head == expected
    assert head.key == "shop/web-0"
    assert list(head.labels.items()) == [("app", "web"), ("tier", "front")]
    assert head.controller_uid == "owner"


@pytest.mark.skipif(not _native.IS_COMPILED, reason="there is no compiled code here")
@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(_object(*_as_a_server_writes({"app": "web"}, {}, [])), id="only metadata"),
        pytest.param(_object(_field(1, "node-1"), _field(8, b"")), id="cluster-wide"),
        pytest.param(_object(_field(1, "n" * 200), _field(8, b"")), id="a long name"),
        pytest.param(_object(_field(1, "n"), _field(7, 1000), _field(8, b"")), id="generation"),
        pytest.param(_object(_field(1, "n"), _field(9, _field(1, 1) + _field(2, 0))), id="1970"),
        pytest.param(
            _object(_field(1, "n"), _field(9, _field(1, 1_700_000_000)), _field(10, 30)),
            id="being deleted",
        ),
        pytest.param(_object(_field(9, _field(1, 253_402_300_799))), id="the last second of 9999"),
        pytest.param(_object(_field(1, "n"), _field(14, "finalizer")), id="a finalizer"),
        pytest.param(_object(_label("a" * 130, "v" * 130)), id="a long label"),
        pytest.param(_object(_field(6, "1"), _field(1, "n")), id="fields in another order"),
        pytest.param(_object(_field(1, "n"), rest=_field(20, b"new")), id="a high number"),
        pytest.param(_object(_field(1, "n"), rest=_field(4, 7)), id="a part that is a number"),
        pytest.param(_object(_field(1, "n"), rest=_field(2, b"x") * 50), id="many parts"),
        pytest.param(_object(_field(1, "n"), rest=b"\x21" + bytes(8)), id="eight bytes"),
        pytest.param(_object(_field(1, "n"), rest=b"\x25" + bytes(4)), id="four bytes"),
        pytest.param(_object(_field(1, "n"), _field(12, b"a" * 20_000)), id="a long annotation"),
        pytest.param(_object(_field(1, "n"), rest=_field(2, b"x" * 3_000_000)), id="a huge part"),
        pytest.param(b"\n\x00", id="empty metadata"),
    ],
)
def test_compiled_code_knows_it(payload: bytes) -> None:
    assert _native.try_head(payload, Head, owners_of) == parsed_head(payload)


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(_object(_field(1, "n" * 200), _field(8, b"")), id="a long name"),
        pytest.param(_object(_field(1, "n"), _field(7, 1000), _field(8, b"")), id="generation"),
        pytest.param(_object(_field(1, "n"), _field(9, _field(1, 1))), id="being deleted"),
        pytest.param(_object(_field(1, "n"), _field(14, "finalizer")), id="a finalizer"),
        pytest.param(_object(_label("b", "1"), _label("a", "2")), id="labels in another order"),
        pytest.param(_object(_label("a", "1"), _label("a", "2")), id="a label twice"),
        pytest.param(_object(_label("", "1"), _label("a", "2")), id="a label without a name"),
        pytest.param(_object(_field(11, _field(1, "a"))), id="a label without a value"),
        pytest.param(_object(_field(11, _field(2, "v") + _field(1, "a"))), id="value before key"),
        pytest.param(_object(_label("a" * 130, "v" * 130)), id="a long label"),
        pytest.param(_object(_field(6, "1"), _field(1, "n")), id="fields in another order"),
        pytest.param(_object(_field(1, "n"), _field(1, "m")), id="a name twice"),
        pytest.param(_object(_field(1, "n")) + _object(_field(6, "7")), id="metadata twice"),
        pytest.param(_field(2, b"spec") + _object(_field(1, "n")), id="metadata not first"),
        pytest.param(_object(_field(1, "n"), rest=_field(20, b"new")), id="a high number"),
        pytest.param(_object(_field(1, "n"), rest=_field(4, 7)), id="a part that is a number"),
        pytest.param(_object(_field(1, "n"), rest=_field(2, b"x") * 50), id="many parts"),
        pytest.param(_object(_field(1, "n"), _field(12, b"a" * 20_000)), id="a long annotation"),
        pytest.param(_object(_field(1, "n"), rest=_field(2, b"x" * 3_000_000)), id="a huge part"),
        pytest.param(_object(_field(1, "n"), _field(12, b"a" * 3_000_000)), id="huge metadata"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"\n\x00", id="empty metadata"),
        pytest.param(_object(_field(1, b"\xff\xfe")), id="not UTF-8"),
        pytest.param(_object(_label("a", "\x7f")).replace(b"\x7f", b"\xff"), id="a value is not"),
    ],
)
def test_what_is_unusual_is_the_same(payload: bytes) -> None:
    assert _outcome(read_head, payload) == _outcome(parsed_head, payload)


@given(labels=LABELS, annotations=LABELS, managed=st.lists(st.binary(max_size=300), max_size=3))
def test_whatever_is_in_it(
    labels: dict[str, str], annotations: dict[str, str], managed: list[bytes]
) -> None:
    metadata = _as_a_server_writes(labels, annotations, managed)
    for fields in (metadata, metadata[::-1], metadata[3:]):
        payload = _object(*fields, rest=_field(2, b"spec"))
        assert read_head(payload) == parsed_head(payload)
        assert list(read_head(payload).labels) == sorted(labels)


@given(seconds=st.integers(-(1 << 40), 1 << 62), nanos=st.none() | st.integers(0, 999_999_999))
def test_when_it_was_deleted_is_told_as_the_parser_tells_it(
    seconds: int, nanos: int | None
) -> None:
    moment = put(1, seconds) + (b"" if nanos is None else put(2, nanos))
    payload = _object(_field(1, "n"), _field(9, moment))
    assert _outcome(read_head, payload) == _outcome(parsed_head, payload)


@given(seed=st.integers(0, 1 << 32))
def test_however_it_is_broken(seed: int) -> None:
    chance = random.Random(seed)
    payload = broken(
        USUAL[:900] if chance.random() < 0.5 else USUAL,
        chance,
        # Most of what matters is in the beginning.
        place=lambda size: chance.randrange(min(size, chance.choice((60, 200, 25_000)))),
        insertion=lambda: chance.randbytes(chance.randrange(1, 20)),
    )
    assert _outcome(read_head, payload) == _outcome(parsed_head, payload)


# -- what is shared --------------------------------------------------------------------------


def _labelled(number: int) -> bytes:
    metadata = [_field(1, "n"), _field(3, f"shop-{number}")]
    return _object(*metadata, _label(f"example.test/key-{number}", f"value-{number}"))


def _is_interned(text: str) -> bool:
    """An equal string that is interned becomes ``text`` only if ``text`` was interned first."""
    return sys.intern(text.encode().decode()) is text


def test_objects_share_their_namespace_and_the_names_of_their_labels() -> None:
    one, other = read_head(_labelled(1)), read_head(_labelled(1))
    assert one.namespace is other.namespace
    assert next(iter(one.labels)) is next(iter(other.labels))


def test_nothing_of_an_object_is_interned() -> None:
    """18.23: Python 3.12 never frees an interned string."""
    text = (
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-23","namespace":"shop-23",'
        b'"labels":{"a/key-23":"value-23"}}}'
    )
    for head in (read_head(_labelled(23)), Record.read(text, JSON).head):
        ((key, value),) = head.labels.items()
        texts = [head.namespace, key, value]
        assert not [text for text in texts if _is_interned(text)]


def test_labels_that_never_come_back_take_no_memory() -> None:
    """18.23: what is shared between objects is bounded."""
    count = 20_000
    read_head(_labelled(count))
    before = sys.getallocatedblocks()
    for number in range(count):
        read_head(_labelled(number))
    # The two tables of shared texts are full; each distinct name would be one more block.
    assert sys.getallocatedblocks() - before < count
