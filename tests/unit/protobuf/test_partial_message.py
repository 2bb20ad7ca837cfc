"""Messages of our own: read by compiled code or by the parser they say the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
from google.protobuf.message import DecodeError as MalformedError
from hypothesis import given
from hypothesis import strategies as st

from kinform.protobuf import _parser
from kinform.protobuf._partial_message import PartialMessage
from tests.support.breaking import broken
from tests.unit.protobuf.sample import put

FIELDS = """
    name 1 string -
    raw 3 bytes -
    note 4 *string -
    count 7 *int64 -
    controls 8 *bool -
    items 20 []bytes -
"""
MESSAGE = PartialMessage("Sample", FIELDS)

COUNTS = st.none() | st.integers(min_value=-(2**63), max_value=2**63 - 1)
VALUES = st.tuples(
    st.text(max_size=200),
    st.binary(max_size=20_000),
    st.none() | st.text(max_size=5),
    COUNTS,
    st.none() | st.booleans(),
    st.lists(st.binary(max_size=5), max_size=5),
)


def _outcome(read: Any, payload: bytes) -> object:
    try:
        return read(payload)
    except (MalformedError, UnicodeDecodeError) as error:
        return type(error)


@given(VALUES)
def test_what_is_written_is_read_again_and_is_what_the_parser_writes(
    values: tuple[Any, ...],
) -> None:
    payload = MESSAGE.write(*values)
    assert MESSAGE.read(payload) == MESSAGE.parsed(payload) == list(values)
    given = zip(("name", "raw", "note", "count", "controls", "items"), values, strict=True)
    theirs = MESSAGE._class(**{name: value for name, value in given if value is not None})
    assert theirs.SerializeToString() == payload


@given(VALUES, st.integers(0, 1 << 32))
def test_what_is_broken_is_read_by_both_or_by_neither(values: tuple[Any, ...], seed: int) -> None:
    chance = random.Random(seed)
    payload = broken(
        # With something that nobody declares, so that there is always enough to break.
        MESSAGE.write(*values) + put(30, "x" * 300),
        chance,
        place=chance.randrange,
        insertion=lambda: chance.randbytes(chance.randrange(1, 20)),
    )
    assert _outcome(MESSAGE.read, payload) == _outcome(MESSAGE.parsed, payload)


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(put(1, "a") + put(2, "other") + put(30, 7), id="more than we declare"),
        pytest.param(put(1, "a") + put(1, "b"), id="twice"),
        pytest.param(put(7, (1 << 64) - 1), id="a negative number"),
        pytest.param(put(8, 2), id="more than true"),
        pytest.param(put(1, 5), id="a number for a text"),
        pytest.param(put(1, b"\xff"), id="no text"),
        pytest.param(b"\x0b\x0c", id="a group"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_others_write_is_the_same_to_both(payload: bytes) -> None:
    assert _outcome(MESSAGE.read, payload) == _outcome(MESSAGE.parsed, payload)


def test_absent_is_zero_or_nothing() -> None:
    assert MESSAGE.read(b"") == ["", b"", None, None, None, []]
    assert MESSAGE.write("", b"", None, None, None, []) == b""
    assert MESSAGE.write("", b"", "", 0, False, [b""]) == put(4, "") + put(7, 0) + put(8, 0) + put(
        20, b""
    )


def test_an_interruption_while_it_is_made_ready_does_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    message = PartialMessage("Interrupted", "name 1 string -")
    with monkeypatch.context() as patch:
        patch.setattr(_parser, "_put_into_pool", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            message.parsed(put(1, "a"))
        patch.setattr(_parser, "_loaded", set[str]())
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                _parser.message_class("core/v1.Pod")
    assert message.parsed(put(1, "a")) == ["a"]
    assert _parser.message_class("core/v1.Pod") is not None


def _interrupt(*anything: object, **more: object) -> None:
    raise KeyboardInterrupt


def test_one_name_is_for_one_message() -> None:
    assert PartialMessage("Named", "name 1 string -").parsed(b"") == [""]
    assert PartialMessage("Named", "name 1 string -").parsed(b"") == [""]
    with pytest.raises(ValueError, match="two different messages kinform/Named"):
        PartialMessage("Named", "other 2 string -").parsed(b"")


def test_what_cannot_be_written_is_not_declared() -> None:
    with pytest.raises(KeyError, match="float64"):
        PartialMessage("Weighed", "weight 1 float64 -")
