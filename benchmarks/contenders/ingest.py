"""Watch lines from memory, decoded: by kinform's framing and head, or whole by a JSON library."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks.measure import Facts, Parameters, report
from kinform.client._json_wire import JSON_WIRE

_CHUNK = 64 * 1024
_LONGEST_LINE = 1 << 30


def decode_lines(parameters: Parameters) -> Facts:
    stream = Path(parameters["lines"]).read_bytes()
    decode = _WAYS[parameters["how"]]
    return {"objects": sum(decode(stream) for _ in range(parameters["passes"]))}


def _by_kinform(stream: bytes) -> int:
    framing = JSON_WIRE.framing(_LONGEST_LINE)
    named = 0
    for start in range(0, len(stream), _CHUNK):
        frames = framing.feed(stream[start : start + _CHUNK])
        named += sum(frame.record is not None for frame in frames)
    return named


def _by_json(stream: bytes) -> int:
    return sum("object" in json.loads(line) for line in stream.splitlines())


def _by_msgspec(stream: bytes) -> int:
    decode = msgspec.json.Decoder().decode
    return sum("object" in decode(line) for line in stream.splitlines())


_WAYS: dict[str, Callable[[bytes], int]] = {
    "kinform": _by_kinform,
    "json": _by_json,
    "msgspec": _by_msgspec,
}

report(decode_lines)
