"""Our Go program in ``fill/`` in; objects of every kind out, filled at random, in both forms."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.support.built import built_or_skip
from tools.go_programs import FILL


class Filled(msgspec.Struct, rename="camel"):
    """One object.

    Attributes:
        json: As Go writes it.
        protobuf: The same, in its envelope.
        again: What Go reads from the protobuf, as JSON: all that protobuf can say of it.
    """

    api_version: str
    kind: str
    json: msgspec.Raw
    protobuf: bytes
    again: msgspec.Raw

    @property
    def trees(self) -> tuple[Any, Any]:
        return msgspec.json.decode(self.json), msgspec.json.decode(self.again)


def filled_objects(*seeds: int) -> Iterator[Filled]:
    """The same ones for the same seeds."""
    command = [str(built_or_skip(FILL.built)), *map(str, seeds)]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    decoder = msgspec.json.Decoder(Filled)
    return (decoder.decode(line) for line in output.splitlines())
