"""The generated lists of messages: small, whole, and nobody else's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool

import kinform.protobuf
from kinform.protobuf._messages import class_of, fields_of, has_message, reachable
from kinform.protobuf._table import MESSAGE_PACKAGES

TABLES = Path(kinform.protobuf.__file__).parent / "tables"


def test_every_package_loads_and_its_messages_are_made_of_known_ones() -> None:
    for package in MESSAGE_PACKAGES.values():
        assert (TABLES / f"{package.replace('/', '_')}.py").is_file()
    for message in reachable("core/v1.Pod"):
        assert class_of(message) is class_of(message)
        assert len({field.number for field in fields_of(message)}) == len(fields_of(message))


def test_there_is_no_message_of_another_name() -> None:
    assert has_message("core/v1.Pod")
    assert not has_message("core/v1.Nonsense")
    assert not has_message("nowhere/v1.Pod")
    with pytest.raises(KeyError):
        fields_of("core/v1.Nonsense")


def test_the_pool_of_others_stays_as_it_was() -> None:
    class_of("core/v1.Pod")
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("core.v1.Pod")


def test_the_tables_are_small() -> None:
    assert sum(file.stat().st_size for file in TABLES.glob("*.py")) < 150_000


def test_a_group_is_loaded_when_it_is_first_needed() -> None:
    program = """
import sys, kinform.protobuf
from kinform.api import GVK
loaded = lambda: {name for name in sys.modules if name.startswith("kinform.protobuf.tables.")}
assert not {name for name in loaded() if "apps" in name}, loaded()
kinform.protobuf.codec_for(GVK("apps", "v1", "Deployment")).decode(b"")
assert "kinform.protobuf.tables.apps_v1" in loaded()
assert "kinform.protobuf.tables.batch_v1" not in loaded()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
