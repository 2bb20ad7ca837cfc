"""What servers wrap messages in: taken off, put on again, and refused if it is something else."""

from __future__ import annotations

import pytest

from kinform.errors import DecodeError
from kinform.protobuf import join_list, read_event, split_list, unwrap, wrap, write_event
from tests.unit.protobuf.sample import config_map, envelope, event, list_of, put

pytestmark = pytest.mark.usefixtures("either_way")


def test_an_envelope_is_taken_off_and_put_on_as_go_does() -> None:
    body = envelope("v1", "ConfigMap", config_map("a"))
    assert unwrap(body) == ("v1", "ConfigMap", config_map("a"))
    assert wrap("v1", "ConfigMap", config_map("a")) == body
    assert write_event("ADDED", body) == event("ADDED", body)


@pytest.mark.parametrize("body", [b"", b"k8s", b"{}", b"k8s\1", b"<html>", b"\x00k8s"])
def test_what_has_another_beginning_is_refused(body: bytes) -> None:
    with pytest.raises(DecodeError, match=r"not protobuf of Kubernetes; it (begins|has)"):
        unwrap(body)


def test_a_page_is_shown_but_no_part_of_an_object() -> None:
    """18.19: The bytes may be those of a Secret."""
    with pytest.raises(DecodeError, match="it begins b'<html>'"):
        unwrap(b"<html>")
    with pytest.raises(DecodeError, match="it has 7 bytes") as raised:
        unwrap(b"hunter2")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("rest", [b"\xff", b"\x0a\x05a", b"\x12\xff\xff\xff\xff\x07a"])
def test_an_envelope_that_is_broken_is_refused(rest: bytes) -> None:
    with pytest.raises(DecodeError, match="envelope does not decode"):
        unwrap(b"k8s\0" + rest)


@pytest.mark.parametrize(
    ("encoding", "type"), [("gzip", ""), ("", "application/json"), ("gzip", "application/json")]
)
def test_another_form_inside_of_it_is_refused_by_name(encoding: str, type: str) -> None:
    body = envelope("v1", "ConfigMap", b"{}", encoding=encoding, type=type)
    with pytest.raises(DecodeError, match=encoding or type):
        unwrap(body)


def test_a_list_is_cut_without_looking_into_its_items() -> None:
    items = [config_map("a"), b"\xff nonsense", config_map("b")]
    found = split_list(list_of(*items, version="12", token="more"))
    assert found == ("12", "more", None, items)
    assert split_list(join_list("12", "more", 5, items)) == ("12", "more", 5, items)
    assert split_list(b"") == ("", "", None, [])


@pytest.mark.parametrize("raw", [b"\x12\x05a", b"\x12\xff\xff\xff\xff\x07", b"\xff"])
def test_a_list_that_is_cut_off_is_refused(raw: bytes) -> None:
    with pytest.raises(DecodeError, match="does not decode as a list"):
        split_list(raw)


def test_a_message_that_comes_in_pieces_is_what_these_are_together() -> None:
    """Nobody writes it so; but this is what protobuf means by it."""
    kind = put(1, put(1, "v1")) + put(1, put(2, "ConfigMap"))
    assert unwrap(b"k8s\0" + kind + put(2, b"raw")) == ("v1", "ConfigMap", b"raw")
    cut = split_list(put(1, put(2, "77")) + put(2, b"item") + put(1, put(3, "more")))
    assert cut == ("77", "more", None, [b"item"])
    body = envelope("v1", "ConfigMap", config_map("a"))
    frame = put(1, "ADDED") + put(2, put(1, body)) + put(2, b"")
    assert read_event(frame)[2] == config_map("a")
