"""The layout of msgspec's structs is checked at import; if it differs, Python does all the work."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from kinform import _native
from kinform._native._canary import layout_problem
from kinform._native._fallback import StructReader as NoReader

compiled = pytest.mark.skipif(not _native.IS_COMPILED, reason="there is no compiled code here")

SCRIPT = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s %(message)s")
{sabotage}
from kinform import _native
from kinform.api import GVK
from kinform.models.core.v1 import Pod
from kinform.objects import Record
from kinform.protobuf import codec_for
print(_native.IS_COMPILED, _native.WHY_INTERPRETED, _native.try_head.__module__)
message = b"\\x0a\\x03\\x0a\\x01a\\x12\\x04\\x52\\x02n1"
pod = Pod.over(Record.read(message, codec_for(GVK("", "v1", "Pod"))))
print(pod.metadata.name, pod.spec.node_name)
"""


def _run(sabotage: str = "", **environment: str) -> list[str]:
    clean = {name: value for name, value in os.environ.items() if name != "KINFORM_INTERPRETED"}
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(sabotage=sabotage)],
        env={**clean, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return said.stdout.splitlines()


class Wrapped:
    """A StructReader whose structs differ in some way."""

    def __init__(self, model: Any, fields: Any, *, change: Any = lambda struct: struct) -> None:
        self._change = change
        self._reader = _native.StructReader(
            model, tuple((*each[:4], _inner(each[4]), *each[5:]) for each in fields)
        )

    def parts(self, payload: bytes) -> Any:
        return [self._change(each) for each in self._reader.parts(payload) or ()]


def _inner(convert: Any) -> Any:
    return (lambda: convert()._reader) if callable(convert) else convert


def _with(change: Any) -> Any:
    return lambda model, fields: Wrapped(model, fields, change=change)


@compiled
def test_the_installed_msgspec_passes() -> None:
    assert layout_problem(_native.StructReader) == ""
    assert layout_problem(Wrapped) == ""
    assert _native.WHY_INTERPRETED == ""


@compiled
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda struct: (struct,), "where compiled code creates a"),
        (lambda struct: msgspec.structs.replace(struct, number=8), "field 'number' at another"),
        (lambda struct: msgspec.structs.replace(struct, text=""), "field 'text' at another"),
        (lambda struct: 1 / 0, "in another way"),
    ],
)
def test_a_struct_that_differs_is_named(change: Any, problem: str) -> None:
    assert problem in layout_problem(_with(change))


@compiled
def test_a_struct_that_is_tracked_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    is_tracked, answers = gc.is_tracked, iter([True, False])
    monkeypatch.setattr(gc, "is_tracked", lambda struct: next(answers, is_tracked(struct)))
    assert "tracks other structs" in layout_problem(_native.StructReader)


def test_a_reader_that_reads_nothing_does_not_pass() -> None:
    assert layout_problem(NoReader).startswith(f"msgspec {msgspec.__version__} ")


@compiled
def test_a_different_layout_is_logged_once_and_python_reads_instead() -> None:
    # No struct seems to be tracked as the one that it is compared with.
    lines = _run(
        "import gc, itertools; gc.is_tracked = lambda each, n=itertools.count(): next(n) % 2"
    )
    reason = f"msgspec {msgspec.__version__} tracks other structs for the garbage collector"
    assert lines == [
        f"kinform._native compiled code is not in use: {reason}",
        f"False {reason} kinform._native._fallback",
        "a n1",
    ]


def test_a_request_for_python_code_is_a_reason() -> None:
    lines = _run(KINFORM_INTERPRETED="1")
    assert lines[-2:] == [
        "False KINFORM_INTERPRETED is set kinform._native._fallback",
        "a n1",
    ]
