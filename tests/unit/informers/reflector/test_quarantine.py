"""Where unreadable objects wait: seen by all, few of them, and not for ever."""

from __future__ import annotations

import pytest

from kinform.errors import DecodeError, TransformError
from kinform.informers import Quarantine


def bad(key: str, rv: str = "") -> DecodeError:
    return DecodeError(f"{key} is no object", key=key, resource_version=rv)


def test_an_object_is_there_with_its_reason_and_its_bytes() -> None:
    quarantine = Quarantine()
    error = bad("default/a", "7")
    put = quarantine.put(error, payload=b"{")
    assert quarantine["default/a"] is put
    assert (put.key, put.resource_version, put.error, put.payload) == (
        "default/a",
        "7",
        error,
        b"{",
    )
    assert list(quarantine) == ["default/a"]


def test_a_failed_transform_has_the_version_that_it_failed_on() -> None:
    quarantine = Quarantine()
    quarantine.put(TransformError("no", key="default/a"), resource_version="8")
    assert quarantine["default/a"].resource_version == "8"


def test_the_latest_version_stands_for_the_object() -> None:
    quarantine = Quarantine()
    for version in ("7", "8"):
        quarantine.put(bad("default/a", version))
    assert quarantine["default/a"].resource_version == "8"
    assert len(quarantine) == 1


def test_those_without_a_name_get_a_number() -> None:
    quarantine = Quarantine()
    assert [quarantine.put(bad("")).key for _ in range(2)] == ["?1", "?2"]


def test_release_removes_an_object_and_ignores_unknown_keys() -> None:
    quarantine = Quarantine()
    quarantine.put(bad("default/a"))
    quarantine.release("default/b")
    assert "default/a" in quarantine
    quarantine.release("default/a")
    quarantine.release("default/a")
    assert not quarantine
    with pytest.raises(KeyError):
        quarantine["default/a"]


def test_after_a_list_only_objects_unreadable_in_it_stay() -> None:
    quarantine = Quarantine()
    for key in ("default/a", "default/b", "other/c", ""):
        quarantine.put(bad(key))
    quarantine.retain({"default/b"})
    assert list(quarantine) == ["default/b"]


def test_a_list_of_one_namespace_is_about_that_one_and_the_nameless() -> None:
    quarantine = Quarantine()
    for key in ("default/a", "default/b", "default-2/c", "cluster-wide", ""):
        quarantine.put(bad(key))
    quarantine.retain({"default/b"}, namespace="default")
    assert list(quarantine) == ["default/b", "default-2/c", "cluster-wide"]


def test_a_server_that_sends_only_nonsense_does_not_fill_the_memory() -> None:
    quarantine = Quarantine()
    for number in range(1500):
        quarantine.put(bad(f"default/p{number}"))
    assert len(quarantine) == 1000
    assert "default/p499" not in quarantine
    assert "default/p500" in quarantine


def test_it_can_be_changed_while_somebody_looks_through_it() -> None:
    quarantine = Quarantine()
    for key in ("default/a", "default/b"):
        quarantine.put(bad(key))
    for key in quarantine:
        quarantine.release(key)
    assert not quarantine


def test_its_repr_has_no_bytes_of_the_object() -> None:
    """18.19: They may be those of a Secret, and tracebacks and logs show reprs."""
    put = Quarantine().put(bad("default/a", "7"), payload=b"hunter2")
    assert "default/a" in repr(put)
    assert "hunter2" not in f"{put!r} {put.__rich_repr__()}"
